import { expect, it, onTestFinished } from 'vitest';
import { LEADER_KEY } from '../contract.ts';
import { EtcdLeadership } from './etcd-leadership.ts';
import { KeySpace } from './key-space.ts';
import type { Members } from './members.ts';
import { LEASE_GRANT, LEASE_REVOKE, RANGE, TXN } from './messages.ts';

/**
 * Answers of etcd, and a clock that the test sets: a lease of a real etcd expires when etcd says so. The test of the
 * engine elects leaders with a real one.
 */
function campaign({ isHeld = false, wins = true, renews = false, grantTakesMs = 0 } = {}) {
  let passed = 0;
  const calls: string[] = [];
  let isReplaced = false;
  const members = {
    callIdempotent: async (method: unknown) => {
      if (method === RANGE) {
        calls.push('read');
        return { kvs: isHeld ? [{}] : [] };
      }
      if (method === LEASE_REVOKE) {
        calls.push('revoke');
        return {};
      }
      if (method === TXN) return { succeeded: true };
      expect(method).toBe(LEASE_GRANT);
      calls.push('grant');
      passed += grantTakesMs;
      return { id: 7n, ttl: 6 };
    },
    callOnce: async () => {
      calls.push('elect');
      return { succeeded: wins, header: { revision: 42 } };
    },
    callStream: async () => {
      if (!renews) throw new Error('no renewal');
      calls.push('renew');
      return { ttl: 6 };
    },
  } as unknown as Pick<Members, 'callIdempotent' | 'callOnce' | 'callStream'>;
  const leadership = new EtcdLeadership({
    members,
    space: new KeySpace('/p', 100),
    meta: { modRevision: 1 },
    isReplaced: () => isReplaced,
    now: () => passed,
  });
  onTestFinished(() => leadership.close());
  const replace = (): void => {
    isReplaced = true;
  };
  return { leadership, calls, replace, pass: (ms: number) => (passed += ms) };
}

it('leads until a second before its lease expires, also when etcd is not reached any more', async () => {
  const { leadership, pass } = campaign();
  expect([leadership.leads(), leadership.fence()]).toEqual([false, undefined]);
  await expect.poll(() => leadership.leads()).toBe(true);
  const fence = { key: LEADER_KEY, expect: { createRevision: 142 } };
  expect(leadership.fence()).toEqual(fence);
  pass(4_999);
  expect([leadership.leads(), leadership.fence()]).toEqual([true, fence]);
  pass(1);
  expect([leadership.leads(), leadership.fence()]).toEqual([false, undefined]);
});

it('does not lead any more once the store was replaced, and gives its lease back', async () => {
  const { leadership, calls, replace } = campaign({ renews: true });
  await expect.poll(() => leadership.leads()).toBe(true);
  replace();
  expect([leadership.leads(), leadership.fence()]).toEqual([false, undefined]);
  await expect.poll(() => calls).toContain('revoke');
});

it('counts the lease from before it was requested', async () => {
  const { leadership, calls, pass } = campaign({ grantTakesMs: 3_000 });
  await expect.poll(() => leadership.leads()).toBe(true);
  pass(2_000);
  expect([leadership.leads(), calls]).toEqual([false, ['read', 'grant', 'elect']]);
});

it('takes no lease while another process leads', async () => {
  const { leadership, calls } = campaign({ isHeld: true });
  await expect.poll(() => calls).toContain('read');
  await leadership.close();
  expect([leadership.leads(), calls.filter((call) => call !== 'read')]).toEqual([false, []]);
});

/** Scripted answers, and a clock that sleeping moves. After the last answer the campaign sleeps until it is closed. */
function scripted({ renewals, election = () => true }: { renewals: (number | Error)[]; election?: () => boolean }) {
  let passed = 0;
  const calls: string[] = [];
  const ledAt: boolean[] = [];
  const slept: number[] = [];
  const members = {
    callIdempotent: async (method: unknown) => {
      if (method === LEASE_GRANT) return { id: 7n, ttl: 6 };
      if (method === TXN) return { succeeded: true };
      calls.push(method === LEASE_REVOKE ? 'revoke' : 'read');
      return { kvs: [] };
    },
    callOnce: async () => {
      calls.push('elect');
      return { succeeded: election(), header: { revision: 42 } };
    },
    callStream: async () => {
      ledAt.push(leadership.leads());
      const ttl = renewals.shift();
      if (typeof ttl === 'number') return { ttl };
      // The timeout of the call.
      passed += 1_500;
      throw ttl;
    },
  } as unknown as Pick<Members, 'callIdempotent' | 'callOnce' | 'callStream'>;
  const leadership = new EtcdLeadership({
    members,
    space: new KeySpace('/p', 100),
    meta: { modRevision: 1 },
    isReplaced: () => false,
    now: () => passed,
    sleep: async (ms, signal) => {
      slept.push(ms);
      passed += ms;
      if (renewals.length > 0 || signal.aborted) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  onTestFinished(() => leadership.close());
  return { leadership, calls, ledAt, slept };
}

it('leads on when a renewal fails, and the next one, soon after it, succeeds', async () => {
  const { leadership, ledAt, slept } = scripted({ renewals: [new Error('no answer'), 6] });
  await expect.poll(() => ledAt).toHaveLength(2);
  expect([ledAt, slept.slice(0, 2)]).toEqual([
    [true, true],
    [2_000, 250],
  ]);
  await expect.poll(() => slept).toHaveLength(3);
  expect([leadership.leads(), slept[2]]).toEqual([true, 2_000]);
});

it('gives its lease back when the outcome of the election is unknown', async () => {
  const { leadership, calls, slept } = scripted({
    renewals: [],
    election: () => {
      throw new Error('no answer');
    },
  });
  await expect.poll(() => slept).toHaveLength(1);
  expect([leadership.leads(), calls]).toEqual([false, ['read', 'elect', 'revoke']]);
});
