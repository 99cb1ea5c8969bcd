import { CLUSTER_CONDITIONS } from '../../api/clusters/conditions.ts';
import type { FleetCounts } from '../../api/overview.ts';
import { firstWithin } from '../../lib/promises.ts';
import type { VolumeSpace } from '../audit/audit-file.ts';
import type { AuditLogs } from '../audit/open-audit.ts';
import type { Metrics } from './metrics.ts';
import { by, labels, type Samples, type Series } from './series.ts';

/** Sources of callers that fail, whose callers are refused. */
export interface FailingCallers {
  /** Whether a file is gone or invalid; by option. */
  files(): Readonly<Record<'token-auth-file' | 'authentication-config', boolean>>;
  /** Lines of `--token-auth-file` that are left out for a mistake. */
  lines(): number;
  /** Whether the keys of an identity provider cannot be fetched; by issuer. */
  issuers(): Readonly<Record<string, boolean>>;
}

/** What a scrape asks of the long-lived parts. */
interface ObservedParts {
  readonly audit: Pick<AuditLogs, 'counts' | 'files'>;
  readonly leads: () => boolean;
  readonly cache: { readonly ready: boolean };
  /** True when the caches are as fresh as the store was when this was asked. */
  catchUp(timeoutMs: number): Promise<boolean>;
  readonly objects: () => readonly { readonly group: string; readonly resource: string; readonly count: number }[];
  readonly fleet: () => Promise<FleetCounts>;
  readonly keys: () => readonly {
    readonly kid: string;
    readonly state: string;
    readonly algorithm: string;
    readonly created: number;
    /** When it began to sign. */
    readonly signsFrom?: number;
  }[];
  /** How long a key signs; 0: until an operator rotates it. */
  readonly keyRotationMs: number;
  readonly clock: {
    readonly skewSeconds: number;
    /** False while nothing is signed. */
    isRight(): boolean;
  };
  readonly connectors: () => Readonly<Record<string, number>>;
  readonly manifestProblems: () => number;
  readonly notifyProblems: () => number;
  readonly failingCallers: FailingCallers;
  readonly now: () => number;
}

/** A store that does not answer must not make the scrape fail that would show it. */
const MAX_LAG_MS = 2_000;

