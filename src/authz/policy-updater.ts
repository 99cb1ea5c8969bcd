import type { Catalog } from '../api/catalog.ts';
import type { ApiObject, Kind } from '../api/kind.ts';
import { BOUND_ANNOTATION, parseBoundCluster } from '../api/kinds/rbac.ts';
import { collectionPrefix, fleetKey, kindPrefix } from '../api/object-key.ts';
import { type ApiError, gone } from '../api/status.ts';
import type { ClusterLabels } from '../api/visibility.ts';
import type { ObjectCache, ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { Snapshot } from '../storage/snapshot.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import type { Policy } from './policy/policy.ts';
import type { PolicyChange } from './policy/policy-change.ts';
import type { PastRbacSnapshot } from './policy/reference-evaluator.ts';

/**
 * The cluster that a binding is bound to. Undefined: it is bound to none. `null`: the annotation cannot be read, so the
 * binding grants nothing.
 */
function boundClusterOf({ metadata }: ApiObject): ReturnType<typeof parseBoundCluster> | null {
  const text = metadata.annotations?.[BOUND_ANNOTATION];
  return text === undefined ? undefined : (parseBoundCluster(text) ?? null);
}

/**
 * Not a role that is being deleted: a finalizer keeps the object, not the permission (`readReach` does this for
 * bindings). Not a binding whose cluster was replaced by another of its name. While no cluster has the name, the
 * binding reaches nothing.
 */
function isInForce(object: ApiObject, uidOf: (cluster: string) => string | undefined): boolean {
  if (object.roleRef === undefined && object.metadata.deletionTimestamp !== undefined) return false;
  const bound = boundClusterOf(object);
  return bound === undefined || (bound !== null && (uidOf(bound.name) ?? bound.uid) === bound.uid);
}

export const rbacKinds = (catalog: Catalog): readonly Kind[] => [
  catalog.clusterRoles,
  catalog.clusterRoleBindings,
  catalog.roles,
  catalog.roleBindings,
  catalog.fleetRoleBindings,
];

/**
 * Applies changes of stored roles and bindings to the policy. `createObjects` adds it to the reflector before the other
 * listeners, so they see the new policy.
 */
export class PolicyUpdater implements ReflectorListener<StoredObject> {
  readonly #policy: Policy;
  readonly #reader: ObjectReader;
  readonly #kinds: ReadonlySet<Kind>;
  /** What the policy holds, so that a reset can delete what is gone. */
  readonly #applied = new Map<string, StoredObject>();
  /** Bindings that are bound to a cluster, by its name and their key. */
  readonly #bound = new Map<string, Map<string, StoredObject>>();
  readonly #clusters: Kind;
  readonly #onOrphaned: (revision: number) => void;

  constructor(options: {
    policy: Policy;
    reader: ObjectReader;
    catalog: Catalog;
    /**
     * Called when a recreated cluster (new UID) invalidates bindings to its predecessor, before other listeners get the
     * event.
     */
    onOrphaned: (revision: number) => void;
  }) {
    this.#policy = options.policy;
    this.#reader = options.reader;
    this.#kinds = new Set(rbacKinds(options.catalog));
    this.#clusters = options.catalog.clusters;
    this.#onOrphaned = options.onOrphaned;
  }

  onEvent({ before, after, revision }: CacheEvent<StoredObject>): void {
    this.#policy.advanceTo(revision);
    const entry = after ?? before;
    if (entry === undefined) return;
    if (entry.kind === this.#clusters && after !== undefined) this.#dropOrphaned(entry.name, revision);
    if (!this.#kinds.has(entry.kind)) return;
    if (before !== undefined) this.#unbind(before);
    if (after !== undefined) this.#bind(after);
    if (after !== undefined && this.#isInForce(after)) this.#put(after, revision);
    else this.#remove(entry, revision);
  }

  #put(entry: StoredObject, revision: number): void {
    this.#applied.set(entry.key, entry);
    this.#policy.apply({ ...removalOf(entry, revision), object: entry.object() });
  }

  #remove(entry: StoredObject, revision: number): void {
    this.#applied.delete(entry.key);
    this.#policy.apply(removalOf(entry, revision));
  }

  readonly #uidOf = (name: string): string | undefined => this.#reader.find(this.#clusters, fleetKey(name))?.uid;

  #isInForce(entry: StoredObject): boolean {
    return isInForce(entry.object(), this.#uidOf);
  }

  /** Another cluster may have got the name. */
  #dropOrphaned(cluster: string, revision: number): void {
    const orphaned = [...(this.#bound.get(cluster)?.values() ?? [])].filter(
      (entry) => this.#applied.has(entry.key) && !this.#isInForce(entry),
    );
    for (const entry of orphaned) {
      this.#applied.delete(entry.key);
      this.#policy.apply({ ...removalOf(entry, revision), isOrphaned: true });
    }
    if (orphaned.length > 0) this.#onOrphaned(revision);
  }

  #bind(entry: StoredObject): void {
    const name = boundClusterOf(entry.object())?.name;
    if (name === undefined) return;
    const bindings = this.#bound.get(name) ?? new Map<string, StoredObject>();
    this.#bound.set(name, bindings.set(entry.key, entry));
  }

  #unbind(entry: StoredObject): void {
    const name = boundClusterOf(entry.object())?.name;
    const bindings = name === undefined ? undefined : this.#bound.get(name);
    if (name === undefined || bindings === undefined) return;
    bindings.delete(entry.key);
    if (bindings.size === 0) this.#bound.delete(name);
  }

  onProgress(revision: number): void {
    this.#policy.advanceTo(revision);
  }

  onReset(revision: number): void {
    this.#policy.advanceTo(revision);
    const current = new Map<string, StoredObject>();
    this.#bound.clear();
    for (const kind of this.#kinds) {
      for (const entry of this.#reader.cache(kind).current.scan(kindPrefix(kind))) {
        this.#bind(entry);
        if (this.#isInForce(entry)) current.set(entry.key, entry);
      }
    }
    for (const [key, entry] of this.#applied) {
      if (!current.has(key)) this.#remove(entry, revision);
    }
    this.#applied.clear();
    for (const entry of current.values()) this.#put(entry, revision);
  }
}

const removalOf = ({ kind, namespace, name }: StoredObject, revision: number): PolicyChange => ({
  kind: kind.kind as PolicyChange['kind'],
  namespace,
  name,
  object: undefined,
  revision,
});

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
  const uidOf = (cluster: string) => at(catalog.clusters).get(`${kindPrefix(catalog.clusters)}${cluster}`)?.uid;
  const objects = function* (kind: Kind, prefix = kindPrefix(kind)) {
    for (const entry of at(kind).scan(prefix)) if (isInForce(entry.object(), uidOf)) yield entry.object();
  };
  const named = (kind: Kind, namespace: string, name: string) => {
    const found = at(kind)
      .get(`${collectionPrefix(kind, '', namespace)}${name}`)
      ?.object();
    return found !== undefined && isInForce(found, uidOf) ? found : undefined;
  };
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
