import { type ClustersField, clustersOf } from '../../../src/api/clusters-field.ts';
import { hashedName } from '../../../src/api/name-part.ts';
import { commaList } from '../comma-list.ts';
import { collectionPath } from '../write-object.ts';

/** Where and until when a grant holds, as a form. */
export interface GrantScope {
  readonly where: 'all' | 'labels' | 'cluster';
  /** As in `kubectl -l`: `env=dev,region in (eu,us)`. */
  readonly labels: string;
  /** Names, separated by commas. */
  readonly cluster: string;
  /** Local time of an `<input type="datetime-local">`; `""` for no end. */
  readonly until: string;
}

/** The common grants, as a form. */
export interface GrantDraft extends GrantScope {
  readonly subjectKind: 'User' | 'Group';
  readonly subject: string;
  readonly action: 'view' | 'account' | 'namespace';
  readonly namespace: string;
  readonly account: string;
}

export const NEW_GRANT: GrantDraft = {
  subjectKind: 'Group',
  subject: '',
  action: 'view',
  namespace: '',
  account: '',
  where: 'labels',
  labels: '',
  cluster: '',
  until: '',
};

export interface GrantObject {
  readonly apiVersion: string;
  readonly kind: 'Role' | 'FleetRoleBinding';
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

const RBAC_VERSION = 'rbac.authorization.k8s.io/v1';

/** What the user still has to enter; `""` if nothing is missing. */
export function missingInGrant(draft: GrantDraft): string {
  const { subject, action, namespace, account } = draft;
  if (subject === '') return `Enter the name of the ${draft.subjectKind.toLowerCase()}.`;
  if (action !== 'view' && namespace === '') return 'Enter the namespace.';
  if (action === 'account' && account === '') return 'Enter the service account.';
  return missingInScope(draft);
}

export function missingInScope({ where, labels, cluster, until }: GrantScope): string {
  if (where === 'labels' && labels === '') return 'Enter the labels of the clusters, or choose all clusters.';
  if (where === 'cluster' && commaList(cluster).length === 0) return 'Enter the cluster.';
  // The field takes years with up to six digits, which a timestamp of the API cannot have.
  if (until !== '' && Number.isNaN(Date.parse(until))) return 'Enter a time before the year 10000.';
  try {
    if (where === 'labels') clustersOf(labels);
    return '';
  } catch (error) {
    return `Enter labels as in kubectl -l: ${(error as Error).message}.`;
  }
}

/** Where the grant holds. */
export function clustersOfDraft({ where, labels, cluster }: GrantScope): ClustersField {
  if (where === 'all') return { all: true };
  return where === 'cluster' ? { names: commaList(cluster) } : clustersOf(labels);
}

/** The objects of a grant, in the order in which they are created. */
export function grantObjects(draft: GrantDraft): GrantObject[] {
  const { subjectKind, subject, action, namespace, account } = draft;
  const name = nameOf(draft);
  const clusterRole = action === 'view' ? 'clusterpass:viewer' : 'clusterpass:token-creator';
  const roleRef = action === 'account' ? { kind: 'Role', name } : { kind: 'ClusterRole', name: clusterRole };
  return [
    ...(action === 'account' ? [accountRole(name, namespace, account)] : []),
    {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'FleetRoleBinding',
      metadata: { name },
      spec: {
        subjects: [{ kind: subjectKind, name: subject }],
        roleRef,
        clusters: clustersOfDraft(draft),
        ...(action === 'view' ? {} : { namespaces: [namespace] }),
        ...(draft.until === '' ? {} : { expiresAt: timestampOf(draft.until) }),
      },
    },
  ];
}

const accountRole = (name: string, namespace: string, account: string): GrantObject => ({
  apiVersion: RBAC_VERSION,
  kind: 'Role',
  metadata: { name, namespace },
  rules: [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [account], verbs: ['create'] }],
});

/** A local time as a timestamp of the API; `""` for none. */
export const timestampOf = (local: string): string =>
  local === '' ? '' : new Date(local).toISOString().replace('.000Z', 'Z');

/** `team-shop-sees-env-dev-1a2b3c4d` */
function nameOf(draft: GrantDraft): string {
  const { subjectKind, subject, action, namespace, account, where, cluster } = draft;
  const what = action === 'view' ? 'sees' : action === 'account' ? `gets ${account} passes in` : 'gets passes in';
  const clusters = where === 'all' ? 'all clusters' : where === 'cluster' ? cluster : draft.labels;
  const scope = [clustersOfDraft(draft), timestampOf(draft.until)];
  const identity = [subjectKind, subject, action, namespace, account, scope];
  return hashedName([subject, what, clusters], identity);
}

/** The path at which an object is created. */
export const collectionOf = ({ apiVersion, kind, metadata: { namespace } }: GrantObject): string =>
  collectionPath(apiVersion, kind, namespace);
