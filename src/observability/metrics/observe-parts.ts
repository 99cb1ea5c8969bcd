import { type CollectFunction, Counter, Gauge } from '@prometheus-io/client';
import { firstWithin } from '../../lib/first-within.ts';
import type { AuditCounts } from '../audit/audit-log.ts';
import type { Metrics } from './metrics.ts';

/** What a scrape asks of the long-lived parts. */
interface ObservedParts {
  readonly audit: () => AuditCounts;
  readonly leads: () => boolean;
  readonly cache: {
    readonly revision: number;
    readonly ready: boolean;
    /** True when the caches are as fresh as the store was when this was asked. */
    catchUp(timeoutMs: number): Promise<boolean>;
  };
  /** How many events of each kind a watch can resume over. */
  readonly cacheCapacity: number;
  readonly objects: () => readonly { readonly group: string; readonly resource: string; readonly count: number }[];
  /** The number of clusters, by the status of their condition `Ready`. */
  readonly clusters: () => Readonly<Record<string, number>>;
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
  readonly failingCallers: {
    /** Whether the callers of a file are refused, because it is gone or invalid; by option. */
    files(): Readonly<Record<string, boolean>>;
    /** Whether the keys of an identity provider cannot be fetched; by issuer. */
    issuers(): Readonly<Record<string, boolean>>;
  };
  readonly now: () => number;
}

/** A store that does not answer must not make the scrape fail that would show it. */
const MAX_LAG_MS = 2_000;

type GaugeCollect<T extends string> = CollectFunction<Gauge<T>>;

/** Registers the metrics that are read at each scrape. */
export function observeParts({ registry }: Metrics, parts: ObservedParts): void {
  const registers = [registry];
  const gauge = <const T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
    collect: GaugeCollect<T>,
  ): void => void new Gauge<T>({ name, help, labelNames: [...labelNames], registers, collect });

  gauge('clusterpass_leader', 'Whether this replica is the leader.', [], function () {
    this.set(parts.leads() ? 1 : 0);
  });
  gauge('clusterpass_cache_ready', 'Whether the caches have caught up with the store.', [], function () {
    this.set(parts.cache.ready ? 1 : 0);
  });
  gauge(
    'clusterpass_cache_lag_seconds',
    'How long the caches took to catch up with the store at this scrape; 2 when it was longer or the store failed.',
    [],
    async function () {
      const from = performance.now();
      const reached = await firstWithin(MAX_LAG_MS, parts.cache.catchUp(MAX_LAG_MS)).catch(() => false);
      this.set((reached ? Math.min(performance.now() - from, MAX_LAG_MS) : MAX_LAG_MS) / 1000);
    },
  );
  gauge(
    'apiserver_watch_cache_resource_version',
    'The revision of the cache, by resource.',
    ['group', 'resource'],
    function () {
      for (const { group, resource } of parts.objects()) this.set({ group, resource }, parts.cache.revision);
    },
  );
  gauge('watch_cache_capacity', 'How many events a watch can resume over.', ['group', 'resource'], function () {
    for (const { group, resource } of parts.objects()) this.set({ group, resource }, parts.cacheCapacity);
  });
  gauge('apiserver_resource_objects', 'Stored objects, by resource.', ['group', 'resource'], function () {
    for (const { group, resource, count } of parts.objects()) this.set({ group, resource }, count);
  });
  gauge('clusterpass_clusters', 'Clusters, by the status of their condition Ready.', ['ready'], function () {
    for (const [ready, count] of Object.entries(parts.clusters())) this.set({ ready }, count);
  });
  gauge(
    'clusterpass_signing_key_age_seconds',
    'The age of each signing key, by id, state and algorithm.',
    ['kid', 'state', 'algorithm'],
    function () {
      this.reset();
      for (const { kid, state, algorithm, created } of parts.keys()) {
        this.set({ kid, state, algorithm }, (parts.now() - created) / 1000);
      }
    },
  );
  gauge(
    'clusterpass_signing_key_rotation_timestamp_seconds',
    'When the rotation of the current key is due, in seconds since the epoch, by algorithm; none without rotation.',
    ['algorithm'],
    function () {
      this.reset();
      const current = parts.keyRotationMs === 0 ? [] : parts.keys().filter(({ state }) => state === 'current');
      for (const { algorithm, created, signsFrom = created } of current) {
        this.set({ algorithm }, (signsFrom + parts.keyRotationMs) / 1000);
      }
    },
  );
  gauge(
    'clusterpass_clock_skew_seconds',
    'The distance of this clock from that of the store, ahead or behind.',
    [],
    function () {
      this.set(parts.clock.skewSeconds);
    },
  );
  gauge(
    'clusterpass_clock_skew_exceeded',
    'Whether the distance is more than --max-clock-skew, so that no tokens are signed.',
    [],
    function () {
      this.set(parts.clock.isRight() ? 0 : 1);
    },
  );
  gauge('clusterpass_audit_log_failing', 'Whether the audit log cannot be written.', [], function () {
    this.set(parts.audit().failing ? 1 : 0);
  });
  gauge(
    'clusterpass_caller_file_failing',
    'Whether a file with callers is gone or invalid, so that they are refused, by option.',
    ['option'],
    function () {
      for (const [option, fails] of Object.entries(parts.failingCallers.files())) this.set({ option }, fails ? 1 : 0);
    },
  );
  gauge(
    'clusterpass_identity_provider_failing',
    'Whether the keys of an identity provider could not be fetched when this was last tried, by issuer.',
    ['issuer'],
    function () {
      this.reset();
      for (const [issuer, fails] of Object.entries(parts.failingCallers.issuers())) this.set({ issuer }, fails ? 1 : 0);
    },
  );
  counter(registers, 'apiserver_audit_event_total', 'Events written to the audit log.', () => parts.audit().written);
  counter(
    registers,
    'apiserver_audit_error_total',
    'Events that could not be written to the audit log.',
    () => parts.audit().lost,
  );
}

