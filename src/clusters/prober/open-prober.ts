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
import { keepAliveConnections, memoryLimit, readOpenFileLimit } from './keep-alive-connections.ts';
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
  /** `--probe-keepalive-connections`, and the maximum of client connections. */
  readonly connections: { readonly wanted: number; readonly clients: number };
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
    readonly count: () => void;
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
      keepAliveConnections: keepAliveConnections({ ...parts.connections, intervalMs, ...limits }),
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
    onRefreshed: parts.keyRefresh.count,
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
