import type { AuditEventReview } from '../api/kinds/audit-event-review.ts';
import type { ClusterGrantReview } from '../api/kinds/cluster-grant-review.ts';
import type { Read } from '../api/kinds/meta.ts';
import { CLUSTERPASS, review } from './access-reviews.ts';
import type { Client } from './create-client.ts';

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
