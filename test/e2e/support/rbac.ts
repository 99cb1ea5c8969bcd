import { create, remove } from './objects.ts';
import { RBAC, RBAC_GROUP } from './paths.ts';
import type { Server } from './server.ts';

export const REGISTRY_GROUP = 'clusterregistry.k8s.io';

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export interface Grant {
  /** A name, or a whole subject. */
  readonly to: string | object;
  readonly rules: readonly PolicyRule[];
  /** With a namespace the binding is a RoleBinding in it, otherwise a ClusterRoleBinding. */
  readonly namespace?: string;
  /** The selector of `clusterpass.dev/clusters`. */
  readonly clusters?: string;
  /** Annotations of the binding, without their domain: `agents`, `approval`. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export const user = (name: string): object => ({ kind: 'User', apiGroup: RBAC_GROUP, name });
export const group = (name: string): object => ({ kind: 'Group', apiGroup: RBAC_GROUP, name });
export const may = (verb: string, resource: string, apiGroup = '', resourceNames: string[] = []): PolicyRule => ({
  verbs: [verb],
  apiGroups: [apiGroup],
  resources: [resource],
  ...(resourceNames.length === 0 ? {} : { resourceNames }),
});

let counter = 0;

/** Creates a ClusterRole and a binding to it as the administrator. Returns a function that deletes both. */
export async function grant(
  server: Server,
  { to, rules, namespace, clusters, annotations: words = {} }: Grant,
): Promise<() => Promise<void>> {
  const name = `granted-${++counter}`;
  const all = { ...(clusters === undefined ? {} : { clusters }), ...words };
  const annotations = Object.fromEntries(Object.entries(all).map(([key, text]) => [`clusterpass.dev/${key}`, text]));
  const bindings = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
  await create(server, `${RBAC}/clusterroles`, { metadata: { name }, rules });
  await create(server, `${RBAC}/${bindings}`, {
    metadata: { name, annotations },
    subjects: [typeof to === 'string' ? user(to) : to],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
  });
  return async () => {
    await remove(server, `${RBAC}/${bindings}/${name}`);
    await remove(server, `${RBAC}/clusterroles/${name}`);
  };
}
