import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatalog } from '../../src/api/catalog.ts';
import { type ApiObject, apiVersionOf, type Kind, kindPrefix, type ObjectKey, storageKey } from '../../src/api/kind.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import { type StoredObject, toStoredBytes } from '../../src/objects/stored-object.ts';
import type { KeyValue, Store } from '../../src/storage/contract.ts';
import type { Snapshot } from '../../src/storage/snapshot.ts';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { compactedRevision } from '../conformance/harness.ts';
import { type ApiCore, openApiCore } from './support/api-core.ts';

/** After random writes, compactions and restarts, the caches equal the store, at the current and at past revisions. */

const CATALOG = createCatalog({ productName: 'orchestrator' });

/** Names with common prefixes, which a wrong key could mix up. RBAC rules may have almost any name. */
const NAMES = ['a', 'a-b', 'a.b', 'ab', 'b'];
const RULE_NAMES = [...NAMES, 'system:x', 'A', 'é', '～', '🚀'];

interface Mutation {
  readonly kind: Kind;
  readonly objectKey: ObjectKey;
  readonly label: string | undefined;
  readonly remove: boolean;
}

const mutation: fc.Arbitrary<Mutation> = fc.constantFrom(...CATALOG.kinds).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    objectKey: fc.record({
      cluster: kind.inCluster ? fc.constantFrom('a', 'ab') : fc.constant(''),
      namespace: kind.namespaced ? fc.constantFrom('a', 'a-b') : fc.constant(''),
      name: fc.constantFrom(...(kind.nameRule === 'path-segment' ? RULE_NAMES : NAMES)),
    }),
    label: fc.constantFrom(undefined, '', '1', '2'),
    remove: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
  }),
);

type Step =
  | { readonly step: 'write'; readonly mutations: readonly Mutation[] }
  | { readonly step: 'compact'; readonly back: number }
  | { readonly step: 'reopen'; readonly windowSize: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      step: fc.constant('write' as const),
      mutations: fc.array(mutation, { minLength: 1, maxLength: 12 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ step: fc.constant('compact' as const), back: fc.nat({ max: 20 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant('reopen' as const), windowSize: fc.constantFrom(0, 3, 20, 10_000) }),
  },
);

function objectOf({ kind, objectKey, label }: Mutation, serial: number): ApiObject {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: {
      name: objectKey.name,
      uid: `uid-${serial}`,
      ...(kind.namespaced ? { namespace: objectKey.namespace } : {}),
      ...(label === undefined ? {} : { labels: { label } }),
      annotations: { serial: String(serial) },
    },
  };
}

const fromStore = ({ key, value, modRevision, createRevision }: KeyValue) => {
  const { metadata } = JSON.parse(Buffer.from(value).toString()) as ApiObject;
  return { key, modRevision, createRevision, uid: metadata.uid, serial: metadata.annotations?.serial };
};

const fromCache = (entry: StoredObject) => ({
  key: entry.key,
  modRevision: entry.revision,
  createRevision: entry.createRevision,
  uid: entry.uid,
  serial: entry.object().metadata.annotations?.serial,
});

async function expectSame(store: Store, kind: Kind, snapshot: Snapshot<StoredObject> | undefined, revision: number) {
  const prefix = kindPrefix(kind);
  const { items } = await store.list({ prefix, revision });
  const cached = [...(snapshot?.scan(prefix) ?? [])].map(fromCache);
  const stored = items.map(fromStore);
  // The store has UTF-8 order and the cache UTF-16 order. They differ for rare characters that only rules may have.
  if (kind.nameRule === 'path-segment') stored.sort((a, b) => (a.key < b.key ? -1 : 1));
  expect(cached).toEqual(stored);
  expect(snapshot?.count(prefix)).toBe(stored.length);
  if (snapshot?.indexed !== true) return;
  for (const label of ['', '1', '2']) {
    const carriers = [...snapshot.scan(prefix)].filter((entry) => entry.labels?.label === label);
    expect([...snapshot.withLabel('label', label)]).toEqual(carriers);
  }
}

async function compare(store: Store, core: ApiCore): Promise<void> {
  await core.reader.catchUp();
  const now = await store.revision();
  const readable = (await compactedRevision(store)) + 1;
  for (const kind of core.catalog.kinds) {
    const cache = core.reader.cache(kind);
    await expectSame(store, kind, cache.current, now);
    for (const entry of cache.current.scan(kindPrefix(kind))) expect(cache.get(entry.key)).toBe(entry);
    for (let revision = Math.max(readable, now - 30); revision <= now; revision++) {
      if (revision < cache.windowStart) expect(cache.at(revision)).toBeUndefined();
      else await expectSame(store, kind, cache.at(revision), revision);
    }
  }
  expect(core.errors).toEqual([]);
}

describe('B7: the caches', () => {
  it('equal the store, for every kind and every revision that both have', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'clusterpass-cache-'));
    let serial = 0;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 15 }), async (steps) => {
        const file = join(dir, `${run++}.db`);
        let store = await openSqliteStore({ file });
        let core = await openApiCore(store, 20);
        try {
          for (const each of steps) {
            if (each.step === 'write') {
              await Promise.all(
                each.mutations.map(async (what) => {
                  const key = storageKey(what.kind, what.objectKey);
                  const current = await store.get(key);
                  if (current === undefined && what.remove) return;
                  const value = what.remove ? null : toStoredBytes(what.kind, objectOf(what, serial++));
                  const modRevision = current?.modRevision;
                  // Of two concurrent writes to one key, one is refused.
                  await store.write({
                    key,
                    value,
                    expect: modRevision === undefined ? { absent: true } : { modRevision },
                  });
                }),
              );
            } else if (each.step === 'compact') {
              await store.compact(Math.max((await store.revision()) - each.back, 0));
            } else {
              await core.close();
              await store.close();
              store = await openSqliteStore({ file });
              core = await openApiCore(store, each.windowSize);
            }
          }
          await compare(store, core);
        } finally {
          await core.close();
          await store.close();
        }
      }),
      { ...propertyRuns(5, 100), interruptAfterTimeLimit: 200_000 },
    );
    await rm(dir, { recursive: true });
  }, 240_000);
});
