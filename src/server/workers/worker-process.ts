import type { Worker } from 'node:cluster';
import type { ServeOptions } from '../../config/serve-options.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Link } from '../../storage/proxy/proxy-protocol.ts';
import { ProxyStore } from '../../storage/proxy/proxy-store.ts';
import { compose } from '../compose.ts';
import { type OpenedStore, openStore } from '../open-store.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { joinWorkers } from './worker-metrics.ts';

/** One of several processes that serve one address (`--workers`); src/server/workers/start-workers.ts is the other side. */
export async function runWorker(
  worker: Worker,
  {
    options,
    version,
    logger,
    explain,
  }: { options: ServeOptions; version: string; logger: Logger; explain: (error: unknown) => string },
): Promise<number> {
  const tell = (message: FromWorker): void => {
    // When there is nobody to hear it this process is about to end: node:cluster sees to that.
    if (worker.isConnected()) worker.send(message, () => undefined);
  };
  const stopRequested = stopRequest(worker);
  const open = async (): Promise<OpenedStore> => {
    if (options.store.engine !== 'sqlite') return openStore(options.store, logger);
    const store = new ProxyStore(linkToOwner(worker, tell));
    return { store, campaign: () => store.campaign() };
  };
  try {
    // The limit is for all of them together.
    const maxConnections = Math.ceil(options.maxConnections / options.workers);
    const join = joinWorkers(worker, tell);
    const running = await compose({ ...options, maxConnections }, version, logger, open, join);
    tell({ ready: running.baseUrl });
    await stopRequested;
    logger.info({}, 'stopping');
    await running.stop();
    return 0;
  } catch (error) {
    tell({ failed: explain(error) });
    return 1;
  } finally {
    worker.disconnect();
  }
}

/**
 * A terminal, and systemd, send their signals to every process of a group, so this one may hear twice that it has to
 * stop: that must not count as the second signal that ends everything at once. SIGTERM for a worker alone ends
 * that worker in good order, and another takes its place.
 */
function stopRequest(worker: Worker): Promise<void> {
  process.on('SIGINT', () => {});
  return new Promise((resolve) => {
    process.on('SIGTERM', () => resolve());
    worker.on('message', (message: ToWorker) => {
      if ('stop' in message) resolve();
    });
  });
}

function linkToOwner(worker: Worker, tell: (message: FromWorker) => void): Link {
  return {
    send: (store) => tell({ store }),
    onMessage: (listener) =>
      void worker.on('message', (message: ToWorker) => {
        if ('store' in message) listener(message.store);
      }),
    onClose: (listener) => void worker.on('disconnect', listener),
  };
}
