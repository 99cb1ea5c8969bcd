import type { Client } from '../../../src/client/index.ts';
import { isStatus } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { manifestFileOf } from '../manifest-file.ts';

const RBAC_PATH = '/apis/rbac.authorization.k8s.io/v1';

export interface Binding {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `ClusterRole view`. */
  readonly role: string;
  readonly subjects: readonly { readonly kind: string; readonly namespace?: string; readonly name: string }[];
  /** The cluster selector; `""` for all clusters. */
  readonly clusters: string;
  /** A timestamp; `""` if it does not end by itself. */
  readonly expiresAt: string;
  /** The file of the manifests that it comes from; `""` if there is none. */
  readonly manifest: string;
  /** In lower case, for searching. */
  readonly searchText: string;
}

interface StoredBinding {
  readonly metadata: { name: string; namespace?: string; uid?: string; annotations?: Record<string, string> };
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
  const pages = await readPages<BindingList>(client, `${RBAC_PATH}/${resource}`, {});
  return pages.flatMap(({ items }) => items).map((item) => bindingOf(item, kind));
}

function bindingOf({ metadata, roleRef = {}, subjects = [] }: StoredBinding, kind: Binding['kind']): Binding {
  const { name, namespace = '', uid = '', annotations = {} } = metadata;
  const role = `${roleRef.kind} ${roleRef.name}`;
  const clusters = annotations['clusterpass.dev/clusters'] ?? '';
  const words = [name, namespace, role, clusters, ...subjects.map((subject) => `${subject.kind} ${subject.name}`)];
  return {
    kind,
    namespace,
    name,
    uid,
    role,
    subjects,
    clusters,
    expiresAt: annotations['clusterpass.dev/expires-at'] ?? '',
    manifest: manifestFileOf(metadata),
    searchText: words.join('\n').toLowerCase(),
  };
}

interface BindingReference {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** Of a binding, or of a reference to one. */
export const bindingKey = ({ kind, namespace = '', name }: BindingReference): string => `${kind} ${namespace}/${name}`;

/**
 * With the UID: another binding may have been created under this name since. One that another user has deleted
 * meanwhile is deleted.
 */
export async function deleteBinding(client: Client, { kind, namespace, name, uid }: Binding): Promise<void> {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const path = `${RBAC_PATH}${scope}/${kind.toLowerCase()}s/${encodeURIComponent(name)}`;
  try {
    await client.request('DELETE', path, {
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
    });
  } catch (error) {
    if (!isStatus(error, 404)) throw error;
  }
}

/** What the deletion of a binding takes away, as a sentence. */
export function lossOf({ subjects, role, namespace, clusters }: Binding): string {
  if (subjects.length === 0) return 'No one loses access: it has no subjects.';
  const names = subjects.map((subject) => {
    const scope = subject.namespace === undefined ? '' : `${subject.namespace}/`;
    return `${subject.kind} ${visibleName(`${scope}${subject.name}`)}`;
  });
  const verb = names.length === 1 ? 'loses' : 'lose';
  const where = clusters === '' ? 'all clusters' : `clusters with ${clusters}`;
  const scope = namespace === '' ? where : `the namespace ${namespace} of ${where}`;
  return `${names.join(' and ')} ${verb} ${role} in ${scope}, unless another binding grants the same.`;
}
