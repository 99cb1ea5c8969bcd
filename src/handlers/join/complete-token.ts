import { type ApiObject, apiVersionOf, type Kind } from '../../api/kind.ts';
import { clientLabels } from '../../api/kinds/approval-kind.ts';
import { bootstrapSpec } from '../../api/kinds/bootstrap-token.ts';
import { COUNTED_LABEL } from '../../api/kinds/issued-token.ts';
import type { ApiRequest } from '../../api/request.ts';
import { forbidden, invalid, invalidValue } from '../../api/status.ts';
import { quantity } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { Limit } from '../../objects/quota.ts';
import { createCounts } from '../stored-quota.ts';
import type { Completion } from '../write/write-parts.ts';
import type { JoinParts } from './join-cluster.ts';

const DEFAULT_LIFETIME_MS = 3_600_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;

/** The fields of a new bootstrap token that the server sets: its creator and its expiry. */
export function createTokenCompletion(
  parts: Pick<JoinParts, 'catalog' | 'reader' | 'checkJoin' | 'requireRightClock' | 'now'>,
  maxPerCaller: number,
): (request: ApiRequest, kind: Kind) => Completion | undefined {
  const { catalog, checkJoin, requireRightClock, now } = parts;
  const countsFor = createCounts(parts, catalog.bootstrapTokens);
  const limit: Limit = {
    quota: 'bootstrapTokens',
    max: maxPerCaller,
    counts: (entry) => !entry.isExpired(now()),
    what: quantity(maxPerCaller, 'bootstrap token'),
    advice: 'delete used ones',
    endOf: ({ expiresAt = Number.NaN }) => expiresAt,
  };
  return ({ caller, annotate }, kind) => {
    if (kind !== catalog.bootstrapTokens) return undefined;
    const counted = countsFor(caller);
    return {
      quota: counted.quota([limit]),
      derive: (object) => {
        // The token would outlive the permission to impersonate, with the permissions of a user who did not create it.
        if (caller.impersonator !== undefined) {
          throw forbidden(kind, object.metadata.name ?? '', 'a caller who impersonates creates no bootstrap tokens');
        }
        requireRightClock();
        const spec = bootstrapSpec(object);
        const { labels = {}, namePattern = '' } = spec;
        // Refused when it is used, too. Its creator should not learn it from the cluster.
        checkJoin(caller, sampleCluster(catalog.clusters, namePattern, labels));
        const { name: username, uid, groups } = caller.as(undefined);
        return {
          ...object,
          metadata: {
            ...object.metadata,
            labels: { ...clientLabels(object.metadata.labels), [COUNTED_LABEL]: counted.id },
          },
          spec: {
            ...spec,
            expirationTimestamp: expiryOf(kind, object, now()),
            createdBy: { username, ...(uid === '' ? {} : { uid }), groups: [...groups] },
          },
          status: {},
        };
      },
      created: (object) => {
        annotate('clusterpass.dev/bootstrap-token', object.metadata.name ?? '');
        annotate('clusterpass.dev/name-pattern', bootstrapSpec(object).namePattern ?? '');
      },
    };
  };
}

function expiryOf(kind: Kind, object: ApiObject, now: number): string {
  const { expirationTimestamp } = bootstrapSpec(object);
  if (expirationTimestamp === undefined) return toTimestamp(now + DEFAULT_LIFETIME_MS);
  const expiresAt = Date.parse(expirationTimestamp);
  if (expiresAt > now && expiresAt <= now + MAX_LIFETIME_MS) return expirationTimestamp;
  throw invalid(kind, object.metadata.name ?? '', [
    invalidValue('spec.expirationTimestamp', expirationTimestamp, 'must be in the future, and at most 24 hours away'),
  ]);
}

const sampleCluster = (clusters: Kind, pattern: string, labels: Record<string, string>): ApiObject => ({
  apiVersion: apiVersionOf(clusters),
  kind: clusters.kind,
  metadata: { name: pattern.replaceAll('*', 'x'), labels },
});
