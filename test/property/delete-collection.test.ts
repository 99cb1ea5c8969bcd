import { expect, it } from 'vitest';
import { role } from '../../src/authz/rbac.fixture.ts';
import { houseOnDisk, ROOT } from './support/house.ts';

/** More than are deleted at once, so that somebody else could have a turn in between. */
const COUNT = 600;

const house = houseOnDisk(1_000);

it('a collection is deleted to its end also when nobody waits for the answer any more', async () => {
  const kind = house().catalog.clusterRoles;
  const names = Array.from({ length: COUNT }, (_, index) => `r-${index}`);
  await Promise.all(names.map((name) => house().ask({ caller: ROOT, verb: 'create', kind, body: role(name, []) })));
  await house().reader.catchUp();
  const left = (): number => house().reader.cache(kind).current.size;
  expect(left()).toBe(COUNT);
  const signal = AbortSignal.abort();
  const rehearsed = house().ask({ caller: ROOT, verb: 'deletecollection', kind, query: { dryRun: 'All' }, signal });
  await expect(rehearsed).rejects.toMatchObject({ name: 'AbortError' });
  expect(left()).toBe(COUNT);
  await house().ask({ caller: ROOT, verb: 'deletecollection', kind, signal });
  expect(left()).toBe(0);
});

it('a collection is not deleted from the middle: continue is 400', async () => {
  const kind = house().catalog.clusterRoles;
  await house().ask({ caller: ROOT, verb: 'create', kind, body: role('kept', []) });
  await house().reader.catchUp();
  const asked = house().ask({ caller: ROOT, verb: 'deletecollection', kind, query: { continue: 'x' } });
  await expect(asked).rejects.toMatchObject({ status: { code: 400, reason: 'BadRequest' } });
  expect(house().reader.cache(kind).current.size).toBe(1);
});
