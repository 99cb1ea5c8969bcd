import type { ResourceQuestion } from '../../api/authorization.ts';
import type { Caller, User } from '../../api/caller.ts';
import { clustersOf } from '../../api/clusters-field.ts';
import type { ApiObject } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import type { ClusterLabels } from '../../api/visibility.ts';
import { Policy, type PolicyChange, type PolicyOptions } from './policy.ts';
import type { RbacSnapshot } from './reference-evaluator.fixture.ts';

/** Builders of objects, callers and a fleet, for tests. */

export type Rules = Partial<
  Record<'verbs' | 'apiGroups' | 'resources' | 'resourceNames' | 'nonResourceURLs', string[]>
>[];

export interface Extras {
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly aggregate?: unknown[];
}

/** What a FleetRoleBinding says besides its role and its subjects. */
export interface FleetExtras {
  /** A selector as `kubectl -l` takes it. Default: `all: true`. */
  readonly clusters?: string;
  readonly namespaces?: string[];
  readonly expiresAt?: string;
  /** The uid of the only cluster. */
  readonly uid?: string;
  readonly agents?: string;
  readonly approval?: string;
  readonly maxPassSeconds?: number;
  readonly labels?: Record<string, string>;
}

function object(kind: string, name: string, extras: Extras, fields: Record<string, unknown>): ApiObject {
  const { namespace, labels, annotations } = extras;
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
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

/** With subjects as in `binding`. */
export function fleetBinding(name: string, roleRef: string, subjects: string[], extras: FleetExtras = {}): ApiObject {
  const { clusters, uid, approval, labels, ...fields } = extras;
  const where = clusters === undefined ? { all: true } : clustersOf(clusters);
  return {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: {
      subjects: subjects.map(subject).map(({ apiGroup: _, ...rest }) => rest),
      roleRef: { kind: roleRef.slice(0, roleRef.indexOf('/')), name: roleRef.slice(roleRef.indexOf('/') + 1) },
      clusters: uid === undefined ? where : { ...where, uid },
      ...(approval === undefined ? {} : { approval: { by: approval } }),
      ...fields,
    },
  };
}

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

/** Objects and cluster labels as plain maps. */
export class Fleet {
  readonly clusters = new Map<string, ClusterLabels>();
  readonly policy: Policy;
  revision = 0;
  readonly #objects = new Map<string, ApiObject>();

  constructor(options: Partial<PolicyOptions> = {}) {
    const labelsOf = (cluster: string) => this.clusters.get(cluster);
    // Tables of the usual size take longer than all decisions of a test.
    this.policy = new Policy({ labelsOf, maxRules: 100, maxIdleSubjects: 100, ...options });
  }

  /** Changes the labels of a cluster, or removes it, as a change with a revision. */
  relabel(cluster: string, labels: ClusterLabels | undefined): this {
    this.revision++;
    if (labels === undefined) this.clusters.delete(cluster);
    else this.clusters.set(cluster, labels);
    return this;
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

  #change({ kind, metadata: { namespace = '', name = '' } }: ApiObject, object: ApiObject | undefined): void {
    const key = `${kind}/${namespace}/${name}`;
    if (object === undefined) this.#objects.delete(key);
    else this.#objects.set(key, object);
    this.revision++;
    this.policy.apply({ kind: kind as PolicyChange['kind'], namespace, name, object, revision: this.revision });
  }

  snapshot(): RbacSnapshot {
    const objects = this.#objects;
    const ofKind = (suffix: string): ApiObject[] => this.objects().filter(({ kind }) => kind.endsWith(suffix));
    return {
      clusterRoles: () => ofKind('ClusterRole'),
      clusterRole: (name) => objects.get(`ClusterRole//${name}`),
      role: (namespace, name) => objects.get(`Role/${namespace}/${name}`),
      bindings: () => ofKind('Binding'),
    };
  }
}
