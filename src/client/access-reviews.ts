import type { Static } from 'typebox';
import type { AuditEventReview } from '../api/kinds/audit-event-review.ts';
import type {
  ClusterGrantReview,
  ReachedCluster,
  ResourceAccessReview,
  SubjectReachReview,
} from '../api/kinds/grant-reviews.ts';
import type { BodyOf, Read } from '../api/kinds/meta.ts';
import type { SelfSubjectAccessReview, selfSubjectRulesReviewType, UserInfoSchema } from '../api/kinds/reviews.ts';
import type { Client } from './create-client.ts';
import type { RequestOptions } from './transport.ts';

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

/** What the server answers, as its schemas have it. */
export type UserInfo = Read<Static<typeof UserInfoSchema>>;
export type SubjectAccessReviewStatus = Read<NonNullable<SelfSubjectAccessReview['status']>>;
export type SubjectRulesReviewStatus = Read<NonNullable<BodyOf<typeof selfSubjectRulesReviewType>['status']>>;
type ResourceAccessReviewStatus = Read<NonNullable<ResourceAccessReview['status']>>;

/** The path prefix of a cluster's API; "" for the API of the fleet. */
export const clusterPrefix = ({ productName }: Client, cluster: string | undefined): string =>
  cluster === undefined || cluster === '' ? '' : `/${productName}/${encodeURIComponent(cluster)}`;

const AUTHORIZATION = 'authorization.k8s.io/v1';
const CLUSTERPASS = 'clusterpass.dev/v1alpha1';

/** What a review is about. */
export type ReviewedAction =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes: NonResourceAttributes };

/** Sends a review, of the fleet or of a cluster. */
async function send<T extends object>(
  client: Client,
  cluster: string | undefined,
  [apiVersion, kind]: readonly [apiVersion: string, kind: string],
  spec?: object,
  options: Pick<RequestOptions, 'signal'> = {},
): Promise<{ status?: T }> {
  const path = `${clusterPrefix(client, cluster)}/apis/${apiVersion}/${kind.toLowerCase()}s`;
  const body = { apiVersion, kind, spec };
  return (await client.request<{ status?: T }>('POST', path, { body, ...options })).value;
}

/** Sends a review, and returns its status. */
const review = async <T extends object>(...sent: Parameters<typeof send>): Promise<Partial<T>> =>
  (await send<T>(...sent)).status ?? {};

/** SelfSubjectReview: who the caller is. */
export const reviewSelf = (client: Client, cluster?: string): Promise<{ status?: { userInfo?: UserInfo } }> =>
  send(client, cluster, ['authentication.k8s.io/v1', 'SelfSubjectReview']);

/** SelfSubjectAccessReview: whether the caller may do something, in a cluster or (undefined) in the fleet. */
export const reviewAccess = (
  client: Client,
  cluster: string | undefined,
  spec: ReviewedAction,
): Promise<SubjectAccessReviewStatus> => review(client, cluster, [AUTHORIZATION, 'SelfSubjectAccessReview'], spec);

/** SubjectAccessReview: whether a user with these groups may do something. */
export const reviewSubjectAccess = (
  client: Client,
  cluster: string | undefined,
  spec: { user?: string; groups?: readonly string[] } & ReviewedAction,
): Promise<SubjectAccessReviewStatus> => review(client, cluster, [AUTHORIZATION, 'SubjectAccessReview'], spec);

/** ResourceAccessReview: who may do something, or who reaches anything in a cluster. */
export const reviewResourceAccess = (
  client: Client,
  cluster: string | undefined,
  spec: ReviewedAction | { readonly reach: true },
): Promise<ResourceAccessReviewStatus> => review(client, cluster, [CLUSTERPASS, 'ResourceAccessReview'], spec);

type ReachReview = Read<Pick<SubjectReachReview, 'status'>>;

/** SubjectReachReview: what a user reaches, read page by page, and why the list is incomplete. */
export async function reviewReach(
  client: Client,
  cluster: string | undefined,
  subject: { user?: string; groups?: readonly string[] },
): Promise<{ readonly clusters: readonly ReachedCluster[]; readonly evaluationError: string }> {
  const path = `${clusterPrefix(client, cluster)}/apis/clusterpass.dev/v1alpha1/subjectreachreviews`;
  const clusters: ReachedCluster[] = [];
  const problems = new Set<string>();
  for (let from = ''; ; ) {
    const body = { spec: { ...subject, ...(from === '' ? {} : { continue: from }) } };
    const { value } = await client.request<ReachReview>('POST', path, { body });
    const { clusters: page = [], evaluationError = '', continue: next = '' } = value.status ?? {};
    // The server leaves out what is empty.
    for (const { name = '', subjects = [] } of page) clusters.push({ name, subjects });
    problems.add(evaluationError);
    from = next;
    if (from === '') return { clusters, evaluationError: [...problems].filter(Boolean).join('; ') };
  }
}

/** SelfSubjectRulesReview: all that the caller may do in a namespace. */
export const reviewRules = (
  client: Client,
  cluster: string | undefined,
  namespace: string,
): Promise<SubjectRulesReviewStatus> =>
  review(client, cluster, [AUTHORIZATION, 'SelfSubjectRulesReview'], { namespace });

export type ClusterGrantReviewStatus = Read<NonNullable<ClusterGrantReview['status']>>;
export type AuditEventReviewStatus = Read<NonNullable<AuditEventReview['status']>>;

/** ClusterGrantReview: the bindings that hold in a cluster, and what other labels would change. */
export const reviewClusterGrants = (
  client: Client,
  cluster: string,
  labels?: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<ClusterGrantReviewStatus> =>
  review(client, cluster, [CLUSTERPASS, 'ClusterGrantReview'], labels === undefined ? {} : { labels }, { signal });

/** AuditEventReview: the last events, of the fleet or of one cluster. */
export const reviewAuditEvents = (
  client: Client,
  cluster: string | undefined,
  spec: NonNullable<AuditEventReview['spec']>,
  signal?: AbortSignal,
): Promise<AuditEventReviewStatus> => review(client, cluster, [CLUSTERPASS, 'AuditEventReview'], spec, { signal });
