import type { Client } from './create-client.ts';

/** What a caller may ask the server about itself. */

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

export interface AccessAnswer {
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

export interface RulesAnswer {
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

/** The fleet's own paths, or those below a cluster. */
export const pathPrefix = ({ productName }: Client, cluster: string | undefined): string =>
  cluster === undefined || cluster === '' ? '' : `/${productName}/${encodeURIComponent(cluster)}`;

async function review<T>(
  client: Client,
  cluster: string | undefined,
  group: string,
  kind: string,
  spec: object,
): Promise<T> {
  const path = `${pathPrefix(client, cluster)}/apis/${group}/v1/${kind.toLowerCase()}s`;
  const body = { apiVersion: `${group}/v1`, kind, ...spec };
  return (await client.request<T>('POST', path, { body })).value;
}

export const reviewSelf = (client: Client, cluster?: string): Promise<{ status?: { userInfo?: UserInfo } }> =>
  review(client, cluster, 'authentication.k8s.io', 'SelfSubjectReview', {});

export async function reviewAccess(
  client: Client,
  cluster: string | undefined,
  spec: { resourceAttributes: ResourceAttributes } | { nonResourceAttributes: { path: string; verb: string } },
): Promise<AccessAnswer> {
  const kind = 'SelfSubjectAccessReview';
  const answer = await review<{ status?: AccessAnswer }>(client, cluster, 'authorization.k8s.io', kind, { spec });
  return answer.status ?? {};
}

export async function reviewRules(
  client: Client,
  cluster: string | undefined,
  namespace: string,
): Promise<RulesAnswer> {
  const answer = await review<{ status?: RulesAnswer }>(
    client,
    cluster,
    'authorization.k8s.io',
    'SelfSubjectRulesReview',
    { spec: { namespace } },
  );
  return answer.status ?? {};
}
