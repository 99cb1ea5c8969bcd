import type { Client } from './create-client.ts';

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
