import { describe, expect, test } from 'vitest';
import { withCondition, withConditionTimes } from '../clusters/conditions.ts';
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

describe('conditions of a manifest without times', () => {
  const ready = (status: string, times: object = {}) => ({ conditions: [{ type: 'Ready', status, ...times }] });
  const timed = (status: string, at: string) => ready(status, { lastHeartbeatTime: at, lastTransitionTime: at });

  test('get the time at which they are first applied, and keep it while the status stays', () => {
    expect(withConditionTimes(ready('True'), undefined, 'now')).toEqual(timed('True', 'now'));
    expect(withConditionTimes(ready('True'), timed('True', 'then'), 'now')).toEqual(timed('True', 'then'));
    expect(withConditionTimes(ready('False'), timed('True', 'then'), 'now')).toEqual(timed('False', 'now'));
  });

  test('are left alone if they have one, or if there are none', () => {
    for (const sent of [{}, { conditions: [] }, timed('True', 'then')]) {
      expect(withConditionTimes(sent, timed('True', 'before'), 'now')).toBe(sent);
    }
  });
});
