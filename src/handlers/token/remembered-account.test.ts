import { expect, test } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { createTokenHandler } from './create-token.ts';

/** What is remembered of an account between two requests of one line; the rest of the operation is in create-token.test.ts. */

const catalog = createCatalog({ productName: 'orchestrator' });
type Entry = StoredObject & { isCurrent: boolean; readonly issuesItself: boolean };

function setUp() {
  const entries = new Map<Kind, Entry>();
  const put = (kind: Kind, issuesItself = false): void => {
    const before = entries.get(kind);
    if (before !== undefined) before.isCurrent = false;
    const entry = { kind, name: 'x', namespace: 'x', uid: 'u', isCurrent: true, issuesItself };
    entries.set(kind, entry as unknown as Entry);
  };
  const looks: string[] = [];
  let onCatchUp = (): void => {};
  const find = (kind: Kind): Entry | undefined => {
    looks.push(kind.resource);
    return entries.get(kind);
  };
  const catchUp = async (): Promise<void> => onCatchUp();
  const reader = {
    find,
    catchUp,
    findFresh: async (kind: Kind) => find(kind) ?? (await catchUp().then(() => find(kind))),
  } as unknown as ObjectReader;
  const handle = createTokenHandler({
    catalog,
    reader,
    signer: { isSure: true, sign: async () => 'signed-here' },
    requireRightClock: () => {},
    tracked: {} as never,
    issuerOf: () => 'https://pass.example/x',
    forward: async () => {
      const cluster = entries.get(catalog.clusters);
      const metadata = { name: 'x' };
      return cluster?.issuesItself ? { apiVersion: 'v1', kind: 'TokenRequest', metadata, status: {} } : undefined;
    },
    maxExpirationSeconds: 3600,
    now: () => 0,
    randomUuid: () => 'id',
  });
  const request = {
    target: { cluster: 'x', namespace: 'x', name: 'x' },
    query: new URLSearchParams(),
    body: { bytes: Buffer.from('{"spec":{"audiences":["a"]}}'), mediaType: 'application/json' },
    accept: { as: 'object' },
    warn: () => {},
    annotate: () => {},
    willAnswer: () => {},
  } as unknown as ApiRequest;
  return {
    put,
    looks,
    beforeCaughtUp: (act: () => void) => (onCatchUp = act),
    isSignedHere: async (): Promise<boolean> => {
      const response = await handle(request);
      return 'json' in response && response.json.includes('signed-here' as never);
    },
  };
}

const ALL = [catalog.clusters, catalog.namespaces, catalog.serviceAccounts] as const;

test('the second request of a line looks nothing up, until something that it found is another', async () => {
  const { put, looks, isSignedHere } = setUp();
  for (const kind of ALL) put(kind);
  for (const changed of [undefined, ...ALL]) {
    if (changed !== undefined) put(changed);
    looks.length = 0;
    expect(await isSignedHere()).toBe(true);
    expect(looks).toContain('namespaces');
    looks.length = 0;
    expect(await isSignedHere()).toBe(true);
    expect(looks).toEqual([]);
  }
});

test('a cluster that issues for itself is asked, also when it has become one while others were looked for', async () => {
  const { put, isSignedHere, beforeCaughtUp } = setUp();
  put(catalog.clusters);
  beforeCaughtUp(() => {
    put(catalog.clusters, true);
    put(catalog.namespaces);
    put(catalog.serviceAccounts);
  });
  await isSignedHere();
  expect(await isSignedHere()).toBe(false);
  expect(await isSignedHere()).toBe(false);
});