/** Registers the metrics that are read at each scrape. */
export function observeParts(metrics: Metrics, parts: ObservedParts): void {
  const { gauge, counter } = metrics;
  const { audit, cache, clock, failingCallers, keys, keyRotationMs, now } = parts;
  const objects = (): Samples => parts.objects().map(({ group, resource, count }) => [{ group, resource }, count]);
  const cacheLag = async (): Promise<number> => {
    const from = performance.now();
    const reached = await firstWithin(MAX_LAG_MS, parts.catchUp(MAX_LAG_MS)).catch(() => false);
    return (reached ? Math.min(performance.now() - from, MAX_LAG_MS) : MAX_LAG_MS) / 1000;
  };
  const volumes = (value: (space: VolumeSpace) => number): Series =>
    labels(['log'], async () =>
      Object.entries(await audit.files()).flatMap(([log, { space }]) =>
        space ? [[{ log }, value(space)] as const] : [],
      ),
    );
  const rotations = (): Samples =>
    keys()
      .filter(({ state }) => keyRotationMs > 0 && state === 'current')
      .map(({ algorithm, created, signsFrom = created }) => [{ algorithm }, (signsFrom + keyRotationMs) / 1000]);
  const ages = (): Samples =>
    keys().map(({ kid, state, algorithm, created }) => [{ kid, state, algorithm }, (now() - created) / 1000]);
  const fleet = (name: 'clusters' | 'credentials' | 'versions' | 'ends' | 'waiting') => async () =>
    (await parts.fleet())[name];
  const known = (reason: string): string =>
    Object.hasOwn(CLUSTER_CONDITIONS.Ready.reasons, reason) ? reason : 'other';
  const reasons = async (): Promise<Samples> =>
    (await parts.fleet()).reasons.map(({ status, reason, count }) => [{ ready: status, reason: known(reason) }, count]);

  // Two leaders must be seen as two.
  gauge('clusterpass_leader', 'Whether this replica is the leader.', parts.leads, 'sum');
  gauge('clusterpass_cache_ready', 'Whether the caches have caught up with the store.', () => cache.ready, 'min');
  gauge(
    'clusterpass_cache_lag_seconds',
    'How long the caches took to catch up with the store at this scrape; 2 when it was longer or the store failed.',
    cacheLag,
  );
  gauge('apiserver_resource_objects', 'Stored objects, by resource.', labels(['group', 'resource'], objects));
  gauge('clusterpass_clusters', 'Clusters, by the status of their condition Ready.', by('ready', fleet('clusters')));
  gauge(
    'clusterpass_clusters_by_reason',
    'Clusters by status and reason of their condition Ready; reasons of other writers are "other".',
    labels(['ready', 'reason'], reasons),
  );
  gauge('clusterpass_clusters_by_version', 'Clusters by minor version of Kubernetes.', by('minor', fleet('versions')));
  gauge(
    'clusterpass_ending_within_30_days',
    'CAs of clusters, certificates, signing keys, bindings and bootstrap tokens that end within 30 days or have ended.',
    by('what', fleet('ends')),
  );
  gauge(
    'clusterpass_signing_key_age_seconds',
    'The age of each signing key, by id, state and algorithm.',
    labels(['kid', 'state', 'algorithm'], ages),
  );
  gauge(
    'clusterpass_signing_key_rotation_timestamp_seconds',
    'When the rotation of the current key is due, in seconds since the epoch, by algorithm; none without rotation.',
    labels(['algorithm'], rotations),
    'min',
  );
  gauge(
    'clusterpass_clock_skew_seconds',
    'The distance of this clock from that of the store, ahead or behind.',
    () => clock.skewSeconds,
  );
  gauge(
    'clusterpass_clock_skew_exceeded',
    'Whether the distance is more than --max-clock-skew, so that no tokens are signed.',
    () => !clock.isRight(),
  );
  gauge('clusterpass_audit_log_failing', 'Whether the audit log cannot be written.', () => audit.counts.failing);
  gauge(
    'clusterpass_caller_file_failing',
    'Whether a file with callers is gone or invalid, so that they are refused, by option.',
    by('option', failingCallers.files),
  );
  gauge(
    'clusterpass_cluster_credentials',
    'Clusters that name a credential, by the status of their condition CredentialUsable.',
    by('usable', fleet('credentials')),
  );
  gauge(
    'clusterpass_connectors',
    'Connectors, by state: connected, or lost when they have not reported for a minute.',
    by('state', parts.connectors),
  );
  gauge(
    'clusterpass_waiting_approvals',
    'Access requests and passes that wait for a decision, by resource.',
    by('resource', fleet('waiting')),
  );
  const manifests = 'Manifests that are left out or could not be written.';
  gauge('clusterpass_manifest_problems', manifests, parts.manifestProblems);
  gauge(
    'clusterpass_notify_problems',
    'Receivers of notifications that have failed for five minutes, and 1 if --notify-config cannot be used.',
    parts.notifyProblems,
  );
  gauge('clusterpass_caller_lines_refused', 'Lines of --token-auth-file with a mistake.', failingCallers.lines);
  gauge(
    'clusterpass_identity_provider_failing',
    'Whether the keys of an identity provider could not be fetched when this was last tried, by issuer.',
    by('issuer', failingCallers.issuers),
  );
  const free = volumes((space) => space.free);
  gauge('clusterpass_audit_log_free_bytes', 'Free on the volume of an audit log.', free, 'min');
  const sizes = volumes(({ size }) => size);
  gauge('clusterpass_audit_log_volume_bytes', 'The size of that volume.', sizes, 'min');
  const written = by('log', audit.files, ({ bytes }) => bytes);
  counter('clusterpass_audit_log_written_bytes_total', 'Bytes written to an audit log.', written);
  counter('apiserver_audit_event_total', 'Events written to the audit log.', () => audit.counts.written);
  counter('apiserver_audit_error_total', 'Events that could not be written to the audit log.', () => audit.counts.lost);
}
