import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedList, type LinkedListNode } from './linked-list.ts';

test('equals an array from which items are removed', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(20));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new LinkedList<number>();
      const model: LinkedListNode<number>[] = [];
      let last = 0;
      for (const each of steps) {
        if (each === 'add') model.push(list.add(++last));
        else for (const node of model.splice(each, 1)) list.remove(node);
        expect([list.size, list.first]).toEqual([model.length, model[0]?.item]);
      }
      const left: (number | undefined)[] = [];
      for (const node of [...model]) {
        left.push(list.first);
        list.remove(node);
      }
      expect(left).toEqual(model.map(({ item }) => item));
      expect(list.first).toBeUndefined();
    }),
  );
});

test('a removed node has no links', () => {
  const list = new LinkedList<string>();
  const [a, b, c] = [list.add('a'), list.add('b'), list.add('c')];
  list.remove(b);
  expect(b).toMatchObject({ previous: undefined, next: undefined });
  expect([a.next, c.previous]).toEqual([c, a]);
});
