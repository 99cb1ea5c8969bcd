import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { ServeOptions } from '../../config/serve-options.ts';
import { backoff, pause } from '../../lib/backoff.ts';
import { firstWithin } from '../../lib/promises.ts';
import type { Rpc } from '../../lib/worker-rpc.ts';
import type { Logger } from '../../observability/logger.ts';
import { countsOf, type MetricsReport } from '../../observability/metrics/metrics.ts';
import { type OwnerMethods, StoreOwner } from '../../storage/proxy/store-owner.ts';
import type { Program } from '../compose.ts';
import { openStore } from '../open-store.ts';
import { WorkerCatchUp } from './worker-catch-up.ts';
import { type PrimaryMethods, rpcWith, type WorkerMethods } from './worker-methods.ts';

/** A worker failed to start; the message is for the operator. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed';
}

/** Beyond --shutdown-delay; longer than the drain timeout of a worker. */
const STOP_MS = 35_000;
/** Between two starts of a worker that exits before it serves. */
const BACKOFF_MS = { first: 100, most: 30_000 };

/**
 * Starts several processes that serve one address (`--workers`). This primary process serves no requests: it owns the
 * listening socket, owns an SQLite store, and replaces a worker that exits.
 */
export async function startWorkers(options: ServeOptions, logger: Logger): Promise<Program> {
  const opened =
    options.store.engine === 'sqlite' ? await openStore(options.store, logger, { serves: true }) : undefined;
  const owner = opened && new StoreOwner(opened.store);
  const metrics = new WorkerMetrics();
  const catchUp = new WorkerCatchUp();
  const workers = new Map<Worker, Rpc<WorkerMethods>>();
  const stopping = new AbortController();
  let failures = 0;

  // Every worker accepts from the one socket. With round robin a connection that was handed to a worker hangs when that
  // worker exits; with SO_REUSEPORT the connections in its backlog are lost (docs/adr/0016).
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const args = [...process.argv.slice(2), '--listen', await addressOf(options.listen)];
  cluster.setupPrimary({ exec: process.argv[1] ?? '', args, serialization: 'advanced' });

  const start = (): Promise<string> => {
    const worker = cluster.fork();
    const rpc = rpcWith<WorkerMethods>(worker);
    workers.set(worker, rpc);
    metrics.add(rpc);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let serves = false;
    const methods: Omit<PrimaryMethods, keyof OwnerMethods> = {
      scrape: metrics.gather,
      ...catchUp.methodsFor(rpc),
      ready(baseUrl) {
        serves = true;
        failures = 0;
        resolve(baseUrl);
      },
      failed: (text) => reject(new WorkerFailed(text)),
    };
    rpc.serve({ ...owner?.methodsFor(rpc), ...methods });
    worker.on('exit', (code, signal) => {
      workers.delete(worker);
      reject(new WorkerFailed(`a worker exited with ${signal ?? code} before it served`));
      // One that never served is replaced again by `replace`, after a backoff.
      if (serves && !stopping.signal.aborted) {
        logger.warn({ worker: worker.id, code, signal }, 'a worker exited; starting another');
        void replace();
      }
    });
    return promise;
  };
  const replace = async (): Promise<void> => {
    const { signal } = stopping;
    while (!signal.aborted) {
      try {
        await start();
        return;
      } catch (error) {
        if (signal.aborted) return;
        const backoffMs = backoff(failures++, BACKOFF_MS);
        logger.error({ err: error, backoffMs }, 'a worker failed to start; trying again');
        await pause(backoffMs, { signal });
      }
    }
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    const timeoutMs = options.shutdownDelayMs + STOP_MS;
    await Promise.all(
      [...workers].map(async ([worker, rpc]) => {
        if (!(await stopWorker(worker, rpc, timeoutMs))) return;
        const text = 'a worker did not stop in time and was killed: requests in flight were lost';
        logger.error({ worker: worker.id, timeoutMs }, text);
      }),
    );
    await opened?.store.close();
  };

  try {
    const urls = await Promise.all(Array.from({ length: options.workers }, start));
    return { baseUrl: urls[0] ?? '', stop };
  } catch (error) {
    for (const worker of workers.keys()) worker.process.kill('SIGKILL');
    await stop();
    throw error;
  }
}

/** Port 0 is resolved here, once: every worker has to listen on the same port. */
async function addressOf({ host, port }: ServeOptions['listen']): Promise<string> {
  const name = host.includes(':') ? `[${host}]` : host;
  if (port !== 0) return `${name}:${port}`;
  const probe = createServer().listen(0, host);
  await once(probe, 'listening');
  const { port: free } = probe.address() as AddressInfo;
  await once(probe.close(), 'close');
  return `${name}:${free}`;
}

/** True if the worker had to be killed. */
async function stopWorker(worker: Worker, rpc: Rpc<WorkerMethods>, timeoutMs: number): Promise<boolean> {
  if (worker.isDead()) return false;
  const exited = once(worker, 'exit');
  rpc.tell('stop', undefined);
  if ((await firstWithin(timeoutMs, exited)) !== undefined) return false;
  const wasKilled = worker.process.kill('SIGKILL');
  await exited;
  return wasKilled;
}

/** Shorter than the scrape timeout of Prometheus (ten seconds). */
const RESPONSE_TIMEOUT_MS = 4_000;

/**
 * For the primary: the metrics of all workers, and the counters of those that have exited. For a worker that does not
 * respond, its last report counts.
 */
class WorkerMetrics {
  readonly #reports = new Map<Rpc<WorkerMethods>, MetricsReport>();
  #exited: Promise<MetricsReport> = Promise.resolve([]);

  add(worker: Rpc<WorkerMethods>): void {
    this.#reports.set(worker, []);
    worker.onClose(() => {
      const last = this.#reports.get(worker) ?? [];
      this.#reports.delete(worker);
      this.#exited = this.#exited.then((before) => countsOf([before, last]));
    });
  }

  readonly gather = async (): Promise<MetricsReport[]> => {
    const responded = await Promise.all([...this.#reports.keys()].map((worker) => this.#measure(worker)));
    return [...this.#reports.values(), await this.#exited, workersGauge(responded.filter(Boolean).length)];
  };

  /** Whether the worker responded. One that fails to report must not block the scrape of the others. */
  async #measure(worker: Rpc<WorkerMethods>): Promise<boolean> {
    const report = await firstWithin(
      RESPONSE_TIMEOUT_MS,
      worker.call('measure', undefined).catch(() => undefined),
    );
    if (report === undefined || !this.#reports.has(worker)) return false;
    this.#reports.set(worker, report);
    return true;
  }
}

const workersGauge = (value: number): MetricsReport => [
  {
    name: 'clusterpass_workers',
    help: 'Worker processes that responded to this scrape.',
    type: 'gauge',
    aggregator: 'sum',
    values: [{ value, labels: {} }],
  },
];
