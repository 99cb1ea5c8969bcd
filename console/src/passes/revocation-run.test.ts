import { expect, it } from 'vitest';
import type { TrackedToken } from '../../../src/client/index.ts';
import { RevocationRuns } from './revocation-run.ts';

const passOf = (name: string): TrackedToken => ({ metadata: { name } }) as TrackedToken;

/** Revokes when the test says so. */
function heldClient() {
  const waiting = new Map<string, PromiseWithResolvers<void>>();
  const revokeToken = (id: string): Promise<void> => {
    const held = Promise.withResolvers<void>();
    waiting.set(id, held);
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
  settle('a');
  await expect.poll(() => waiting.has('f')).toBe(true);
  for (const id of ['c', 'd', 'e', 'f']) settle(id);
  await ended;
  expect(runs.run).toEqual({
    total: 6,
    done: 6,
    failures: [{ pass: passOf('b'), message: 'refused' }],
    isRunning: false,
  });
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
