import type { Worker } from 'node:cluster';
import type { ServeOptions } from '../../config/serve-options.ts';
import type { ServerLog } from '../../observability/logger.ts';
import type { Link } from '../../storage/proxy/proxy-protocol.ts';
import { ProxyStore } from '../../storage/proxy/proxy-store.ts';
import { compose } from '../compose.ts';
import { type OpenedStore, openStore } from '../open-store.ts';
import { ATTEMPT_MS } from '../wait-for-store.ts';
import { joinSiblings } from './worker-catch-up.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { joinWorkers } from './worker-metrics.ts';

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
  const send = (message: FromWorker): void => {
    // Without a channel to the primary node:cluster is about to end this process.
    if (worker.isConnected()) worker.send(message, () => undefined);
  };
  const stopRequested = stopRequest(worker);
  const open = async (): Promise<OpenedStore> => {
    if (options.store.engine !== 'sqlite') return openStore(options.store, logger, { openWithinMs: ATTEMPT_MS });
    const store = new ProxyStore(linkToOwner(worker, send));
    return { store, campaign: () => store.campaign() };
  };
  try {
    // The limit is for all workers together.
    const maxConnections = Math.ceil(options.maxConnections / options.workers);
    const joined = { metrics: joinWorkers(worker, send), siblings: joinSiblings(worker, send) };
    const running = await compose({ ...options, maxConnections }, version, log, open, joined);
    send({ ready: running.baseUrl });
    await stopRequested;
    logger.info({}, 'stopping');
    await running.stop();
    return 0;
  } catch (error) {
    send({ failed: explain(error) });
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
function stopRequest(worker: Worker): Promise<void> {
  for (const name of ['SIGINT', 'SIGHUP'] as const) process.on(name, () => {});
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
    worker.on('message', (message: ToWorker) => {
      if ('stop' in message) resolve();
    });
  });
}

function linkToOwner(worker: Worker, send: (message: FromWorker) => void): Link {
  return {
    send: (store) => send({ store }),
    onMessage: (listener) =>
      void worker.on('message', (message: ToWorker) => {
        if ('store' in message) listener(message.store);
      }),
    onClose: (listener) => void worker.on('disconnect', listener),
  };
}
