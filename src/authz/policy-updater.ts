import type { Catalog } from '../api/catalog.ts';
import { type ApiObject, fleetKey, type Kind, kindPrefix } from '../api/kind.ts';
import { bindingSpec } from '../api/kinds/fleet-role-binding.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { CacheEvent } from '../storage/watch-cache.ts';
import type { Policy, PolicyChange } from './policy/policy.ts';

/** The only cluster of a binding that ends when another one gets its name; undefined for other bindings. */
function boundClusterOf(object: ApiObject): { readonly name: string; readonly uid: string } | undefined {
  const { names: [name] = [], uid } = (object.kind === 'FleetRoleBinding' && bindingSpec(object).clusters) || {};
  return name === undefined || uid === undefined ? undefined : { name, uid };
}

/**
 * Applies changes of stored roles and bindings to the policy. `createObjects` adds it to the reflector before the other
 * listeners, so they see the new policy.
 */
export class PolicyUpdater implements ReflectorListener<StoredObject> {
  readonly #policy: Policy;
  readonly #reader: ObjectReader;
  readonly #kinds: readonly Kind[];
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
    this.#kinds = options.catalog.kinds.filter(({ policyRole }) => policyRole !== undefined);
    this.#clusters = options.catalog.clusters;
    this.#onOrphaned = options.onOrphaned;
  }

  onEvent({ before, after, revision }: CacheEvent<StoredObject>): void {
    const entry = after ?? before;
    if (entry === undefined) return;
    if (entry.kind === this.#clusters && after !== undefined) this.#dropOrphaned(entry.name, revision);
    if (entry.kind.policyRole === undefined) return;
    if (before !== undefined) this.#unbind(before);
    if (after !== undefined) this.#bind(after);
    this.#apply(entry, revision, after !== undefined && this.#isInForce(after));
  }

  #apply(entry: StoredObject, revision: number, inForce: boolean): void {
    if (inForce) this.#applied.set(entry.key, entry);
    else this.#applied.delete(entry.key);
    const { namespace, name } = entry;
    const kind = entry.kind.kind as PolicyChange['kind'];
    this.#policy.apply({ kind, namespace, name, object: inForce ? entry.object() : undefined, revision });
  }

  /**
   * Not a role that is being deleted: a finalizer keeps the object, not the permission (`readBinding` does this for
   * bindings). Not a binding whose cluster was replaced by another of its name. While no cluster has the name, the
   * binding reaches nothing.
   */
  #isInForce(entry: StoredObject): boolean {
    const object = entry.object();
    if (entry.kind.policyRole === 'rules' && object.metadata.deletionTimestamp !== undefined) return false;
    const bound = boundClusterOf(object);
    const cluster = bound && this.#reader.find(this.#clusters, fleetKey(bound.name));
    return cluster === undefined || cluster.uid === bound?.uid;
  }

  /** Another cluster may have got the name. */
  #dropOrphaned(cluster: string, revision: number): void {
    const orphaned = [...(this.#bound.get(cluster)?.values() ?? [])].filter(
      (entry) => this.#applied.has(entry.key) && !this.#isInForce(entry),
    );
    for (const entry of orphaned) this.#apply(entry, revision, false);
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

  onReset(revision: number): void {
    const current = new Map<string, StoredObject>();
    this.#bound.clear();
    for (const kind of this.#kinds) {
      for (const entry of this.#reader.cache(kind).current.scan(kindPrefix(kind))) {
        this.#bind(entry);
        if (this.#isInForce(entry)) current.set(entry.key, entry);
      }
    }
    for (const [key, entry] of this.#applied) {
      if (!current.has(key)) this.#apply(entry, revision, false);
    }
    this.#applied.clear();
    for (const entry of current.values()) this.#apply(entry, revision, true);
  }
}
