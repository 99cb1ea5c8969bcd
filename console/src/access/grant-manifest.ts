import { hashedName } from '../../../src/api/name-part.ts';

/** The common grants, as a form. */
export interface GrantDraft {
  readonly subjectKind: 'User' | 'Group';
  readonly subject: string;
  readonly action: 'view' | 'account' | 'namespace';
  readonly namespace: string;
  readonly account: string;
  readonly where: 'all' | 'labels' | 'cluster';
  /** `env=dev,region=eu`. */
  readonly labels: string;
  readonly cluster: string;
  /** Local time of an `<input type="datetime-local">`; `""` for no end. */
  readonly until: string;
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

export interface RbacObject {
  readonly apiVersion: string;
  readonly kind: 'Role' | 'ClusterRoleBinding' | 'RoleBinding';
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Record<string, string>;
  };
  readonly [field: string]: unknown;
}

const GROUP = 'rbac.authorization.k8s.io';

/** What the user still has to enter; `""` if nothing is missing. */
export function missingInGrant(draft: GrantDraft): string {
  const { subject, action, namespace, account, where, labels, cluster, until } = draft;
  if (subject === '') return `Enter the name of the ${draft.subjectKind.toLowerCase()}.`;
  if (action !== 'view' && namespace === '') return 'Enter the namespace.';
  if (action === 'account' && account === '') return 'Enter the service account.';
  if (where === 'labels' && labels === '') return 'Enter the labels of the clusters, or choose all clusters.';
  if (where === 'cluster' && cluster === '') return 'Enter the cluster.';
  // The field takes years with up to six digits, which a timestamp of the API cannot have.
  return until !== '' && Number.isNaN(Date.parse(until)) ? 'Enter a time before the year 10000.' : '';
}

/** The cluster selector of the binding; `""` for all clusters. */
export function selectorOf({ where, labels, cluster }: GrantDraft): string {
  if (where === 'all') return '';
  return where === 'cluster' ? `kubernetes.io/metadata.name=${cluster}` : labels.replaceAll(/\s*,\s*/g, ',').trim();
}

/** The objects of a grant, in the order in which they are created. */
export function grantObjects(draft: GrantDraft): RbacObject[] {
  const { subjectKind, subject, action, namespace, account } = draft;
  const selector = selectorOf(draft);
  const title = nameOf(draft);
  const isLocal = action !== 'view';
  const role = action === 'account' ? [accountRole(title, namespace, account)] : [];
  const annotations = {
    ...(selector === '' ? {} : { 'clusterpass.dev/clusters': selector }),
    ...(draft.until === '' ? {} : { 'clusterpass.dev/expires-at': endOf(draft) }),
  };
  return [
    ...role,
    {
      apiVersion: `${GROUP}/v1`,
      kind: isLocal ? 'RoleBinding' : 'ClusterRoleBinding',
      metadata: {
        name: title,
        ...(isLocal ? { namespace } : {}),
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      },
      subjects: [{ kind: subjectKind, apiGroup: GROUP, name: subject }],
      roleRef:
        action === 'account'
          ? { apiGroup: GROUP, kind: 'Role', name: title }
          : {
              apiGroup: GROUP,
              kind: 'ClusterRole',
              name: action === 'view' ? 'clusterpass:viewer' : 'clusterpass:token-creator',
            },
    },
  ];
}

const accountRole = (name: string, namespace: string, account: string): RbacObject => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Role',
  metadata: { name, namespace },
  rules: [{ apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: [account], verbs: ['create'] }],
});

/** The end of the grant as a timestamp of the API; `""` for no end. */
const endOf = ({ until }: GrantDraft): string =>
  until === '' ? '' : new Date(until).toISOString().replace('.000Z', 'Z');

/** `team-shop-sees-env-dev-1a2b3c4d` */
function nameOf(draft: GrantDraft): string {
  const { subjectKind, subject, action, namespace, account, where, cluster } = draft;
  const what = action === 'view' ? 'sees' : action === 'account' ? `gets ${account} passes in` : 'gets passes in';
  const clusters = where === 'all' ? 'all clusters' : where === 'cluster' ? cluster : draft.labels;
  const identity = [subjectKind, subject, action, namespace, account, selectorOf(draft), endOf(draft)];
  return hashedName([subject, what, clusters], identity);
}

/** The path at which an object is created. */
export const collectionOf = ({ kind, metadata: { namespace } }: RbacObject): string =>
  `/apis/${GROUP}/v1${namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${kind.toLowerCase()}s`;

/** Whether a cluster has all labels of a selector made of `key=value`; undefined for any other selector. */
export function isSelected(
  selector: string,
  name: string,
  labels: Readonly<Record<string, string>>,
): boolean | undefined {
  if (selector === '') return true;
  const pairs = selector.split(',').map((part) => /^\s*([^\s=!()]+)\s*==?\s*([^\s=!()]*)\s*$/.exec(part));
  if (pairs.some((pair) => pair === null)) return undefined;
  return pairs.every((pair) => {
    const [, key = '', value = ''] = pair ?? [];
    return key === 'kubernetes.io/metadata.name' ? value === name : Object.hasOwn(labels, key) && labels[key] === value;
  });
}
