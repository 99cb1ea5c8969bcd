import { expect, it } from 'vitest';
import { wrongTypeIn } from './answer-types.ts';

it('names the field that has another type', () => {
  const answer = { metadata: { name: 'x' }, items: [{ metadata: { name: 5 } }] };
  expect(wrongTypeIn(answer, 'list')).toContain('items[0].metadata.name');
});

it('a server may leave fields out, send null, and send fields that the client does not know', () => {
  const answer = { metadata: { name: 'x', labels: null, owner: 5 }, items: null, status: { future: [1] }, more: true };
  expect(wrongTypeIn(answer, 'list')).toBeUndefined();
  expect(answer).toEqual({ metadata: { name: 'x', owner: 5 }, items: [], status: { future: [1] }, more: true });
});
