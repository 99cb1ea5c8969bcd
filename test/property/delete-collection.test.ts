import { expect, it } from 'vitest';
import { role } from '../../src/authz/policy/rbac.fixture.ts';
import { ROOT, sqliteApiCore } from './support/api-core.ts';

/** More than one time slice deletes. */
const COUNT = 600;

const core = sqliteApiCore(1_000);

it('a collection is deleted completely after its client has disconnected', async () => {
  const kind = core().catalog.clusterRoles;
  const names = Array.from({ length: COUNT }, (_, index) => `r-${index}`);
  await Promise.all(names.map((name) => core().request({ caller: ROOT, verb: 'create', kind, body: role(name, []) })));
  await core().reader.catchUp();
  const left = (): number => core().reader.cache(kind).current.size;
  expect(left()).toBe(COUNT);
  const signal = AbortSignal.abort();
  const dryRun = core().request({ caller: ROOT, verb: 'deletecollection', kind, query: { dryRun: 'All' }, signal });
  await expect(dryRun).rejects.toMatchObject({ name: 'AbortError' });
  expect(left()).toBe(COUNT);
  // No client waits for the answer.
  await Promise.allSettled([core().request({ caller: ROOT, verb: 'deletecollection', kind, signal })]);
  expect(left()).toBe(0);
});

it('a collection is not deleted from the middle: continue is 400', async () => {
  const kind = core().catalog.clusterRoles;
  await core().request({ caller: ROOT, verb: 'create', kind, body: role('kept', []) });
  await core().reader.catchUp();
  const asked = core().request({ caller: ROOT, verb: 'deletecollection', kind, query: { continue: 'x' } });
  await expect(asked).rejects.toMatchObject({ status: { code: 400, reason: 'BadRequest' } });
  expect(core().reader.cache(kind).current.size).toBe(1);
});
