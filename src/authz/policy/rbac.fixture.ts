import type { ResourceQuestion } from '../../api/authorization.ts';
import type { Caller, User } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import {
  AGENTS_ANNOTATION,
  APPROVAL_ANNOTATION,
  BOUND_ANNOTATION,
  CLUSTERS_ANNOTATION,
  EXPIRES_ANNOTATION,
  RBAC_GROUP,
} from '../../api/kinds/rbac.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import { createPolicy, type Policy } from './policy.ts';
import type { PolicyChange } from './policy-change.ts';
import type { PolicyOptions } from './policy-options.ts';
import type { PastRbacSnapshot } from './reference-evaluator.ts';

/** Builders of objects, callers and a fleet, for tests. */

export type Rules = Partial<
  Record<'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs', string[]>
>[];

export interface Extras {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly clusters?: string;
  /** When a binding expires. */
  readonly expires?: string;
  /** The cluster that a binding is bound to: `NAME/UID`. */
  readonly bound?: string;
  /** Who may use a binding for passes, and with which approval. */
  readonly agents?: string;
  readonly approval?: string;
  readonly aggregate?: unknown[];
}

function object(kind: string, name: string, extras: Extras, fields: Record<string, unknown>): ApiObject {
  const { namespace, labels, clusters, expires, bound, agents, approval } = extras;
  const annotations = {
    ...(clusters === undefined ? {} : { [CLUSTERS_ANNOTATION]: clusters }),
    ...(expires === undefined ? {} : { [EXPIRES_ANNOTATION]: expires }),
    ...(bound === undefined ? {} : { [BOUND_ANNOTATION]: bound }),
    ...(agents === undefined ? {} : { [AGENTS_ANNOTATION]: agents }),
    ...(approval === undefined ? {} : { [APPROVAL_ANNOTATION]: approval }),
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

interface State {
  readonly objects: ReadonlyMap<string, ApiObject>;
  /** The same by kind and namespace, made when they are first read. */
  lists?: ReadonlyMap<string, ApiObject[]>;
}

/** Objects and cluster labels as plain maps, with every past state of the objects. */
export class Fleet {
  readonly clusters = new Map<string, ClusterLabels>();
  /** The labels of clusters before the present ones; undefined: there was no such cluster. */
  readonly pastLabels = new Map<string, { readonly until: number; readonly labels: ClusterLabels | undefined }[]>();
  readonly policy: Policy;
  revision = 0;
  #state: State = { objects: new Map() };
  readonly #past = new Map<number, State>();

  constructor(options: Partial<PolicyOptions> = {}) {
    this.#past.set(0, this.#state);
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
    this.#past.set(this.revision, this.#state);
    if (labels === undefined) this.clusters.delete(cluster);
    else this.clusters.set(cluster, labels);
    return this;
  }

  labelsAt(cluster: string, revision: number): ClusterLabels | undefined {
    const past = this.pastLabels.get(cluster)?.find(({ until }) => revision <= until);
    return past === undefined ? this.clusters.get(cluster) : past.labels;
  }

  objects(): ApiObject[] {
    return [...this.#state.objects.values()];
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
    const objects = new Map(this.#state.objects);
    if (state === undefined) objects.delete(`${kind}/${namespace}/${name}`);
    else objects.set(`${kind}/${namespace}/${name}`, state);
    this.#state = { objects };
    this.revision++;
    this.#past.set(this.revision, this.#state);
    this.policy.apply({ kind: kind as PolicyChange['kind'], namespace, name, object: state, revision: this.revision });
  }

  snapshot(revision = this.revision): PastRbacSnapshot {
    const state = this.#past.get(revision) ?? { objects: new Map<string, ApiObject>() };
    const { objects } = state;
    state.lists ??= Map.groupBy(objects.values(), ({ kind, metadata }) => `${kind}/${metadata.namespace ?? ''}`);
    const { lists } = state;
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
      const [before, after] = [this.#past.get(revision - 1)?.objects, this.#past.get(revision)?.objects];
      for (const key of new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])) {
        if (key.startsWith(prefix) && before?.get(key) !== after?.get(key)) changed.push(key.slice(prefix.length));
      }
    }
    return changed;
  }
}
