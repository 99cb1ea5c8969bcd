import type { Caller } from '../../../src/api/caller.ts';
import type { Catalog } from '../../../src/api/catalog.ts';
import {
  type ApiObject,
  type Kind,
  kindPrefix,
  type ManagedFieldsEntry,
  REGISTRY_PREFIX,
} from '../../../src/api/kind.ts';
import { askCluster } from '../../../src/authz/policy/rbac.fixture.ts';
import { type RbacSnapshot, referenceDecide } from '../../../src/authz/policy/reference-evaluator.fixture.ts';
import type { Store } from '../../../src/storage/contract.ts';
import type { Selector } from './selectors.ts';

/** Objects by key, with the resourceVersion of their write. */
export type State = ReadonlyMap<string, ApiObject>;

export interface ModelChange {
  readonly revision: number;
  readonly key: string;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

export type Permission = 'list' | 'watch' | 'update';

/** `fieldsV1` is stored as text, with the stored name of a field of `spec`. */
function withTrees({ storedForm }: Kind, object: ApiObject): ApiObject {
  const { managedFields } = object.metadata;
  if (managedFields === undefined) return object;
  const { stored = '', served = '' } = storedForm?.renamedSpecField ?? {};
  const treeOf = ({ fieldsV1 }: ManagedFieldsEntry): unknown => {
    const { 'f:spec': spec, ...others } = JSON.parse(fieldsV1 as string) as Record<string, object>;
    if (spec === undefined) return others;
    const members = Object.entries(spec).map(([key, value]) => [key === `f:${stored}` ? `f:${served}` : key, value]);
    return { ...others, 'f:spec': Object.fromEntries(members) };
  };
  const entries = managedFields.map((entry) => ({ ...entry, fieldsV1: treeOf(entry) }) as ManagedFieldsEntry);
  return { ...object, metadata: { ...object.metadata, managedFields: entries } };
}

/** All states since a revision, and the expected answers, computed without caches and indexes. */
export class Model {
  readonly #catalog: Catalog;
  readonly #states = new Map<number, State>();
  /** By revision: the revision of the last change of the rules. */
  readonly #rulesSince = new Map<number, number>();
  readonly #decided = new Map<string, boolean>();
  /** Texts that tests derive from this model, by their own keys. */
  readonly derived = new Map<string, string>();
  readonly changes: ModelChange[] = [];
  readonly first: number;
  last: number;

  private constructor(catalog: Catalog, first: number, state: State) {
    this.#catalog = catalog;
    this.first = first;
    this.last = first;
    this.#states.set(first, state);
    this.#rulesSince.set(first, first);
  }

  /** Reads the history from the store, without caches and handlers. */
  static async read(store: Store, catalog: Catalog, first: number): Promise<Model> {
    const start = await store.list({ prefix: REGISTRY_PREFIX, revision: first });
    const parse = (key: string, value: Uint8Array, revision: number): ApiObject => {
      const stored = JSON.parse(Buffer.from(value).toString()) as ApiObject;
      const kind = catalog.kinds.find((each) => key.startsWith(kindPrefix(each)));
      const object = kind?.storedForm?.fromStored(stored) ?? stored;
      const versioned = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
      return kind === undefined ? versioned : withTrees(kind, versioned);
    };
    const items = start.items.map(({ key, value, modRevision }) => [key, parse(key, value, modRevision)] as const);
    const model = new Model(catalog, first, new Map(items));
    const last = await store.revision();
    const stop = new AbortController();
    if (last === first) return model;
    for await (const { changes, revision } of store.watch(REGISTRY_PREFIX, first, stop.signal)) {
      for (const change of changes) {
        const object = change.type === 'put' ? parse(change.key, change.value, change.modRevision) : undefined;
        model.#apply(change.key, object, change.modRevision);
      }
      if (revision >= last) break;
    }
    stop.abort();
    return model;
  }

  #apply(key: string, object: ApiObject | undefined, revision: number): void {
    const state = new Map(this.at(this.last));
    this.changes.push({ revision, key, before: state.get(key), after: object });
    if (object === undefined) state.delete(key);
    else state.set(key, object);
    const rulesSince = this.isCluster(key) ? this.rulesSince(this.last) : revision;
    this.#rulesSince.set(revision, rulesSince);
    this.last = revision;
    this.#states.set(revision, state);
  }

  at(revision: number): State {
    const state = this.#states.get(revision);
    if (state === undefined) throw new Error(`the model has no revision ${revision}`);
    return state;
  }

  /** Revisions with the same value have the same rules. */
  rulesSince(revision: number): number {
    return this.#rulesSince.get(revision) ?? revision;
  }

  isCluster(key: string): boolean {
    return key.startsWith(kindPrefix(this.#catalog.clusters));
  }

  cluster(name: string, revision: number): ApiObject | undefined {
    return this.at(revision).get(`${kindPrefix(this.#catalog.clusters)}${name}`);
  }

  /** The objects of one kind, sorted by name. */
  objects(kind: Kind, revision: number): ApiObject[] {
    return [...this.at(revision)]
      .filter(([key]) => key.startsWith(kindPrefix(kind)))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object);
  }

  #rules(revision: number): RbacSnapshot {
    const named = (kind: Kind, name: string): ApiObject | undefined =>
      this.at(revision).get(`${kindPrefix(kind)}${name}`);
    return {
      clusterRoles: () => this.objects(this.#catalog.clusterRoles, revision),
      clusterRole: (name) => named(this.#catalog.clusterRoles, name),
      role: () => undefined,
      bindings: () => this.objects(this.#catalog.fleetRoleBindings, revision),
    };
  }

  /** Whether the rules of a revision permit the verb on this version of a cluster. */
  may(caller: Caller, verb: Permission, cluster: ApiObject, rulesOf: number): boolean {
    const name = cluster.metadata.name ?? '';
    const labels = cluster.metadata.labels ?? {};
    // Decisions are cached: the same question under the same rules is asked thousands of times.
    const question = JSON.stringify([caller.key, verb, name, labels, this.rulesSince(rulesOf)]);
    const allowed =
      this.#decided.get(question) ??
      referenceDecide(this.#rules(rulesOf), () => labels, caller, askCluster(verb, name)).allowed;
    this.#decided.set(question, allowed);
    return allowed;
  }

  /** The clusters of a revision that match the selector and are visible under the rules of `rulesOf`. */
  visible(caller: Caller, verb: Permission, selector: Selector, revision: number, rulesOf: number): ApiObject[] {
    return this.objects(this.#catalog.clusters, revision).filter(
      (cluster) => selector.matches(cluster) && this.may(caller, verb, cluster, rulesOf),
    );
  }
}
