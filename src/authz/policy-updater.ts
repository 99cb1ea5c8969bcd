import type { ClusterLabels } from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { collectionPrefix, kindPrefix } from '../api/object-key.ts';
import { type ApiError, gone } from '../api/status.ts';
import type { ObjectCache, ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { Snapshot } from '../storage/snapshot.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import type { Policy, PolicyChange } from './policy.ts';
import type { PastRbacSnapshot } from './reference-evaluator.ts';

export const rbacKinds = (catalog: Catalog): readonly Kind[] => [
  catalog.clusterRoles,
  catalog.clusterRoleBindings,
  catalog.roles,
  catalog.roleBindings,
];

/**
 * Applies changes of stored roles and bindings to the policy. Registered first, so later listeners see the new policy.
 */
export class PolicyUpdater implements ReflectorListener<StoredObject> {
  readonly #policy: Policy;
  readonly #reader: ObjectReader;
  readonly #kinds: ReadonlySet<Kind>;
  /** What the policy holds, so that a reset can delete what is gone. */
  readonly #applied = new Map<string, StoredObject>();

  constructor(options: { policy: Policy; reader: ObjectReader; catalog: Catalog }) {
    this.#policy = options.policy;
    this.#reader = options.reader;
    this.#kinds = new Set(rbacKinds(options.catalog));
  }

  onEvent({ before, after, revision }: CacheEvent<StoredObject>): void {
    const entry = after ?? before;
    if (entry === undefined || !this.#kinds.has(entry.kind)) return;
    if (after === undefined) this.#applied.delete(entry.key);
    else this.#applied.set(after.key, after);
    this.#policy.apply(changeOf(entry, after !== undefined, revision));
  }

  onProgress(): void {}

  onReset(revision: number): void {
    const current = new Map<string, StoredObject>();
    for (const kind of this.#kinds) {
      for (const entry of this.#reader.cache(kind).current.scan(kindPrefix(kind))) current.set(entry.key, entry);
    }
    for (const [key, entry] of this.#applied) {
      if (!current.has(key)) this.#policy.apply(changeOf(entry, false, revision));
    }
    this.#applied.clear();
    for (const [key, entry] of current) {
      this.#applied.set(key, entry);
      this.#policy.apply(changeOf(entry, true, revision));
    }
  }
}

function changeOf(entry: StoredObject, exists: boolean, revision: number): PolicyChange {
  return {
    resource: entry.kind.resource as PolicyChange['resource'],
    namespace: entry.namespace,
    name: entry.name,
    object: exists ? entry.object() : undefined,
    revision,
  };
}

/** The state of a kind at a revision inside the caches' window; a 410 when it is older. */
function snapshotAt(reader: ObjectReader, kind: Kind, revision: number): Snapshot<StoredObject> {
  const cache = reader.cache(kind);
  const snapshot = cache.at(revision);
  if (snapshot === undefined) throw tooOld(cache, revision);
  return snapshot;
}

const tooOld = ({ windowStart }: ObjectCache, revision: number): ApiError =>
  gone(`too old resource version: ${revision} (${windowStart})`);

/** Roles and bindings at a revision inside the caches' window; reading them throws a 410 when it is older. */
export function rbacSnapshotAt(catalog: Catalog, reader: ObjectReader, revision: number): PastRbacSnapshot {
  const at = (kind: Kind) => snapshotAt(reader, kind, revision);
  const objects = function* (kind: Kind, prefix = kindPrefix(kind)) {
    for (const entry of at(kind).scan(prefix)) yield entry.object();
  };
  const named = (kind: Kind, namespace: string, name: string) =>
    at(kind)
      .get(`${collectionPrefix(kind, '', namespace)}${name}`)
      ?.object();
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = catalog;
  const bindingsIn = (namespace: string): Kind => (namespace === '' ? clusterRoleBindings : roleBindings);
  return {
    clusterRoles: () => objects(clusterRoles),
    clusterRoleBindings: () => objects(clusterRoleBindings),
    clusterRole: (name) => named(clusterRoles, '', name),
    roleBindings: (namespace) => objects(roleBindings, collectionPrefix(roleBindings, '', namespace)),
    role: (namespace, name) => named(roles, namespace, name),
    binding: (namespace, name) => named(bindingsIn(namespace), namespace, name),
    changedBindings: function* (namespace) {
      const cache = reader.cache(bindingsIn(namespace));
      const events = cache.eventsAfter(revision);
      if (events === undefined) throw tooOld(cache, revision);
      for (const { before, after } of events) {
        const entry = after ?? before;
        if (entry?.namespace === namespace) yield entry.name;
      }
    },
  };
}

/** The labels that a cluster had at a revision: `{}` when it had none, undefined when it did not exist. */
export function clusterLabelsAt(
  catalog: Catalog,
  reader: ObjectReader,
  cluster: string,
  revision: number,
): ClusterLabels | undefined {
  const key = `${kindPrefix(catalog.clusters)}${cluster}`;
  const found = snapshotAt(reader, catalog.clusters, revision).get(key);
  return found === undefined ? undefined : (found.labels ?? {});
}
