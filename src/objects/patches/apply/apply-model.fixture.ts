import fc from 'fast-check';
import { clusterKind } from '../../../api/kinds/cluster.ts';
import type { JsonMap, JsonValue } from '../../../lib/json.ts';
import { fieldRules } from '../../managed-fields.ts';
import { type Applied, applyConfig } from './apply-config.ts';
import type { FieldSet } from './field-set.ts';
import type { Managers } from './managers.ts';
import { updateManagers } from './ownership.ts';

/**
 * A plain model of server-side apply: an object is a table of leaves, and each manager owns a set of them. It knows
 * nothing of trees, schemas and empty containers.
 */

export const kind = clusterKind('orchestrator');
/** Metadata, spec and status in one write, so that every type of list is merged. */
export const rules = fieldRules(kind, 'both');

type Members = Record<string, unknown>;

interface Leaf {
  /** The path in a field set. */
  readonly path: readonly string[];
  readonly values: readonly JsonValue[];
  readonly put: (object: Members, value: JsonValue) => void;
  readonly get: (object: Members) => JsonValue | undefined;
  /** A leaf that this one is a part of: it goes with it. */
  readonly within?: string;
}

const child = (object: Members, name: string): Members => {
  if (!Object.hasOwn(object, name)) define(object, name, {});
  return object[name] as Members;
};
const define = (object: Members, name: string, value: unknown): void => {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
};

function scalar(path: readonly string[], values: readonly JsonValue[]): Leaf {
  const last = path.at(-1) ?? '';
  return {
    path: path.map((name) => `f:${name}`),
    values,
    put: (object, value) => define(path.slice(0, -1).reduce(child, object), last, value),
    get: (object) => {
      let at: unknown = object;
      for (const name of path) {
        if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
        at = (at as Members)[name];
      }
      return at as JsonValue;
    },
  };
}

function finalizer(name: string): Leaf {
  const listOf = (object: Members): string[] => ((object.metadata as Members)?.finalizers ?? []) as string[];
  return {
    path: ['f:metadata', 'f:finalizers', `v:"${name}"`],
    values: [name],
    put: (object) => define(child(object, 'metadata'), 'finalizers', [...listOf(object), name]),
    get: (object) => (listOf(object).includes(name) ? name : undefined),
  };
}

type Condition = Record<string, string>;
const conditionsOf = (object: Members): Condition[] => ((object.status as Members)?.conditions ?? []) as Condition[];

/** The item of a list map, and its fields. */
function condition(type: string): Readonly<Record<string, Leaf>> {
  const path = ['f:status', 'f:conditions', `k:{"type":"${type}"}`];
  const find = (object: Members): Condition | undefined => conditionsOf(object).find((one) => one.type === type);
  const item: Leaf = {
    path,
    values: [type],
    put: (object) => define(child(object, 'status'), 'conditions', [...conditionsOf(object), { type }]),
    get: (object) => find(object)?.type,
  };
  const field = (name: string, values: readonly string[]): Leaf => ({
    path: [...path, `f:${name}`],
    values,
    put: (object, value) => Object.assign(find(object) ?? {}, { [name]: value }),
    get: (object) => find(object)?.[name],
    within: type,
  });
  return {
    [type]: item,
    [`${type}.status`]: field('status', ['True', 'False']),
    [`${type}.reason`]: field('reason', ['A', 'B']),
  };
}

const ENDPOINTS = ['spec', 'orchestratorApiEndpoints'];

export const LEAVES: Readonly<Record<string, Leaf>> = {
  labelA: scalar(['metadata', 'labels', 'a'], ['1', '2']),
  labelProto: scalar(['metadata', 'labels', '__proto__'], ['1', '2']),
  labelConstructor: scalar(['metadata', 'labels', 'constructor'], ['1', '2']),
  annotation: scalar(['metadata', 'annotations', 'example.com/x.y'], ['1', '2']),
  addresses: scalar([...ENDPOINTS, 'serverEndpoints'], [[], [{ serverAddress: 'a' }], [{ serverAddress: 'b' }]]),
  caBundle: scalar([...ENDPOINTS, 'caBundle'], ['YQ==', 'Yg==']),
  userName: scalar(['spec', 'authInfo', 'user', 'name'], ['x', 'y']),
  userKind: scalar(['spec', 'authInfo', 'user', 'kind'], ['x', 'y']),
  version: scalar(['status', 'version'], ['1', '2']),
  f1: finalizer('example.com/1'),
  f2: finalizer('example.com/2'),
  ...condition('Ready'),
  ...condition('Disk'),
};

/** What a manager applies: some leaves with their values. */
export type Config = Readonly<Record<string, JsonValue>>;

