import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedList, type LinkedListNode } from './linked-list.ts';

test('is what a list is from which some are taken', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(20));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const row = new LinkedList<number>();
      const model: LinkedListNode<number>[] = [];
      let last = 0;
      for (const each of steps) {
        if (each === 'add') model.push(row.add(++last));
        else for (const node of model.splice(each, 1)) row.remove(node);
        expect([row.size, row.first]).toEqual([model.length, model[0]?.item]);
      }
      const left: (number | undefined)[] = [];
      for (const node of [...model]) {
        left.push(row.first);
        row.remove(node);
      }
      expect(left).toEqual(model.map(({ item }) => item));
      expect(row.first).toBeUndefined();
    }),
  );
});

test('a node that was left holds nothing of the row', () => {
  const row = new LinkedList<string>();
  const [a, b, c] = [row.add('a'), row.add('b'), row.add('c')];
  row.remove(b);
  expect(b).toMatchObject({ before: undefined, after: undefined });
  expect([a.after, c.before]).toEqual([c, a]);
});
