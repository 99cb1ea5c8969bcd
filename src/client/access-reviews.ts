import type { GrantedSubject, ReachedCluster } from '../api/kinds/grant-reviews.ts';
import { REACH_STATUS, wrongTypeIn } from './answer-types.ts';
import type { Client } from './create-client.ts';
import { endlessListCheck } from './list-pages.ts';

export interface UserInfo {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface ResourceAttributes {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

export interface NonResourceAttributes {
  readonly path: string;
  readonly verb: string;
}

export interface SubjectAccessReviewStatus {
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

export interface SubjectRulesReviewStatus {
  readonly resourceRules?: readonly {
    readonly verbs?: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly nonResourceRules?: readonly {
    readonly verbs?: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  }[];
  readonly evaluationError?: string;
}

export interface ResourceAccessReviewStatus {
  readonly subjects?: readonly GrantedSubject[];
  readonly incomplete?: boolean;
  readonly evaluationError?: string;
}

interface SubjectReachReviewStatus {
  readonly clusters?: readonly ReachedCluster[];
  readonly continue?: string;
}

/** The path prefix of a cluster's API; "" for the API of the fleet. */
export const clusterPrefix = ({ productName }: Client, cluster: string | undefined): string =>
  cluster === undefined || cluster === '' ? '' : `/${productName}/${encodeURIComponent(cluster)}`;

async function review<T>(
  client: Client,
  cluster: string | undefined,
  group: string,
  kind: string,
  spec: object,
): Promise<T> {
  const path = `${clusterPrefix(client, cluster)}/apis/${group}/v1/${kind.toLowerCase()}s`;
  const body = { apiVersion: `${group}/v1`, kind, ...spec };
  return (await client.request<T>('POST', path, { body })).value;
}

/** SelfSubjectReview: who the caller is. */
export const reviewSelf = (client: Client, cluster?: string): Promise<{ status?: { userInfo?: UserInfo } }> =>
  review(client, cluster, 'authentication.k8s.io', 'SelfSubjectReview', {});

/** SelfSubjectAccessReview: whether the caller may do something, in a cluster or (undefined) in the fleet. */
export async function reviewAccess(
  client: Client,
  cluster: string | undefined,
  spec: { resourceAttributes: ResourceAttributes } | { nonResourceAttributes: NonResourceAttributes },
): Promise<SubjectAccessReviewStatus> {
  const { status } = await review<{ status?: SubjectAccessReviewStatus }>(
    client,
    cluster,
    'authorization.k8s.io',
    'SelfSubjectAccessReview',
    { spec },
  );
  return status ?? {};
}

/** SubjectAccessReview: whether a user with these groups may do something. */
export async function reviewSubjectAccess(
  client: Client,
  cluster: string | undefined,
  spec: { user?: string; groups?: readonly string[] } & (
    | { resourceAttributes: ResourceAttributes }
    | { nonResourceAttributes: NonResourceAttributes }
  ),
): Promise<SubjectAccessReviewStatus> {
  const { status } = await review<{ status?: SubjectAccessReviewStatus }>(
    client,
    cluster,
    'authorization.k8s.io',
    'SubjectAccessReview',
    { spec },
  );
  return status ?? {};
}

/** ResourceAccessReview: who may do something. */
export async function reviewResourceAccess(
  client: Client,
  cluster: string | undefined,
  spec: { resourceAttributes: ResourceAttributes } | { nonResourceAttributes: NonResourceAttributes },
): Promise<ResourceAccessReviewStatus> {
  const path = `${clusterPrefix(client, cluster)}/apis/clusterpass.dev/v1alpha1/resourceaccessreviews`;
  const { value } = await client.request<{ status?: ResourceAccessReviewStatus }>('POST', path, { body: { spec } });
  return value.status ?? {};
}

interface ReachReview {
  readonly status?: SubjectReachReviewStatus;
}

/** For fields that the server left out. */
const NOTHING_REACHED: ReachedCluster = { name: '', visible: false, accounts: [] };

/** SubjectReachReview: the clusters and accounts that a user reaches, read page by page. */
export async function reviewReach(
  client: Client,
  cluster: string | undefined,
  subject: { user?: string; groups?: readonly string[] },
): Promise<readonly ReachedCluster[]> {
  const path = `${clusterPrefix(client, cluster)}/apis/clusterpass.dev/v1alpha1/subjectreachreviews`;
  const clusters: ReachedCluster[] = [];
  const isEndless = endlessListCheck(path);
  const check = ({ status = {} }: ReachReview): string | undefined => {
    const wrong = wrongTypeIn(status, REACH_STATUS);
    return wrong === undefined ? isEndless(status.continue, status.clusters?.length ?? 0) : `status.${wrong}`;
  };
  for (let from = ''; ; ) {
    const body = { spec: { ...subject, ...(from === '' ? {} : { continue: from }) } };
    const { value } = await client.request<ReachReview>('POST', path, { body, check });
    for (const reached of value.status?.clusters ?? []) clusters.push({ ...NOTHING_REACHED, ...reached });
    from = value.status?.continue ?? '';
    if (from === '') return clusters;
  }
}

/** SelfSubjectRulesReview: all that the caller may do in a namespace. */
export async function reviewRules(
  client: Client,
  cluster: string | undefined,
  namespace: string,
): Promise<SubjectRulesReviewStatus> {
  const { status } = await review<{ status?: SubjectRulesReviewStatus }>(
    client,
    cluster,
    'authorization.k8s.io',
    'SelfSubjectRulesReview',
    { spec: { namespace } },
  );
  return status ?? {};
}
