import type { AuditEventReview, AuditEventSummary } from '../api/kinds/audit-event-review.ts';
import type { ClusterGrant } from '../api/kinds/cluster-grant-review.ts';
import { CLUSTERPASS, review } from './access-reviews.ts';
import type { Client } from './create-client.ts';

export interface ClusterGrantReviewStatus {
  readonly grants?: readonly ClusterGrant[];
  readonly incomplete?: boolean;
  readonly evaluationError?: string;
}

export interface AuditEventReviewStatus {
  readonly events?: readonly AuditEventSummary[];
  readonly incomplete?: boolean;
  readonly instance?: string;
  readonly sequence?: number;
  readonly since?: string;
}

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
