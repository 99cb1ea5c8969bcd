import type { Catalog } from '../../api/catalog.ts';
import { endpointsField } from '../../api/kinds/cluster.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Logger } from '../../observability/logger.ts';
import { type Leadership, leaderGuards } from '../../storage/leadership.ts';
import type { Reflector } from '../../storage/reflector.ts';
import { describeCluster } from '../upstream/upstream-cluster.ts';
import { keptConnections, memoryLimit, readOpenFileLimit } from './kept-connections.ts';
import { openProbeThread, type ProbeThreadOptions } from './probe-thread.ts';
import { Prober, type ProberClock } from './prober.ts';
import type { ProbeThreadSettings } from './thread-protocol.ts';

export interface ProberParts {
  /** 0: nobody looks. */
  readonly intervalMs: number;
  readonly productName: string;
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly writer: ObjectWriter;
  readonly reflector: Reflector<StoredObject>;
  /** `--probe-keepalive-connections`, and how many clients may have. */
  readonly connections: { readonly wanted: number; readonly clients: number };
  readonly thread: {
    readonly entry: ProbeThreadOptions['entry'];
    readonly settings: Omit<ProbeThreadSettings, 'keptConnections'>;
  };
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
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

/** At most this often, however many clusters there are: when the store is away it is away for all. */
const REPORT_EVERY_MS = 60_000;

/** Starts to look at the clusters of the store, and to write what it finds. */
export function openProber(parts: ProberParts): { stop(): Promise<void> } {
  const { intervalMs, productName, catalog, reader, writer, reflector, leadership, logger } = parts;
  if (intervalMs === 0) return { stop: async () => {} };
  const { entry, settings } = parts.thread;
  const limits = { openFiles: readOpenFileLimit(), memory: memoryLimit() };
  const kept = keptConnections({ ...parts.connections, intervalMs, ...limits });
  const thread = openProbeThread({
    entry,
    settings: { ...settings, keptConnections: kept },
    now: systemClock.now,
  });
  let reportedAt = Number.NEGATIVE_INFINITY;
  const prober = new Prober({
    intervalMs,
    endpointsField: endpointsField(productName),
    clusters: reader.cache(catalog.clusters),
    probe: (cluster, signal) => thread.probe(describeCluster(cluster, productName), signal),
    update: async (name, uid, change) =>
      writer.update(catalog.clusters, { cluster: '', namespace: '', name }, change, {
        dryRun: false,
        part: 'status',
        preconditions: { uid },
        // One that was asleep for too long must not write over what its successor found.
        guards: leaderGuards(leadership),
      }),
    leads: () => leadership.leads(),
    clock: systemClock,
    random: Math.random,
    report: (problem) => {
      if (systemClock.now() - reportedAt < REPORT_EVERY_MS) return;
      reportedAt = systemClock.now();
      logger.warn({ err: problem }, 'what is known of a cluster could not be brought up to date; it is tried again');
    },
  });
  reflector.listen(prober);
  prober.start();
  return {
    stop: async () => {
      await prober.stop();
      await thread.close();
    },
  };
}
