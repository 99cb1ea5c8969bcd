import type { ClusterLabels, ResourceQuestion } from '../api/authorization.ts';
import type { Caller, User } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster.ts';
import { CLUSTERS_ANNOTATION, RBAC_GROUP } from '../api/kinds/rbac.ts';
import { createPolicy, type Policy, type PolicyChange, type PolicyOptions } from './policy.ts';
import type { NamespacedRbacSnapshot } from './reference-evaluator.ts';

/** Builders of objects, callers and a fleet, for tests. */

export type Rules = Partial<
  Record<'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs', string[]>
>[];

export interface Extras {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly clusters?: string;
  readonly aggregate?: unknown[];
}

function object(kind: string, name: string, extras: Extras, fields: Record<string, unknown>): ApiObject {
  const { namespace, labels, clusters } = extras;
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(clusters === undefined ? {} : { annotations: { [CLUSTERS_ANNOTATION]: clusters } }),
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
  readonly policy: Policy;
  revision = 0;
  #objects: ReadonlyMap<string, ApiObject> = new Map();
  readonly #past = new Map<number, ReadonlyMap<string, ApiObject>>();

  constructor(options: Partial<PolicyOptions> = {}) {
    this.#past.set(0, this.#objects);
    this.policy = createPolicy({
      labelsOf: (cluster) => this.clusters.get(cluster),
      snapshot: (revision) => this.snapshot(revision),
      ...options,
    });
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

  snapshot(revision = this.revision): NamespacedRbacSnapshot {
    const objects = this.#past.get(revision) ?? new Map<string, ApiObject>();
    const ofKind = (kind: string, namespace?: string): ApiObject[] =>
      [...objects.values()].filter((o) => o.kind === kind && (o.metadata.namespace ?? '') === (namespace ?? ''));
    return {
      clusterRoles: () => ofKind('ClusterRole'),
      clusterRoleBindings: () => ofKind('ClusterRoleBinding'),
      clusterRole: (name) => objects.get(`ClusterRole//${name}`),
      roleBindings: (namespace) => ofKind('RoleBinding', namespace),
      role: (namespace, name) => objects.get(`Role/${namespace}/${name}`),
    };
  }
}
