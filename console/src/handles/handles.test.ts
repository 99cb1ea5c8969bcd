import { expect, it } from 'vitest';
import { decisionsFor, type Handle } from './handles.ts';

const handle = (phase: 'Pending' | 'Ready', approval: 'none' | 'confirm' | 'review'): Handle => ({
  metadata: { name: 'pass_x' },
  spec: {},
  status: { phase, approval },
});

it.each([
  ['Pending', 'confirm', true, 2],
  ['Pending', 'confirm', false, 0],
  ['Pending', 'review', true, 0],
  ['Pending', 'review', false, 2],
  ['Ready', 'review', false, 0],
  ['Ready', 'none', true, 0],
] as const)('MC-91: %s, %s, own: %s: %i decisions', (phase, approval, isOwn, count) => {
  expect(decisionsFor(handle(phase, approval), isOwn)).toHaveLength(count);
});
