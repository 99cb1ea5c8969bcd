import { type ClustersField, clustersText } from '../../../src/api/clusters-field.ts';
import { type Client, isStatus } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';
import { unless } from '../error-message.ts';
import { type BoundSubject, subjectText } from '../grants/grant-changes.tsx';
import { manifestFileOf } from '../manifest-file.ts';
import { CLUSTERPASS, CLUSTERS, RBAC } from '../permissions/permissions.ts';
import { collectionPath, deleteObject, patchObject } from '../write-object.ts';

type BindingKind = 'FleetRoleBinding' | 'ClusterRoleBinding' | 'RoleBinding';

/** The API of each kind. Bindings of Kubernetes hold in all clusters. */
export const BINDING_GROUPS: Readonly<Record<BindingKind, string>> = {
  FleetRoleBinding: CLUSTERPASS,
  ClusterRoleBinding: RBAC,
  RoleBinding: RBAC,
};
const VERSIONS: Readonly<Record<string, string>> = { [CLUSTERPASS]: 'v1alpha1', [RBAC]: 'v1' };

export const resourceOf = (kind: BindingKind): string => `${kind.toLowerCase()}s`;

export interface Binding {
  readonly kind: BindingKind;
  /** The namespace of a RoleBinding, or those in which a FleetRoleBinding holds; `""` for all. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** `ClusterRole view`. */
  readonly role: string;
  readonly subjects: readonly BoundSubject[];
  readonly clusters: ClustersField;
  /** The clusters that the role names, if it allows nothing elsewhere. */
  readonly names?: readonly string[] | undefined;
  /** In how many clusters a FleetRoleBinding holds now. */
  readonly reach: number | undefined;
  /** Why it grants nothing; `""` if it does. */
  readonly problem: string;
  /** A timestamp; `""` if it does not end by itself. */
  readonly expiresAt: string;
  /** The file of the manifests that it comes from; `""` if there is none. */
  readonly manifest: string;
  /** In lower case, for searching. */
  readonly searchText: string;
}

interface Grant {
  readonly roleRef?: { kind?: string; name?: string };
  readonly subjects?: Binding['subjects'];
}

interface StoredBinding extends Grant {
  readonly metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    annotations?: Record<string, string>;
  };
  readonly spec?: Grant & { clusters?: ClustersField; namespaces?: readonly string[]; expiresAt?: string };
  readonly status?: { clusters?: number; conditions?: readonly { message?: string }[] };
}

interface BindingList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly StoredBinding[];
}

/** All bindings that the user may list; those of a kind that the user may not list are left out. */
export async function listBindings(client: Client): Promise<Binding[]> {
  const kinds = Object.keys(BINDING_GROUPS) as BindingKind[];
  const [roles, ...lists] = await Promise.allSettled([
    namingRoles(client),
    ...kinds.map((kind) => readAll(client, kind)),
  ]);
  const failures = [...lists, roles].flatMap((list) => (list.status === 'rejected' ? [list.reason as unknown] : []));
  const other = failures.find((failure) => !isStatus(failure, 403));
  if (other !== undefined || lists.every(({ status }) => status === 'rejected')) throw other ?? failures[0];
  const bindings = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
  // A user who may not read roles sees where the bindings hold.
  const named = roles.status === 'fulfilled' ? roles.value : new Map<string, string[]>();
  return bindings.map((binding) => ({ ...binding, names: named.get(binding.role) }));
}

interface ClusterRole {
  readonly metadata: { readonly name: string };
  readonly rules?: readonly { readonly apiGroups?: string[]; readonly resourceNames?: string[] }[] | null;
}

/** The ClusterRoles that allow something for clusters by name only, with these names. */
async function namingRoles(client: Client): Promise<ReadonlyMap<string, string[]>> {
  const path = `/apis/${RBAC}/v1/clusterroles`;
  const pages = await readPages<{ metadata: object; items: readonly ClusterRole[] }>(client, path, {});
  const roles = pages.flatMap(({ items }) => items);
  return new Map(
    roles.flatMap(({ metadata, rules }) => {
      const names = (rules ?? []).map(({ apiGroups = [], resourceNames = [] }) =>
        apiGroups.join() === CLUSTERS ? resourceNames : [],
      );
      const isNaming = names.length > 0 && names.every(({ length }) => length > 0);
      return isNaming ? [[`ClusterRole ${metadata.name}`, [...new Set(names.flat())]]] : [];
    }),
  );
}

const collectionOf = (kind: BindingKind, namespace?: string): string =>
  collectionPath(`${BINDING_GROUPS[kind]}/${VERSIONS[BINDING_GROUPS[kind]]}`, kind, namespace);

async function readAll(client: Client, kind: BindingKind): Promise<Binding[]> {
  const pages = await readPages<BindingList>(client, collectionOf(kind), {});
  return pages.flatMap(({ items }) => items).map((item) => bindingOf(item, kind));
}

