import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { ServeOptions } from '../../config/serve-options.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Link } from '../../storage/proxy/proxy-protocol.ts';
import { StoreOwner } from '../../storage/proxy/store-owner.ts';
import type { Program } from '../compose.ts';
import { openStore } from '../open-store.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';
import { WorkerMetrics } from './worker-metrics.ts';

/** A worker could not start; the message is its sentence for the operator. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
}

/** Longer than a worker gives its requests to finish. */
const STOP_MS = 35_000;
/** Between the death of a worker that never served and the next try. */
const PAUSES_MS = [100, 1_000, 5_000, 30_000];

/**
 * Starts several processes that serve one address (`--workers`). This one answers nobody: it owns the socket, and the
 * store where only one process can, and puts another in the place of a worker that dies.
 */
export async function startWorkers(options: ServeOptions, logger: Logger): Promise<Program> {
  const opened = options.store.engine === 'sqlite' ? await openStore(options.store, logger) : undefined;
  const owner = opened && new StoreOwner(opened.store);
  const metrics = new WorkerMetrics(send);
  const workers = new Set<Worker>();
  let stopping = false;
  let failures = 0;
  const timers = new Set<NodeJS.Timeout>();

  // Each accepts from the one socket. Handed out in turn instead, a connection would hang that was on its way to a worker
  // as it died; with a socket for each, those in its queue would be lost (docs/adr/0016).
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const args = [...process.argv.slice(2), '--listen', await addressOf(options.listen)];
  cluster.setupPrimary({ exec: process.argv[1] ?? '', args, serialization: 'advanced' });

  const start = (): Promise<string> => {
    const worker = cluster.fork();
    workers.add(worker);
    owner?.serve(linkTo(worker));
    metrics.add(worker);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let serves = false;
    worker.on('message', (message: FromWorker) => {
      if ('ready' in message) {
        serves = true;
        failures = 0;
        resolve(message.ready);
      } else if ('failed' in message) reject(new WorkerFailed(message.failed));
    });
    worker.on('exit', (code, signal) => {
      workers.delete(worker);
      reject(new WorkerFailed(`a worker ended with ${signal ?? code} before it served`));
      // Who has never served is started again by whoever waits for it, with a pause.
      if (serves && !stopping) {
        logger.warn({ worker: worker.id, code, signal }, 'a worker has ended, another takes its place');
        replace();
      }
    });
    return promise;
  };
  const replace = (): void => {
    start().catch((error: unknown) => {
      if (stopping) return;
      const pause = PAUSES_MS[Math.min(failures++, PAUSES_MS.length - 1)] ?? 0;
      logger.error({ err: error, pause }, 'a worker could not start, it is tried again');
      timers.add(setTimeout(replace, pause));
    });
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const timer of timers) clearTimeout(timer);
    await Promise.all([...workers].map(stopWorker));
    await opened?.store.close();
  };

  try {
    const urls = await Promise.all(Array.from({ length: options.workers }, start));
    return { baseUrl: urls[0] ?? '', stop };
  } catch (error) {
    for (const worker of workers) worker.process.kill('SIGKILL');
    await stop();
    throw error;
  }
}

/** Where the system is to choose the port, it is chosen here, once: whoever comes later has to come to the same one. */
async function addressOf({ host, port }: ServeOptions['listen']): Promise<string> {
  const name = host.includes(':') ? `[${host}]` : host;
  if (port !== 0) return `${name}:${port}`;
  const probe = createServer().listen(0, host);
  await once(probe, 'listening');
  const { port: free } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return `${name}:${free}`;
}

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return;
  const exited = once(worker, 'exit');
  send(worker, { stop: true });
  const late = setTimeout(() => worker.process.kill('SIGKILL'), STOP_MS);
  await exited;
  clearTimeout(late);
}

/** A worker that is gone hears nothing, and its end tells the rest. */
function send(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => undefined);
}

function linkTo(worker: Worker): Link {
  return {
    send: (store) => send(worker, { store }),
    onMessage: (listener) =>
      void worker.on('message', (message: FromWorker) => {
        if ('store' in message) listener(message.store);
      }),
    onClose: (listener) => void worker.on('disconnect', listener),
  };
}
