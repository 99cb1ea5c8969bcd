import { beforeAll, describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, grantClusters, listAs, PUBLIC_LIST, unbind } from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

const server = sharedServer();
const SIZE = 40;
const nameOf = (index: number): string => `c-${String(index).padStart(3, '0')}`;
const numbers = Array.from({ length: SIZE }, (_, index) => index);
const colorOf = (index: number): string => ['red', 'green', 'blue'][index % 3] ?? '';

beforeAll(async () => {
  await Promise.all(
    numbers.map((index) =>
      addCluster(server, nameOf(index), { labels: { color: colorOf(index), half: String(index % 2) } }),
    ),
  );
  await grantClusters(server, 'all', 'vera');
  await grantClusters(server, 'red', 'vince', { clusters: 'color=red' });
  await grantClusters(server, 'not-red', 'eve', { clusters: 'color!=red' });
  await grantClusters(server, 'mallory', 'mallory', { clusters: 'color=red' });
});

describe('decision 10: pages', () => {
  it('L-35: remainingItemCount stands between continue and resourceVersion', async () => {
    const page = await listAs(server, 'vera', '?limit=1');
    expect(Object.keys(page.json.metadata)).toEqual(['continue', 'remainingItemCount', 'resourceVersion', 'selfLink']);
  });

  it('tables and metadata have pages too', async () => {
    for (const as of ['Table', 'PartialObjectMetadataList']) {
      const headers = { Accept: `application/json;as=${as};v=v1;g=meta.k8s.io` };
      const get = (query: string) => server.call('GET', `${PUBLIC_LIST}${query}`, { headers });
      const first = await get('?limit=30');
      expect(first.json.metadata.remainingItemCount).toBe(10);
      const second = await get(`?limit=30&continue=${first.json.metadata.continue}`);
      expect(second.json.rows ?? second.json.items).toHaveLength(10);
      expect(second.json.metadata).toEqual({ resourceVersion: first.json.metadata.resourceVersion });
    }
  });
});

describe('decision 10: a continue token is for one list of one caller', () => {
  const REFUSED = {
    code: 400,
    reason: 'BadRequest',
    message: 'invalid continue token: continue key is not valid: it was not issued for this list',
  };
  const tokenFrom = async (user: string, query: string): Promise<string> =>
    (await listAs(server, user, `?limit=1${query}`)).json.metadata.continue;

  it('not for another caller, even with the same permissions', async () => {
    const token = await tokenFrom('vince', '');
    expectStatus(await listAs(server, 'mallory', `?limit=1&continue=${token}`), REFUSED);
    expect((await listAs(server, 'vince', `?limit=1&continue=${token}`)).code).toBe(200);
  });

  it('not with other selectors, nor on another path', async () => {
    const token = await tokenFrom('vera', '&labelSelector=color%3Dred');
    expectStatus(await listAs(server, 'vera', `?limit=1&continue=${token}`), REFUSED);
    expectStatus(await listAs(server, 'vera', `?limit=1&continue=${token}&labelSelector=color%3Dblue`), REFUSED);
    const elsewhere = `${CLUSTERS}?limit=1&labelSelector=color%3Dred&continue=${token}`;
    expectStatus(await server.call('GET', elsewhere, { token: tokenOf('vera') }), REFUSED);
  });

  it('A18: not after the permission has been removed', async () => {
    await grantClusters(server, 'brief', 'brief');
    const first = await listAs(server, 'brief', '?limit=10');
    expect(first.json.metadata.remainingItemCount).toBe(SIZE - 10);
    await unbind(server, 'brief');
    const second = await listAs(server, 'brief', `?limit=10&continue=${first.json.metadata.continue}`);
    expect([second.code, second.json.reason]).toEqual([410, 'Expired']);
    // The token of the answer goes on with the present state.
    const third = await listAs(server, 'brief', `?limit=10&continue=${second.json.metadata.continue}`);
    expect(third.json.items).toEqual([]);
    expect(third.json.metadata).not.toHaveProperty('remainingItemCount');
  });
});
