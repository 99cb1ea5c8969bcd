import { expect, test } from 'vitest';
import { withCondition } from './cluster-conditions.ts';
import type { ClusterStatus } from './cluster-spec.ts';

const CHANGED = { status: 'False', reason: 'Changed', message: 'waits' } as const;
const NOW = '2026-01-02T03:04:05Z';

test('A14: a second condition of the type, which a client has written, is removed', () => {
  const claimed = { type: 'EndpointsConfirmed', status: 'True', reason: 'Mine', message: '' } as const;
  const other = { type: 'Ready', status: 'True', reason: 'Up', message: '' } as const;
  const status: ClusterStatus = { conditions: [{ type: 'EndpointsConfirmed', ...CHANGED }, other, claimed] };
  const types = (of: ClusterStatus) => of.conditions?.map((each) => `${each.type}=${each.status}`);
  expect(types(withCondition(status, 'EndpointsConfirmed', CHANGED, NOW))).toEqual([
    'EndpointsConfirmed=False',
    'Ready=True',
  ]);
  const others = { conditions: [claimed, other, claimed] };
  expect(types(withCondition(others, 'EndpointsConfirmed', CHANGED, NOW))).toEqual([
    'EndpointsConfirmed=False',
    'Ready=True',
  ]);
  expect(types(withCondition(others, 'EndpointsConfirmed', undefined, NOW))).toEqual(['Ready=True']);
});

test('a status that says the same stays the same object', () => {
  const status: ClusterStatus = { conditions: [{ type: 'EndpointsConfirmed', ...CHANGED }] };
  expect(withCondition(status, 'EndpointsConfirmed', CHANGED, NOW)).toBe(status);
});
