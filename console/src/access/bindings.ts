import type { Client } from '../../../src/client/index.ts';
import { isStatus } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

export interface Binding {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly role: string;
  readonly subjects: readonly { readonly kind: string; readonly namespace?: string; readonly name: string }[];
  /** The cluster selector; `""` for all clusters. */
  readonly clusters: string;
  /** A timestamp; `""` if it does not end by itself. */
  readonly expiresAt: string;
  /** In lower case, for searching. */
  readonly searchText: string;
}

interface StoredBinding {
  readonly metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  readonly roleRef?: { kind?: string; name?: string };
  readonly subjects?: Binding['subjects'];
}

interface BindingList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly StoredBinding[];
}

/** All bindings that the user may list; the ones of namespaces are left out for a user who may list only the others. */
export async function listBindings(client: Client): Promise<Binding[]> {
  const lists = await Promise.allSettled([
    readAll(client, 'clusterrolebindings', 'ClusterRoleBinding'),
    readAll(client, 'rolebindings', 'RoleBinding'),
  ]);
  const failures = lists.flatMap((list) => (list.status === 'rejected' ? [list.reason as unknown] : []));
  const other = failures.find((failure) => !isStatus(failure, 403));
  if (other !== undefined || failures.length === lists.length) throw other ?? failures[0];
  return lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
}

async function readAll(client: Client, resource: string, kind: Binding['kind']): Promise<Binding[]> {
  const pages = await readPages<BindingList>(client, `${RBAC}/${resource}`, {});
  return pages.flatMap(({ items }) => items).map((item) => bindingOf(item, kind));
}

function bindingOf({ metadata, roleRef = {}, subjects = [] }: StoredBinding, kind: Binding['kind']): Binding {
  const { name, namespace = '', annotations = {} } = metadata;
  const role = `${roleRef.kind} ${roleRef.name}`;
  const clusters = annotations['clusterpass.dev/clusters'] ?? '';
  const words = [name, namespace, role, clusters, ...subjects.map((subject) => `${subject.kind} ${subject.name}`)];
  return {
    kind,
    namespace,
    name,
    role,
    subjects,
    clusters,
    expiresAt: annotations['clusterpass.dev/expires-at'] ?? '',
    searchText: words.join('\n').toLowerCase(),
  };
}

export const bindingKey = ({ kind, namespace, name }: Pick<Binding, 'kind' | 'namespace' | 'name'>): string =>
  `${kind} ${namespace}/${name}`;
