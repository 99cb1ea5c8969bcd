import { expect, it } from 'vitest';
import { StatusError, type TrackedToken } from '../../../src/client/index.ts';
import { RevocationRuns } from './revocation-run.ts';

const passOf = (name: string): TrackedToken => ({ metadata: { name } }) as TrackedToken;

const UNAUTHORIZED = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 401 } as const;

/** Revokes when the test says so. */
function heldClient() {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const revokeToken = (id: string, options?: { readonly signal?: AbortSignal }): Promise<void> => {
    const held = Promise.withResolvers<void>();
    waiting.set(id, held);
    options?.signal?.addEventListener('abort', () => settle(id, options.signal?.reason));
    return held.promise;
  };
  const settle = (id: string, error?: Error): void => {
    const held = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) held?.resolve();
    else held?.reject(error);
  };
  return { waiting, settle, client: { revokeToken } };
}

it('revokes some passes in parallel, and collects failures', async () => {
  const { waiting, settle, client } = heldClient();
  const runs = new RevocationRuns(client);
  const passes = ['a', 'b', 'c', 'd', 'e', 'f'].map(passOf);
  const ended = runs.start(passes);
  expect([...waiting.keys()]).toEqual(['a', 'b', 'c', 'd']);
  settle('b', new Error('refused'));
  await expect.poll(() => [...waiting.keys()]).toEqual(['a', 'c', 'd', 'e']);
  expect(runs.run).toMatchObject({ total: 6, done: 1, isRunning: true });
  const failures = runs.run?.failures;
  settle('a', new Error('refused too'));
  await expect.poll(() => waiting.has('f')).toBe(true);
  for (const id of ['c', 'd', 'e', 'f']) settle(id);
  await ended;
  expect(runs.run).toEqual({
    total: 6,
    done: 6,
    failures: [
      { pass: passOf('b'), message: 'refused' },
      { pass: passOf('a'), message: 'refused too' },
    ],
    untried: [],
    isRunning: false,
  });
  // A copy for each failure would be quadratic: "Revoke all" may have 100,000 passes.
  expect(runs.run?.failures).toBe(failures);
  expect(runs.finished).toBe(1);
  runs.dismiss();
  expect(runs.run).toBeUndefined();
});

it('has one run at a time, which cannot be dismissed', async () => {
  const { waiting, settle, client } = heldClient();
  const runs = new RevocationRuns(client);
  const ended = runs.start([passOf('a')]);
  await runs.start([passOf('b')]);
  runs.dismiss();
  expect([...waiting.keys()]).toEqual(['a']);
  expect(runs.run?.total).toBe(1);
  settle('a');
  await ended;
});

it('stops when the server rejects the token, and has the passes that were not tried', async () => {
  const { waiting, settle, client } = heldClient();
  const runs = new RevocationRuns(client);
  const ended = runs.start(['a', 'b', 'c', 'd', 'e', 'f'].map(passOf));
  settle('b', new StatusError({ ...UNAUTHORIZED, message: 'Unauthorized' }));
  await expect.poll(() => runs.run?.done).toBe(1);
  for (const id of ['a', 'c', 'd']) settle(id);
  await expect.poll(() => runs.run?.done).toBe(4);
  expect([...waiting.keys()]).toEqual([]);
  await ended;
  expect(runs.run).toEqual({
    total: 6,
    done: 4,
    failures: [{ pass: passOf('b'), message: 'Unauthorized' }],
    untried: [passOf('e'), passOf('f')],
    isRunning: false,
  });
});

it('sends nothing after it was stopped, and aborts what was sent', async () => {
  const { waiting, client } = heldClient();
  const runs = new RevocationRuns(client);
  const ended = runs.start(['a', 'b', 'c', 'd', 'e', 'f'].map(passOf));
  runs.stop();
  await ended;
  expect([...waiting.keys()]).toEqual([]);
  expect(runs.run).toMatchObject({ done: 4, untried: [passOf('e'), passOf('f')], isRunning: false });
});

it('starts a run after one was stopped, or there was none to stop', async () => {
  const { waiting, settle, client } = heldClient();
  const runs = new RevocationRuns(client);
  runs.stop();
  const stopped = runs.start([passOf('a')]);
  expect([...waiting.keys()]).toEqual(['a']);
  runs.stop();
  await stopped;
  const ended = runs.start([passOf('b')]);
  settle('b');
  await ended;
  expect(runs.run).toMatchObject({ total: 1, done: 1, failures: [], untried: [] });
});
