import { Counter, Gauge } from '@prometheus-io/client';
import { CLUSTER_CONDITIONS } from '../../api/clusters/conditions.ts';
import type { FleetCounts } from '../../api/overview.ts';
import type { MemoryUsage } from '../../lib/memory-account.ts';
import { firstWithin } from '../../lib/promises.ts';
import type { VolumeSpace } from '../audit/audit-file.ts';
import type { AuditLogs } from '../audit/open-audit.ts';
import type { Metrics } from './metrics.ts';

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

/** One value, or a value for each set of labels. */
type Samples = number | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

type Read = () => Samples | Promise<Samples>;

/** What is read at each scrape, and the names of its labels. */
interface Series {
  readonly labelNames: string[];
  readonly read: Read;
}

const labelled = (samples: Samples) => (typeof samples === 'number' ? ([[{}, samples]] as const) : samples);

const seriesOf = (series: Read | Series): Series =>
  typeof series === 'function' ? { labelNames: [], read: series } : series;

const labels = (labelNames: string[], read: Read): Series => ({ labelNames, read });

/** A series with one label, from a table of its values. True counts as 1. */
const by = <T = number | boolean>(
  label: string,
  table: () => Readonly<Record<string, T>> | Promise<Readonly<Record<string, T>>>,
  value: (entry: T) => number = Number,
): Series =>
  labels([label], async () => Object.entries(await table()).map(([key, entry]) => [{ [label]: key }, value(entry)]));

function readBy({ registry }: Metrics) {
  const registers = [registry];
  return {
    /** A set of labels that is not read again has no sample. `aggregator`: see `mergeMetrics`. */
    gauge(name: string, help: string, of: Read | Series, aggregator: 'sum' | 'min' | 'max' = 'max'): void {
      const { labelNames, read } = seriesOf(of);
      void new Gauge<string>({
        ...{ name, help, labelNames, registers, aggregator },
        async collect() {
          const samples = labelled(await read());
          this.reset();
          // Several samples can have the same labels.
          for (const [labels, value] of samples) this.inc(labels, value);
        },
      });
    },
    /** The value is kept elsewhere. */
    counter(name: string, help: string, of: Read | Series): void {
      const { labelNames, read } = seriesOf(of);
      const reported = new Map<string, number>();
      void new Counter<string>({
        ...{ name, help, labelNames, registers },
        async collect() {
          for (const [labels, total] of labelled(await read())) {
            const key = Object.values(labels).join(' ');
            this.inc(labels, total - (reported.get(key) ?? 0));
            reported.set(key, total);
          }
        },
      });
    },
  };
}

/** Registers the metrics that are read at each scrape. */
export function observeParts(metrics: Metrics, parts: ObservedParts): void {
  const { gauge, counter } = readBy(metrics);
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
  gauge('clusterpass_leader', 'Whether this replica is the leader.', () => Number(parts.leads()), 'sum');
  gauge(
    'clusterpass_cache_ready',
    'Whether the caches have caught up with the store.',
    () => Number(cache.ready),
    'min',
  );
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
    () => Number(!clock.isRight()),
  );
  const isFailing = () => Number(audit.counts.failing);
  gauge('clusterpass_audit_log_failing', 'Whether the audit log cannot be written.', isFailing);
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

/** `PriorityLevelUsage` of http/, which this folder must not import. */
interface PriorityLevelUsage {
  readonly executing: number;
  readonly inQueue: number;
  readonly dispatched: number;
  readonly rejected: Readonly<Record<string, number>>;
}

/** By priority level, with kube-apiserver's names. There are no flow schemas, so there is no label for them. */
export function observeFlowControl(metrics: Metrics, usage: () => Readonly<Record<string, PriorityLevelUsage>>): void {
  const { gauge, counter } = readBy(metrics);
  const byLevel = (of: (used: PriorityLevelUsage) => number): Series => by('priority_level', usage, of);
  gauge(
    'apiserver_flowcontrol_current_executing_requests',
    'Requests that have a seat, open watches among them.',
    byLevel(({ executing }) => executing),
    'sum',
  );
  const waiting = byLevel(({ inQueue }) => inQueue);
  gauge('apiserver_flowcontrol_current_inqueue_requests', 'Requests that wait for a seat.', waiting, 'sum');
  counter(
    'apiserver_flowcontrol_dispatched_requests_total',
    'Seats that requests got. A request whose body arrives late gets a second one.',
    byLevel(({ dispatched }) => dispatched),
  );
  counter(
    'apiserver_flowcontrol_rejected_requests_total',
    'Requests that were rejected with 429, by reason.',
    labels(['priority_level', 'reason'], () =>
      Object.entries(usage()).flatMap(([priority_level, { rejected }]) =>
        Object.entries(rejected).map(([reason, count]) => [{ priority_level, reason }, count] as const),
      ),
    ),
  );
}

/** The account of memory. */
export function observeMemory(metrics: Metrics, usage: () => MemoryUsage): void {
  const { gauge, counter } = readBy(metrics);
  gauge(
    'clusterpass_request_memory_bytes',
    'Memory for bodies, selectors of open watches, and what clients have not read.',
    () => usage().bytes,
    'sum',
  );
  counter(
    'clusterpass_request_memory_refused_total',
    'Requests that were rejected with 429 for their memory, by the limit.',
    by('limit', () => usage().refused),
  );
  counter(
    'clusterpass_request_memory_ended_watches_total',
    'Watches that ended with 410 because too much memory waited for their clients.',
    () => usage().givenUp,
  );
}

/** The buffer before standard error. */
export function observeLog(metrics: Metrics, dropped: () => number): void {
  const { counter } = readBy(metrics);
  counter(
    'clusterpass_log_lines_dropped_total',
    'Log lines that were dropped, because standard error was not read in time.',
    dropped,
  );
}

/** The limiter and the queue of TLS handshakes. */
export function observeHandshakes(
  metrics: Metrics,
  counts: () => { readonly rejected: number; readonly waiting: number },
): void {
  const { gauge, counter } = readBy(metrics);
  gauge(
    'clusterpass_tls_handshakes_waiting',
    'Connections whose handshake begins in one of the next ticks of the event loop: one begins in each.',
    () => counts().waiting,
    'sum',
  );
  counter(
    'clusterpass_tls_handshakes_rejected_total',
    'Connections that were closed before their handshake, because too many from their address had not authenticated.',
    () => counts().rejected,
  );
}

/** The numbers are read when metrics are asked for: they change twice with every request. */
export function observeInFlight(
  metrics: Metrics,
  current: () => Readonly<Record<'readOnly' | 'mutating', number>>,
): void {
  const { gauge } = readBy(metrics);
  const inFlight = by('request_kind', current);
  gauge('apiserver_current_inflight_requests', 'Requests in flight, watches excepted.', inFlight, 'sum');
}
