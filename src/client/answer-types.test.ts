import { expect, it } from 'vitest';
import { wrongTypeIn } from './answer-types.ts';

it('names the field that has another type', () => {
  const answer = { metadata: { name: 'x' }, items: [{ metadata: { name: 5 } }] };
  expect(wrongTypeIn(answer, 'list')).toContain('items[0].metadata.name');
});
