import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import { endpointsField } from '../../api/kinds/cluster-spec.ts';
import { statusUpdate } from '../../objects/keyed-writer.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Leadership, leaderGuards } from '../../storage/contract.ts';
import type { Reflector } from '../../storage/reflector.ts';
import { describeCluster } from '../upstream/upstream-contract.ts';
import { openProbeWorker, type ProbeWorkerOptions, type ProbeWorkerSettings } from './probe-worker-client.ts';
import { createProber, type ProberClock } from './prober.ts';

export interface ProberParts {
  /** 0 disables the prober. */
  readonly intervalMs: number;
  readonly productName: string;
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly reflector: Reflector<StoredObject>;
  /** The maximum of client connections. */
  readonly maxClients: number;
  readonly worker: {
    readonly entry: ProbeWorkerOptions['entry'];
    readonly settings: Omit<ProbeWorkerSettings, 'keepAliveConnections'>;
  };
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** After a key was revoked, API servers that verify its tokens have to read the key set again. */
  readonly keyRefresh: {
    /** See ProberOptions. */
    readonly times: () => readonly number[];
    /** A token that no key verifies; undefined for a cluster that issues its own tokens. */
    readonly tokenFor: (cluster: ApiObject) => string | undefined;
  };
  readonly logger: Logger;
}

const systemClock: ProberClock = {
  now: () => performance.now(),
  wall: Date.now,
  after: (ms, task) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};

/** Failed writes are logged at most this often: when the store is down, all of them fail. */
const REPORT_EVERY_MS = 60_000;

/** Starts to probe the clusters of the store. */
export function openProber(parts: ProberParts): { stop(): Promise<void> } {
  const { intervalMs, productName, catalog, reader, writer, reflector, leadership, logger } = parts;
  if (intervalMs === 0) return { stop: async () => {} };
  const { entry, settings } = parts.worker;
  const limits = { openFiles: readOpenFileLimit(), memory: memoryLimit() };
  const worker = openProbeWorker({
    entry,
    settings: {
      ...settings,
      keepAliveConnections: keepAliveConnections({ clients: parts.maxClients, intervalMs, ...limits }),
    },
    now: systemClock.now,
  });
  let reportedAt = Number.NEGATIVE_INFINITY;
  const prober = createProber({
    intervalMs,
    endpointsField: endpointsField(productName),
    clusters: reader.cache(catalog.clusters),
    probe: (cluster, signal, refreshKeys) =>
      worker.probe(
        describeCluster(cluster, productName),
        signal,
        refreshKeys ? parts.keyRefresh.tokenFor(cluster) : undefined,
      ),
    refreshTimes: parts.keyRefresh.times,
    // A former leader that slept must not overwrite the status that its successor wrote.
    update: statusUpdate(writer, catalog.clusters, () => leaderGuards(leadership)),
    leads: () => leadership.leads(),
    clock: systemClock,
    random: Math.random,
    report: (problem) => {
      if (systemClock.now() - reportedAt < REPORT_EVERY_MS) return;
      reportedAt = systemClock.now();
      logger.warn({ err: problem }, 'the status of a cluster could not be written; the next probe tries again');
    },
    reveal: (cluster, reason, message) =>
      logger.info({ cluster, reason, problem: message }, 'probes of a cluster fail that was never ready'),
  });
  reflector.listen(prober);
  prober.start();
  return {
    stop: async () => {
      await prober.stop();
      await worker.close();
    },
  };
}

interface KeepAliveOptions {
  readonly intervalMs: number;
  /** The maximum of client connections, which take precedence. */
  readonly clients: number;
  /** The limit of open files; undefined when it is unknown. */
  readonly openFiles: number | undefined;
  /** The memory limit of the process in bytes. */
  readonly memory: number;
}

/**
 * Load balancers and NAT forget a connection that is idle for longer, and a handshake every few minutes costs little.
 */
const MAX_INTERVAL_MS = 60_000;
/** The database, the audit log, connections to etcd, probes over new connections. */
const OTHER_FILES = 512;
/** Enough for one connection to each cluster of a large fleet. */
const MAX_CONNECTIONS = 10_000;
/** For an unknown limit of open files. */
const DEFAULT_CONNECTIONS = 256;
/** Measured, mostly memory of OpenSSL. */
const CONNECTION_BYTES = 100 * 1024;
const MEMORY_SHARE = 1 / 4;

/** How many connections to clusters may stay open between two probes. */
export function keepAliveConnections(options: KeepAliveOptions): number {
  const { intervalMs, clients, openFiles, memory } = options;
  if (intervalMs > MAX_INTERVAL_MS) return 0;
  const byFiles = openFiles === undefined ? DEFAULT_CONNECTIONS : openFiles - clients - OTHER_FILES;
  const byMemory = Math.floor((memory * MEMORY_SHARE) / CONNECTION_BYTES);
  return Math.max(Math.min(MAX_CONNECTIONS, byFiles, byMemory), 0);
}

/** The soft limit of this process (proc(5)). Node raises it to the hard limit when it starts. */
export function readOpenFileLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The memory of the machine, or the limit of its container. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