/** Parts of a list item come with the item. */
const complete = (config: Record<string, JsonValue>): Config => {
  const whole = { ...config };
  for (const name of Object.keys(config)) {
    const item = LEAVES[name]?.within;
    if (item !== undefined) whole[item] = item;
  }
  return whole;
};

export const configs = (names: readonly string[] = Object.keys(LEAVES)): fc.Arbitrary<Config> =>
  fc
    .record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...(LEAVES[name]?.values ?? []))])), {
      requiredKeys: [],
    })
    .map((config) => complete(config as Record<string, JsonValue>));

export function objectOf(config: Config): JsonMap {
  const object: Members = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
  // In the order of the leaves: an item is put before its fields.
  for (const [name, leaf] of Object.entries(LEAVES)) {
    const value = config[name];
    if (value !== undefined) leaf.put(object, value);
  }
  return object as JsonMap;
}

export const leavesOf = (object: JsonMap | undefined): Config =>
  Object.fromEntries(
    Object.entries(LEAVES).flatMap(([name, leaf]) => {
      const value = leaf.get((object ?? {}) as Members);
      return value === undefined ? [] : [[name, value]];
    }),
  );

export const ownedIn = (set: FieldSet): string[] =>
  Object.entries(LEAVES)
    .filter(([, { path }]) => set.has(path))
    .map(([name]) => name)
    .sort();

/** The implementation with the state between two writes. */
export class Live {
  object: JsonMap | undefined;
  managers: Managers = new Map();

  apply(manager: string, config: Config, force: boolean): Applied {
    const input = { manager, subresource: '', force, now: '2026-01-01T00:00:00Z' };
    const applied = applyConfig(rules, {
      ...input,
      live: this.object,
      managers: this.managers,
      config: objectOf(config),
    });
    if (applied.conflicts.length === 0) {
      this.object = applied.object;
      this.managers = applied.managers;
    }
    return applied;
  }

  update(manager: string, config: Config): void {
    const after = objectOf(config);
    this.managers = updateManagers(rules, {
      before: this.object ?? {},
      after,
      managers: this.managers,
      updater: { name: manager, subresource: '' },
      now: '2026-01-01T00:00:00Z',
    });
    this.object = after;
  }

  get owners(): Record<string, string[]> {
    return Object.fromEntries(
      [...this.managers.values()]
        .map(({ name, operation, set }) => [`${operation} ${name}`, ownedIn(set)] as const)
        .filter(([, owned]) => owned.length > 0),
    );
  }
}

/** The model with the same methods. */
export class Model {
  leaves: Record<string, JsonValue> = {};
  readonly #owners = new Map<string, Set<string>>();

  get owners(): Record<string, string[]> {
    return Object.fromEntries(
      [...this.#owners].filter(([, owned]) => owned.size > 0).map(([name, owned]) => [name, [...owned].sort()]),
    );
  }

  #changed(config: Config): string[] {
    return Object.keys(config).filter((name) => JSON.stringify(this.leaves[name]) !== JSON.stringify(config[name]));
  }

  #take(names: readonly string[], except?: string): void {
    for (const [id, owned] of this.#owners) if (id !== except) for (const name of names) owned.delete(name);
  }

  /** Returns the names of leaves in conflict. */
  apply(manager: string, config: Config, force: boolean): string[] {
    const id = `Apply ${manager}`;
    const changed = this.#changed(config);
    const others = [...this.#owners].filter(([other]) => other !== id).map(([, owned]) => owned);
    const conflicts = changed.filter((name) => others.some((owned) => owned.has(name)));
    if (!force && conflicts.length > 0) return conflicts;
    this.#take(changed, id);
    Object.assign(this.leaves, config);
    const last = this.#owners.get(id) ?? new Set<string>();
    this.#owners.set(id, new Set(Object.keys(config)));
    const owned = new Set([...this.#owners.values()].flatMap((names) => [...names]));
    const gone = new Set([...last].filter((name) => !owned.has(name)));
    const removed = Object.keys(this.leaves).filter((name) => gone.has(name) || gone.has(LEAVES[name]?.within ?? ''));
    for (const name of removed) delete this.leaves[name];
    this.#take(removed);
    return [];
  }

  update(manager: string, config: Config): void {
    const id = `Update ${manager}`;
    const changed = this.#changed(config);
    const removed = Object.keys(this.leaves).filter((name) => !Object.hasOwn(config, name));
    this.#take([...changed, ...removed]);
    this.#owners.set(id, new Set([...(this.#owners.get(id) ?? []), ...changed]));
    this.leaves = { ...config };
  }
}