/** `PriorityLevelUsage` of http/, which this folder must not import. */
interface PriorityLevelUsage {
  readonly seats: number;
  readonly executing: number;
  readonly inQueue: number;
  readonly dispatched: number;
  readonly rejected: Readonly<Record<string, number>>;
}

/** By priority level, with kube-apiserver's names. There are no flow schemas, so there is no label for them. */
export function observeFlowControl(
  { registry }: Metrics,
  usage: () => Readonly<Record<string, PriorityLevelUsage>>,
): void {
  const registers = [registry];
  const gauge = (name: string, help: string, of: (level: PriorityLevelUsage) => number): void =>
    void new Gauge({
      name,
      help,
      labelNames: ['priority_level'],
      registers,
      collect() {
        for (const [level, used] of Object.entries(usage())) this.set({ priority_level: level }, of(used));
      },
    });
  gauge(
    'apiserver_flowcontrol_current_executing_requests',
    'Requests that have a seat, open watches among them.',
    ({ executing }) => executing,
  );
  gauge('apiserver_flowcontrol_current_inqueue_requests', 'Requests that wait for a seat.', ({ inQueue }) => inQueue);
  gauge('apiserver_flowcontrol_nominal_limit_seats', 'The concurrency limit, in seats.', ({ seats }) => seats);
  const reported = new Map<string, number>();
  const since = (key: string, total: number): number => {
    const growth = total - (reported.get(key) ?? 0);
    reported.set(key, total);
    return growth;
  };
  new Counter({
    name: 'apiserver_flowcontrol_dispatched_requests_total',
    help: 'Seats that requests got. A request whose body arrives late gets a second one.',
    labelNames: ['priority_level'],
    registers,
    collect() {
      for (const [level, { dispatched }] of Object.entries(usage())) {
        this.inc({ priority_level: level }, since(level, dispatched));
      }
    },
  });
  new Counter({
    name: 'apiserver_flowcontrol_rejected_requests_total',
    help: 'Requests that were rejected with 429, by reason.',
    labelNames: ['priority_level', 'reason'],
    registers,
    collect() {
      for (const [level, { rejected }] of Object.entries(usage())) {
        for (const [reason, count] of Object.entries(rejected)) {
          this.inc({ priority_level: level, reason }, since(`${level} ${reason}`, count));
        }
      }
    },
  });
}

/** The buffer before standard error. */
export function observeLog({ registry }: Metrics, dropped: () => number): void {
  counter(
    [registry],
    'clusterpass_log_lines_dropped_total',
    'Log lines that were dropped, because standard error was not read in time.',
    dropped,
  );
}

/** The limiter and the queue of TLS handshakes. */
export function observeHandshakes(
  { registry }: Metrics,
  counts: () => { readonly delayed: number; readonly rejected: number; readonly waiting: number },
): void {
  const registers = [registry];
  void new Gauge({
    name: 'clusterpass_tls_handshakes_waiting',
    help: 'Connections whose handshake begins in one of the next ticks of the event loop: one begins in each.',
    registers,
    collect() {
      this.set(counts().waiting);
    },
  });
  counter(
    registers,
    'clusterpass_tls_handshakes_delayed_total',
    'Connections that waited for their handshake, because too many from their address had not authenticated.',
    () => counts().delayed,
  );
  counter(
    registers,
    'clusterpass_tls_handshakes_rejected_total',
    'Connections that were closed before their handshake, because too many from their address waited.',
    () => counts().rejected,
  );
}

/** Observes one request to the store. */
export const observeStore =
  ({ storeSeconds, storeErrors }: Metrics) =>
  (operation: string, seconds: number, failed: boolean): void => {
    storeSeconds.observe({ operation }, seconds);
    if (failed) storeErrors.inc({ operation });
  };

/** A counter whose value is kept elsewhere. */
function counter(registers: Metrics['registry'][], name: string, help: string, count: () => number): void {
  let reported = 0;
  new Counter({
    name,
    help,
    registers,
    collect() {
      const total = count();
      this.inc(total - reported);
      reported = total;
    },
  });
}

/** The numbers are read when metrics are asked for: they change twice with every request. */
export function observeInFlight(
  { registry }: Metrics,
  current: () => Readonly<Record<'readOnly' | 'mutating', number>>,
): void {
  void new Gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests in flight, watches excepted.',
    labelNames: ['request_kind'],
    registers: [registry],
    collect() {
      for (const [request_kind, count] of Object.entries(current())) this.set({ request_kind }, count);
    },
  });
}
