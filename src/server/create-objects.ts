import { randomBytes, randomUUID } from 'node:crypto';
import type { Catalog } from '../api/catalog.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import { createPolicy, type Policy } from '../authz/policy.ts';
import { PolicyFeed, rbacKinds, rbacSnapshotAt } from '../authz/policy-updater.ts';
import { COMPUTED_ANNOTATIONS, createPublicView, type PublicViewOptions } from '../clusters/public-view.ts';
import { WatchHub } from '../handlers/watch/broadcaster.ts';
import { Cascade } from '../objects/deletion-propagation.ts';
import { ObjectReader } from '../objects/reader.ts';
import { StoredObject } from '../objects/stored-object.ts';
import { ObjectWriter } from '../objects/writer.ts';
import type { Store } from '../storage/contract.ts';
import { Feed } from '../storage/reflector.ts';
import { KindCache } from '../storage/watch-cache.ts';

export interface ObjectsOptions extends PublicViewOptions {
  readonly catalog: Catalog;
  readonly store: Store;
  /** How many revisions the caches can go back. */
  readonly historyRevisions: number;
  readonly bookmarkIntervalMs: number;
  readonly delay: (ms: number) => Promise<void>;
  /** Hears of interruptions of the store's watch. */
  readonly onError: (error: unknown) => void;
}

export interface Objects {
  readonly publicView: (object: ApiObject) => ApiObject;
  readonly feed: Feed<StoredObject>;
  readonly caches: ReadonlyMap<Kind, KindCache<StoredObject>>;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly policy: Policy;
  readonly hub: WatchHub;
  readonly cascade: Cascade;
}

/**
 * Objects, their caches, and what follows every change of them: a part of `compose`, and of the tests that need the
 * parts between HTTP and the store as the program connects them. The feed still has to be started.
 */
export function createObjects(options: ObjectsOptions): Objects {
  const { catalog, store, historyRevisions } = options;
  const publicView = createPublicView(options);
  const caches = new Map(
    catalog.storedKinds.map((kind) => {
      const cache = new KindCache<StoredObject>({
        prefix: kindPrefix(kind),
        project: (stored) => new StoredObject(kind, stored, kind === catalog.clusters ? publicView : undefined),
        indexLabels: kind.indexLabels === true,
        windowSize: historyRevisions,
      });
      return [kind, cache] as const;
    }),
  );
  const feed = new Feed<StoredObject>({
    store,
    caches: [...caches.values()],
    historyRevisions,
    delay: options.delay,
    onError: options.onError,
  });
  const reader = new ObjectReader(feed, caches);
  const policy = createPolicy({
    labelsOf: (name) => {
      const cluster = reader.find(catalog.clusters, { cluster: '', namespace: '', name });
      return cluster === undefined ? undefined : (cluster.labels ?? NO_LABELS);
    },
    snapshot: (revision) => rbacSnapshotAt(catalog, reader, revision),
  });
  const isPolicy = new Set(rbacKinds(catalog));
  const hub = new WatchHub({
    clusters: catalog.clusters,
    isPolicy: (kind) => isPolicy.has(kind),
    bookmarkIntervalMs: options.bookmarkIntervalMs,
  });
  // The rules first: an event is judged by the rules in force at its revision.
  feed.listen(new PolicyFeed({ policy, reader, catalog }));
  feed.listen(hub);
  const writer = new ObjectWriter({
    store,
    reader,
    catalog,
    now: Date.now,
    randomUuid: randomUUID,
    randomSuffix,
    computedAnnotations: Object.values(COMPUTED_ANNOTATIONS),
  });
  const cascade = new Cascade({ store, reader, writer, catalog });
  return { publicView, feed, caches, reader, writer, policy, hub, cascade };
}

/** One for all: whoever compares the labels of now with those of before sees that nothing changed. */
const NO_LABELS = Object.freeze({});

/** Without vowels, and without digits that look like letters: no words, no misreadings. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

const randomSuffix = (): string =>
  [...randomBytes(5)].map((byte) => SUFFIX_ALPHABET[byte % SUFFIX_ALPHABET.length]).join('');
