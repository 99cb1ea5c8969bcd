import type { ClusterLabels, ResourceQuestion } from '../api/authorization.ts';
import type { Caller, User } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import { CLUSTERS_ANNOTATION, EXPIRES_ANNOTATION, RBAC_GROUP } from '../api/kinds/rbac.ts';
import { createPolicy, type Policy, type PolicyChange, type PolicyOptions } from './policy.ts';
import type { PastRbacSnapshot } from './reference-evaluator.ts';

/** Builders of objects, callers and a fleet, for tests. */

export type Rules = Partial<
  Record<'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs', string[]>
>[];

export interface Extras {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly clusters?: string;
  /** When a binding ends. */
  readonly expires?: string;
  readonly aggregate?: unknown[];
}

function object(kind: string, name: string, extras: Extras, fields: Record<string, unknown>): ApiObject {
  const { namespace, labels, clusters, expires } = extras;
  const annotations = {
    ...(clusters === undefined ? {} : { [CLUSTERS_ANNOTATION]: clusters }),
    ...(expires === undefined ? {} : { [EXPIRES_ANNOTATION]: expires }),
  };
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ...fields,
  };
}

export const role = (name: string, rules: Rules, extras: Extras = {}): ApiObject =>
  object(extras.namespace === undefined ? 'ClusterRole' : 'Role', name, extras, {
    rules,
    ...(extras.aggregate === undefined ? {} : { aggregationRule: { clusterRoleSelectors: extras.aggregate } }),
  });

/** Subjects are written `User:jane`, `Group:devs`, `ServiceAccount:ns/name` or `ServiceAccount:/name`. */
export const binding = (name: string, roleRef: string, subjects: string[], extras: Extras = {}): ApiObject =>
  object(extras.namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding', name, extras, {
    subjects: subjects.map(subject),
    roleRef: {
      apiGroup: RBAC_GROUP,
      kind: roleRef.slice(0, roleRef.indexOf('/')),
      name: roleRef.slice(roleRef.indexOf('/') + 1),
    },
  });

function subject(text: string): Record<string, string> {
  const kind = text.slice(0, text.indexOf(':'));
  const name = text.slice(text.indexOf(':') + 1);
  if (kind !== 'ServiceAccount') return { kind, apiGroup: RBAC_GROUP, name };
  const [namespace = '', account = ''] = name.split('/');
  return { kind, name: account, ...(namespace === '' ? {} : { namespace }) };
}

export const user = (name: string, ...groups: string[]): User => ({ name, uid: '', groups, extra: {} });

const always = { expiresAt: undefined, dependsOn: [], isLive: () => true };

export function person(name: string, ...groups: string[]): Caller {
  const self = user(name, ...groups);
  return { ...always, as: () => self, home: undefined, key: JSON.stringify(self), flow: name };
}

export function account(cluster: string, namespace: string, name: string): Caller {
  const authenticated = 'system:authenticated';
  const local = user(
    `system:serviceaccount:${namespace}:${name}`,
    'system:serviceaccounts',
    `system:serviceaccounts:${namespace}`,
    authenticated,
  );
  const foreign = user(
    `system:cluster:${cluster}:serviceaccount:${namespace}:${name}`,
    `system:cluster:${cluster}:serviceaccounts`,
    authenticated,
  );
  return {
    ...always,
    as: (about) => (about === cluster ? local : foreign),
    home: cluster,
    key: JSON.stringify([cluster, local]),
    flow: cluster,
  };
}

export const ask = (question: Partial<ResourceQuestion> & { verb: string }): ResourceQuestion => ({
  group: '',
  resource: 'pods',
  subresource: '',
  namespace: '',
  name: '',
  cluster: undefined,
  ...question,
});

export const askCluster = (verb: string, name: string): ResourceQuestion =>
  ask({ verb, group: CLUSTER_GROUP, resource: 'clusters', name, cluster: name });

const RESOURCES: Readonly<Record<string, PolicyChange['resource']>> = {
  ClusterRole: 'clusterroles',
  Role: 'roles',
  ClusterRoleBinding: 'clusterrolebindings',
  RoleBinding: 'rolebindings',
};

