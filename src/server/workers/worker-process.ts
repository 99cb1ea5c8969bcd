import type { Worker } from 'node:cluster';
import type { ServeOptions } from '../../config/serve-options.ts';
import type { ServerLog } from '../../observability/logger.ts';
import type { JoinMetrics } from '../../observability/metrics/metrics.ts';
import type { Trace } from '../../observability/protocol-trace.ts';
import { ProxyStore } from '../../storage/proxy/proxy-store.ts';
import { compose } from '../compose.ts';
import { type OpenedStore, openStore } from '../open-store.ts';
import { ATTEMPT_MS } from '../wait-for-store.ts';
import { Siblings } from './worker-catch-up.ts';
import { type PrimaryMethods, rpcWith, type WorkerMethods } from './worker-methods.ts';

/** A worker process (`--workers`). start-workers.ts is the primary. */
export async function runWorker(
  worker: Worker,
  {
    options,
    version,
    log,
    explain,
  }: { options: ServeOptions; version: string; log: ServerLog; explain: (error: unknown) => string },
): Promise<number> {
  const { logger } = log;
  const primary = rpcWith<PrimaryMethods>(worker);
  const siblings = new Siblings(primary);
  const proxy = options.store.engine === 'sqlite' ? new ProxyStore(primary) : undefined;
  let measure: WorkerMethods['measure'] = async () => [];
  const stopRequested = stopRequest((stop) => primary.serve({ ...siblings.methods, stop, measure: () => measure() }));
  const metrics: JoinMetrics = (own) => {
    measure = own;
    return () => primary.call('scrape', undefined);
  };
  const open = async (trace: Trace | undefined): Promise<OpenedStore> =>
    proxy === undefined
      ? openStore(options.store, logger, { openWithinMs: ATTEMPT_MS, trace })
      : { store: proxy, campaign: () => proxy.campaign() };
  try {
    // The limit is for all workers together.
    const maxConnections = Math.ceil(options.maxConnections / options.workers);
    const running = await compose({ ...options, maxConnections }, version, log, open, { metrics, siblings });
    primary.tell('ready', running.baseUrl);
    await stopRequested;
    logger.info({}, 'stopping');
    await running.stop();
    return 0;
  } catch (error) {
    await primary.call('failed', explain(error)).catch(() => undefined);
    return 1;
  } finally {
    worker.disconnect();
  }
}

/**
 * A terminal and systemd signal every process of a group, so a worker may receive both a signal and the primary's
 * message: that must not count as the second signal that exits at once. SIGTERM to one worker drains that worker; the
 * primary replaces it.
 */
function stopRequest(onMessage: (stop: () => void) => void): Promise<void> {
  for (const name of ['SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
    onMessage(resolve);
  });
}
