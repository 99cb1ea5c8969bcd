import { FLEET_BINDINGS, fleetBinding } from './bindings.ts';
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
  /** With a namespace the binding holds in it only. */
  readonly namespace?: string;
  /** The clusters of a FleetRoleBinding, as `kubectl -l` takes them. */
  readonly clusters?: string;
  /** Other fields of a FleetRoleBinding. Without any of them, the binding is one of Kubernetes. */
  readonly fields?: object;
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
  { to, rules, namespace, clusters, fields }: Grant,
): Promise<() => Promise<void>> {
  const name = `granted-${++counter}`;
  await create(server, `${RBAC}/clusterroles`, { metadata: { name }, rules });
  const isOfFleet = clusters !== undefined || fields !== undefined;
  const namespaces = namespace === undefined ? {} : { namespaces: [namespace] };
  const bindings = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`;
  const path = isOfFleet ? FLEET_BINDINGS : `${RBAC}/${bindings}`;
  const plain = {
    metadata: { name },
    subjects: [typeof to === 'string' ? user(to) : to],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
  };
  const body = isOfFleet
    ? fleetBinding({ name, to: [to], role: name, clusters, fields: { ...namespaces, ...fields } })
    : plain;
  await create(server, path, body);
  return async () => {
    await remove(server, `${path}/${name}`);
    await remove(server, `${RBAC}/clusterroles/${name}`);
  };
}