/** Objects and cluster labels as plain maps, with every past state of the objects. */
export class Fleet {
  readonly clusters = new Map<string, ClusterLabels>();
  /** The labels of clusters before the present ones; undefined: there was no such cluster. */
  readonly pastLabels = new Map<string, { readonly until: number; readonly labels: ClusterLabels | undefined }[]>();
  readonly policy: Policy;
  revision = 0;
  #objects: ReadonlyMap<string, ApiObject> = new Map();
  readonly #past = new Map<number, ReadonlyMap<string, ApiObject>>();
  readonly #lists = new WeakMap<ReadonlyMap<string, ApiObject>, Map<string, ApiObject[]>>();

  constructor(options: Partial<PolicyOptions> = {}) {
    this.#past.set(0, this.#objects);
    this.policy = createPolicy({
      labelsOf: (cluster) => this.clusters.get(cluster),
      labelsAt: (cluster, revision) => this.labelsAt(cluster, revision),
      snapshot: (revision) => this.snapshot(revision),
      ...options,
    });
  }

  /** Changes the labels of a cluster, or removes it, as a change with a revision. */
  relabel(cluster: string, labels: ClusterLabels | undefined): this {
    const past = this.pastLabels.get(cluster) ?? [];
    this.pastLabels.set(cluster, [...past, { until: this.revision, labels: this.clusters.get(cluster) }]);
    this.revision++;
    this.#past.set(this.revision, this.#objects);
    if (labels === undefined) this.clusters.delete(cluster);
    else this.clusters.set(cluster, labels);
    return this;
  }

  labelsAt(cluster: string, revision: number): ClusterLabels | undefined {
    const past = this.pastLabels.get(cluster)?.find(({ until }) => revision <= until);
    return past === undefined ? this.clusters.get(cluster) : past.labels;
  }

  objects(): ApiObject[] {
    return [...this.#objects.values()];
  }

  put(...objects: ApiObject[]): this {
    for (const each of objects) this.#change(each, each);
    return this;
  }

  remove(...objects: ApiObject[]): this {
    for (const each of objects) this.#change(each, undefined);
    return this;
  }

  #change({ kind, metadata: { namespace = '', name = '' } }: ApiObject, state: ApiObject | undefined): void {
    const resource = RESOURCES[kind];
    if (resource === undefined) throw new Error(`no such kind: ${kind}`);
    const objects = new Map(this.#objects);
    if (state === undefined) objects.delete(`${kind}/${namespace}/${name}`);
    else objects.set(`${kind}/${namespace}/${name}`, state);
    this.#objects = objects;
    this.revision++;
    this.#past.set(this.revision, objects);
    this.policy.apply({ resource, namespace, name, object: state, revision: this.revision });
  }

  /** The objects of a state by kind and namespace. A state does not change: it is sorted once. */
  #listsOf(objects: ReadonlyMap<string, ApiObject>): Map<string, ApiObject[]> {
    let lists = this.#lists.get(objects);
    if (lists === undefined) {
      lists = Map.groupBy(objects.values(), ({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}`);
      this.#lists.set(objects, lists);
    }
    return lists;
  }

  snapshot(revision = this.revision): PastRbacSnapshot {
    const objects = this.#past.get(revision) ?? new Map<string, ApiObject>();
    const lists = this.#listsOf(objects);
    const ofKind = (kind: string, namespace = ''): ApiObject[] => lists.get(`${kind}/${namespace}`) ?? [];
    return {
      clusterRoles: () => ofKind('ClusterRole'),
      clusterRoleBindings: () => ofKind('ClusterRoleBinding'),
      clusterRole: (name) => objects.get(`ClusterRole//${name}`),
      roleBindings: (namespace) => ofKind('RoleBinding', namespace),
      role: (namespace, name) => objects.get(`Role/${namespace}/${name}`),
      binding: (namespace, name) =>
        objects.get(`${namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'}/${namespace}/${name}`),
      changedBindings: (namespace) => this.#changedBindings(namespace, revision),
    };
  }

  #changedBindings(namespace: string, since: number): string[] {
    const changed: string[] = [];
    const prefix = `${namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'}/${namespace}/`;
    for (let revision = since + 1; revision <= this.revision; revision++) {
      const [before, after] = [this.#past.get(revision - 1), this.#past.get(revision)];
      for (const key of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
        if (key.startsWith(prefix) && before?.get(key) !== after?.get(key)) changed.push(key.slice(prefix.length));
      }
    }
    return changed;
  }
}
