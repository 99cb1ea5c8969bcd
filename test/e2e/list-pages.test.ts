import { describe, expect, it } from 'vitest';
import { expectStatus } from './support/expect-status.ts';
import {
  addCluster,
  grantClusters,
  listAs,
  namesIn,
  PUBLIC_LIST,
  removeCluster,
  revisionOf,
  touch,
  unbind,
} from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, type Server, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

let server: Server;
const SIZE = 40;
const nameOf = (index: number): string => `c-${String(index).padStart(3, '0')}`;
const numbers = Array.from({ length: SIZE }, (_, index) => index);
const colorOf = (index: number): string => ['red', 'green', 'blue'][index % 3] ?? '';

beforeAllWithServer(async (shared) => {
  server = shared;
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

interface Walk {
  readonly pages: Answer[];
  readonly names: string[];
}

/** All pages of a list. Calls `between` between two of them. */
async function walk(user: string, query: string, between: () => Promise<unknown> = async () => {}): Promise<Walk> {
  const pages: Answer[] = [];
  for (let token = ''; ; ) {
    const page = await listAs(server, user, `?${query}${token === '' ? '' : `&continue=${token}`}`);
    expect(page.code, page.text).toBe(200);
    pages.push(page);
    token = page.json.metadata.continue;
    if (token === '') return { pages, names: pages.flatMap(namesIn) };
    await between();
  }
}

describe('decision 10: pages', () => {
  it.each([
    ['everything', 'vera', '', () => true],
    ['what a label admits', 'vince', '', (index: number) => colorOf(index) === 'red'],
    ['what no index can tell', 'eve', '', (index: number) => colorOf(index) !== 'red'],
    ['with a label selector', 'vera', '&labelSelector=half%3D1', (index: number) => index % 2 === 1],
    ['with a selector that excludes', 'vera', '&labelSelector=half!%3D1', (index: number) => index % 2 === 0],
    [
      'filtered and selected',
      'eve',
      '&labelSelector=half%3D1',
      (index: number) => colorOf(index) !== 'red' && index % 2 === 1,
    ],
    ['with a field selector', 'vera', '&fieldSelector=metadata.name!%3Dc-001', (index: number) => index !== 1],
  ])('%s: every page is full, every count exact, none empty', async (_, user, query, expected) => {
    const names = numbers.filter(expected).map(nameOf);
    for (const limit of [1, 7, names.length - 1, names.length, names.length + 1]) {
      const { pages, names: got } = await walk(user, `limit=${limit}${query}`);
      expect(got).toEqual(names);
      expect(pages).toHaveLength(Math.ceil(names.length / limit));
      pages.forEach((page, index) => {
        const left = Math.max(0, names.length - (index + 1) * limit);
        expect(page.json.metadata.remainingItemCount).toBe(left === 0 ? undefined : left);
        expect(page.json.items).toHaveLength(Math.min(limit, names.length - index * limit));
      });
    }
  });

  it('L-35: remainingItemCount stands between continue and resourceVersion', async () => {
    const page = await listAs(server, 'vera', '?limit=1');
    expect(Object.keys(page.json.metadata)).toEqual(['continue', 'remainingItemCount', 'resourceVersion', 'selfLink']);
  });

  it('limit=0 is no limit', async () => {
    expect(namesIn(await listAs(server, 'vera', '?limit=0'))).toHaveLength(SIZE);
  });

  it('a page may ask for another size than the one before', async () => {
    const first = await listAs(server, 'vera', '?limit=3');
    const token = first.json.metadata.continue;
    const second = await listAs(server, 'vera', `?limit=5&continue=${token}`);
    expect(namesIn(second)).toEqual(numbers.slice(3, 8).map(nameOf));
    expect(second.json.metadata.remainingItemCount).toBe(SIZE - 8);
    const rest = await listAs(server, 'vera', `?continue=${token}`);
    expect(namesIn(rest)).toEqual(numbers.slice(3).map(nameOf));
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

describe('B5, L-33: all pages show one revision', () => {
  it('during writes of other clients', async () => {
    const written = new Map<string, number[]>();
    const note = (name: string, version: number): void => {
      written.set(name, [...(written.get(name) ?? []), version]);
    };
    const { json: before } = await listAs(server, 'vera');
    for (const { metadata } of before.items) note(metadata.name, Number(metadata.resourceVersion));

    let stopped = false;
    let made = 0;
    const churn = async (worker: number): Promise<void> => {
      for (let round = 0; !stopped; round++) {
        const name = nameOf((round * 4 + worker) % SIZE);
        note(name, await touch(server, name, `round ${round}`));
        const extra = `c-${worker}-${round}`;
        note(extra, await addCluster(server, extra));
        made++;
        if (round % 2 === 1) await removeCluster(server, `c-${worker}-${round - 1}`);
      }
    };
    const workers = [0, 1, 2, 3].map(churn);
    try {
      for (let walks = 0; walks < 5 || made < 20; walks++) {
        const { pages } = await walk('vera', 'limit=7');
        const revision = revisionOf(pages[0] as Answer);
        expect(pages.map(revisionOf)).toEqual(pages.map(() => revision));
        const items = pages.flatMap((page) => page.json.items);
        const exact = await listAs(server, 'vera', `?resourceVersion=${revision}&resourceVersionMatch=Exact`);
        expect(items).toEqual(exact.json.items);
        // Compared with the writes: the last version of each object up to the list.
        for (const { metadata } of items) {
          const versions = written.get(metadata.name)?.filter((version) => version <= Number(revision)) ?? [];
          // A write may be seen before its writer has noted it.
          const known = Math.max(...versions);
          expect(Number(metadata.resourceVersion)).toBeGreaterThanOrEqual(known);
          expect(Number(metadata.resourceVersion)).toBeLessThanOrEqual(Number(revision));
        }
        for (const name of numbers.map(nameOf)) expect(items.map(({ metadata }) => metadata.name)).toContain(name);
      }
    } finally {
      stopped = true;
      await Promise.all(workers);
    }
    const { items } = (await listAs(server, 'vera')).json;
    const extras = items.map((item: { metadata: { name: string } }) => item.metadata.name);
    for (const name of extras.filter((one: string) => !one.startsWith('c-0'))) await removeCluster(server, name);
    await Promise.all(
      extras.filter((one: string) => /^c-0-/.test(one)).map((name: string) => removeCluster(server, name)),
    );
  });

  it('an item that is deleted in between is still on its page', async () => {
    await addCluster(server, 'zz');
    const first = await listAs(server, 'vera', `?limit=${SIZE}`);
    await removeCluster(server, 'zz');
    const second = await listAs(server, 'vera', `?limit=${SIZE}&continue=${first.json.metadata.continue}`);
    expect(namesIn(second)).toEqual(['zz']);
    expect(revisionOf(second)).toBe(revisionOf(first));
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

  it('not with a changed bit, nor in another encoding', async () => {
    const token = await tokenFrom('vera', '');
    const bytes = Buffer.from(token, 'base64url');
    for (let at = 0; at < bytes.length; at += 11) {
      const forged = Buffer.from(bytes);
      forged[at] = (forged[at] ?? 0) ^ 1;
      expectStatus(await listAs(server, 'vera', `?limit=1&continue=${forged.toString('base64url')}`), REFUSED);
    }
    expectStatus(await listAs(server, 'vera', `?limit=1&continue=${token}=`), REFUSED);
    expectStatus(await listAs(server, 'vera', `?limit=1&continue=${token.slice(0, -1)}`), REFUSED);
  });

  it('does not reveal its position, by content or by length', async () => {
    const tokens = await Promise.all(['vera', 'vince', 'eve'].map((user) => tokenFrom(user, '')));
    for (const token of tokens) {
      expect(Buffer.from(token, 'base64url').toString('latin1')).not.toMatch(/c-0|registry|revision/);
    }
    expect(new Set(tokens.map((token) => token.length)).size).toBe(1);
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