function bindingOf({ metadata, spec = {}, status = {}, ...grant }: StoredBinding, kind: BindingKind): Binding {
  const {
    roleRef = {},
    subjects = [],
    clusters = { all: true },
    namespaces = [],
    expiresAt = '',
  } = { ...grant, ...spec };
  const { name, uid = '' } = metadata;
  const namespace = metadata.namespace ?? namespaces.join(', ');
  const role = `${roleRef.kind} ${roleRef.name}`;
  const people = subjects.map((subject) => `${subject.kind} ${subject.name}`);
  return {
    ...{ kind, namespace, name, uid, role, subjects, clusters, expiresAt },
    reach: status.clusters,
    problem: (status.conditions ?? []).map(({ message = '' }) => message).join(' '),
    manifest: manifestFileOf(metadata),
    searchText: [name, namespace, role, clustersText(clusters), ...people].join('\n').toLowerCase(),
  };
}

export interface BindingReference {
  readonly kind: BindingKind;
  readonly namespace?: string;
  readonly name: string;
}

/** Of a binding, or of a reference to one. */
export const bindingKey = ({ kind, namespace = '', name }: BindingReference): string =>
  `${kind} ${kind === 'RoleBinding' ? namespace : ''}/${name}`;

/** The binding of a reference, as it is now. */
export async function readBinding(client: Client, reference: BindingReference): Promise<Binding> {
  const [{ value }, roles] = await Promise.all([
    client.request<StoredBinding>('GET', pathOf(reference)),
    namingRoles(client).catch(() => new Map<string, string[]>()),
  ]);
  const binding = bindingOf(value, reference.kind);
  return { ...binding, names: roles.get(binding.role) };
}

const pathOf = ({ kind, namespace = '', name }: BindingReference): string =>
  `${collectionOf(kind, kind === 'RoleBinding' ? namespace : '')}/${encodeURIComponent(name)}`;

/** One that another user has deleted meanwhile is deleted. */
export async function deleteBinding(client: Client, binding: Binding): Promise<void> {
  await deleteObject(client, pathOf(binding), binding.uid).catch(unless(404));
}

/** The subjects of a binding without this one. */
export const subjectsWithout = ({ subjects }: Binding, { kind, namespace = '', name }: BoundSubject): BoundSubject[] =>
  subjects.filter((each) => each.kind !== kind || each.name !== name || (each.namespace ?? '') !== namespace);

/**
 * Takes a subject out of the binding that was shown: of one whose subjects have changed since, others could get lost.
 * The resourceVersion is no test, because its status changes by itself.
 */
export async function keepSubjects(client: Client, binding: Binding, subjects: readonly BoundSubject[]): Promise<void> {
  const path = binding.kind === 'FleetRoleBinding' ? '/spec/subjects' : '/subjects';
  const patch = [
    { op: 'test', path: '/metadata/uid', value: binding.uid },
    { op: 'test', path, value: binding.subjects },
    { op: 'replace', path, value: subjects },
  ];
  await patchObject(client, pathOf(binding), patch).catch((error: unknown) => {
    if (!isStatus(error, 422)) throw error;
    throw new Error('Its subjects have changed meanwhile: cancel, and look at it again.');
  });
}

/** Where and until when a FleetRoleBinding holds. */
interface BindingScope {
  readonly clusters: ClustersField;
  /** `""` for no end. */
  readonly expiresAt: string;
}

/** Changes the scope of the binding that was shown, not of a later one of its name. */
export async function changeScope(
  client: Client,
  binding: Binding,
  { clusters, expiresAt }: BindingScope,
  options: { readonly dryRun?: 'All' } = {},
) {
  // A merge patch: the other choices of `clusters` leave the object.
  const where = { all: null, names: null, uid: null, selector: null, ...clusters };
  const spec = { clusters: where, expiresAt: expiresAt === '' ? null : expiresAt };
  return patchObject(client, pathOf(binding), { metadata: { uid: binding.uid }, spec }, options);
}

/** Where a binding grants something: where it holds, or in the clusters that its role names. */
export const scopeOfGrant = ({ clusters, names }: Binding): ClustersField =>
  clusters.all === true && names !== undefined ? { names: [...names] } : clusters;

/** What the deletion of a binding takes away, as a sentence. */
export function lossOf(binding: Binding): string {
  const { subjects, role, namespace } = binding;
  if (subjects.length === 0) return 'No one loses access: it has no subjects.';
  const names = subjects.map(subjectText);
  const verb = names.length === 1 ? 'loses' : 'lose';
  const where = placeOf(scopeOfGrant(binding));
  const scope = namespace === '' ? where : `the namespace ${namespace} of ${where}`;
  return `${names.join(' and ')} ${verb} ${role} in ${scope}, unless another binding grants the same.`;
}

/** `all clusters`, `the clusters a, b`, `clusters with env=dev`. */
function placeOf(clusters: ClustersField): string {
  if (clusters.all === true) return 'all clusters';
  if (clusters.names === undefined) return `clusters with ${clustersText(clusters)}`;
  return `the ${clusters.names.length === 1 ? 'cluster' : 'clusters'} ${clusters.names.join(', ')}`;
}

/** A panel about what happens to one binding. */
export interface BindingPanelProps {
  readonly binding: Binding;
  readonly onCancel: () => void;
  readonly onDone: () => void;
}
