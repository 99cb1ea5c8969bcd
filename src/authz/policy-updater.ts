import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import { gone } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import type { Policy, PolicyChange } from './policy.ts';
import type { RbacSnapshot } from './reference-evaluator.ts';

export const rbacKinds = (catalog: Catalog): readonly Kind[] => [
  catalog.clusterRoles,
  catalog.clusterRoleBindings,
  catalog.roles,
  catalog.roleBindings,
];

/** Applies changes of stored roles and bindings to the policy. Registered first, so later listeners see the new policy. */
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

/** Roles and bindings at a revision inside the caches' window; reading them throws a 410 when it is older. */
export function rbacSnapshotAt(catalog: Catalog, reader: ObjectReader, revision: number): RbacSnapshot {
  const at = (kind: Kind) => {
    const cache = reader.cache(kind);
    const snapshot = cache.at(revision);
    if (snapshot === undefined) throw gone(`too old resource version: ${revision} (${cache.windowStart})`);
    return snapshot;
  };
  const objects = function* (kind: Kind) {
    for (const entry of at(kind).scan(kindPrefix(kind))) yield entry.object();
  };
  return {
    clusterRoles: () => objects(catalog.clusterRoles),
    clusterRoleBindings: () => objects(catalog.clusterRoleBindings),
    clusterRole: (name) =>
      at(catalog.clusterRoles)
        .get(`${kindPrefix(catalog.clusterRoles)}${name}`)
        ?.object(),
  };
}
