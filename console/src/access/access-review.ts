import {
  type Client,
  type ResourceAttributes,
  reviewAccess,
  reviewSelf,
  type SubjectAccessReviewStatus,
} from '../../../src/client/index.ts';
import { CLUSTERPASS, CLUSTERS } from '../permissions/permissions.ts';

/** The attributes of a SelfSubjectAccessReview, and the cluster that evaluates it. */
export interface AccessRequest extends ResourceAttributes {
  /** Undefined for resources of the registry. */
  readonly cluster: string | undefined;
  readonly group: string;
}

/** The binding and the role that allow a request, parsed from the reason of the server. */
export interface Grant {
  readonly bindingKind: string;
  readonly binding: string;
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleKind: string;
  readonly role: string;
  /** `Group team-shop`; `""` if the server does not name the subject. */
  readonly subject: string;
}

export type AccessResult =
  | { readonly allowed: true; readonly grant: Grant | undefined; readonly text: string }
  | { readonly allowed: false; readonly text: string };

const NAME = '"((?:[^"\\\\]|\\\\.){1,600})"';
const ALLOWED = new RegExp(`^RBAC: allowed by (\\w+) ${NAME} of (\\w+) ${NAME}(?: to (\\w+) ${NAME})?$`);

/** Undefined if the reason names no binding. */
export function parseGrant(reason: string): Grant | undefined {
  const match = ALLOWED.exec(reason);
  if (match === null) return undefined;
  const [, bindingKind = '', bindingName = '', roleKind = '', role = '', subjectKind, subject] = match;
  const [binding = '', namespace = ''] = bindingKind === 'RoleBinding' ? bindingName.split('/', 2) : [bindingName];
  return {
    bindingKind,
    binding,
    namespace,
    roleKind,
    role,
    subject: subjectKind === undefined ? '' : `${subjectKind} ${subject}`,
  };
}

const MASTERS = 'system:masters';

/** Sends a SelfSubjectAccessReview. */
export async function checkAccess(client: Client, { cluster, ...attributes }: AccessRequest): Promise<AccessResult> {
  const review = await reviewAccess(client, cluster, { resourceAttributes: attributes });
  return resultOf(review, async () => (await reviewSelf(client, cluster)).status?.userInfo?.groups ?? []);
}

async function resultOf(
  { allowed, reason = '', evaluationError = '' }: SubjectAccessReviewStatus,
  groups: () => Promise<readonly string[]>,
): Promise<AccessResult> {
  if (allowed !== true) return { allowed: false, text: [reason, evaluationError].filter(Boolean).join('; ') };
  // The server allows this group everything without RBAC, so it gives no reason.
  const text = reason !== '' ? reason : (await groups()).includes(MASTERS) ? `You are in the group ${MASTERS}.` : '';
  return { allowed: true, grant: parseGrant(reason), text };
}

const ofFleet = { cluster: undefined, group: CLUSTERS, resource: 'clusters' };

export const toViewCluster = (name: string): AccessRequest => ({ ...ofFleet, verb: 'get', name });

export const toBePerson = (name: string): AccessRequest => ({
  ...ofFleet,
  verb: 'create',
  subresource: 'userpass',
  name,
});

export const toIssuePass = (cluster: string, namespace: string, name: string): AccessRequest => ({
  cluster,
  verb: 'create',
  group: '',
  resource: 'serviceaccounts',
  subresource: 'token',
  namespace,
  name,
});

/** Whether it is one by `toIssuePass`, or by hand. */
export const isIssuingPass = ({ verb, resource, subresource }: AccessRequest): boolean =>
  verb === 'create' && resource === 'serviceaccounts' && subresource === 'token';

export const toAskForAccess = (cluster: string, namespace: string): AccessRequest => ({
  cluster,
  verb: 'create',
  group: CLUSTERPASS,
  resource: 'accessrequests',
  namespace,
});

export const toRevokePass = (name: string): AccessRequest => ({
  ...{ cluster: undefined, group: CLUSTERPASS, resource: 'issuedtokens' },
  verb: 'delete',
  name,
});
