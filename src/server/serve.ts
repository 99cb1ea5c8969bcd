import cluster from 'node:cluster';
import inspector from 'node:inspector';
import { AuthenticationConfigError } from '../authn/jwt/read-configuration.ts';
import { TokenFileError } from '../authn/static-token-authenticator.ts';
import { loadServeOptions, OptionsError } from '../config/load-options.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { UnsafeFile } from '../lib/secret-file.ts';
import { storageErrorIn } from '../objects/storage-errors.ts';
import { type Logger, openServerLog, type ServerLog } from '../observability/logger.ts';
import { SignerFailed } from '../tokens/external/signer-client.ts';
import type { Program } from './compose.ts';
import { openDemoFront } from './demo-front.ts';
import { inventoryOf } from './inventory.ts';
import { DemoGrants } from './open-manifests.ts';
import { openStore } from './open-store.ts';
import { ATTEMPT_MS } from './wait-for-store.ts';
import { welcome } from './welcome.ts';
import { startWorkers, WorkerFailed } from './workers/start-workers.ts';

/** How long the last log lines may take to be read. */
const FLUSH_MS = 1_000;

/** Runs until it gets a signal to stop. Exit codes: 0 stopped by a signal, 1 failed to start, 2 invalid options. */
export async function serve(flags: Readonly<Record<string, unknown>>, version: string): Promise<number> {
  let loaded: ReturnType<typeof loadServeOptions>;
  try {
    loaded = loadServeOptions({ flags, env: process.env, cwd: process.cwd() });
    inventoryOf(loaded.options);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    for (const problem of error.problems) process.stderr.write(`clusterpass: ${problem}\n`);
    return 2;
  }
  const { options } = loaded;
  const { worker } = cluster;
  const log = openServerLog({ level: options.logLevel, ...(worker && { fields: { worker: worker.id } }) });
  const code = await runLogged(loaded, version, log);
  // A pending write would keep the process alive for as long as standard error is not read.
  if (!(await log.output.flush(FLUSH_MS))) process.exit(code);
  return code;
}

async function runLogged(
  { options, warnings }: ReturnType<typeof loadServeOptions>,
  version: string,
  log: ServerLog,
): Promise<number> {
  const { worker } = cluster;
  const { logger } = log;
  keepDebuggersOut(logger);
  if (!isInTerminal()) {
    process.on('SIGHUP', () => logger.info({ signal: 'SIGHUP' }, 'SIGHUP ignored: files are read again without it'));
  }
  if (worker !== undefined) {
    const { runWorker } = await import('./workers/worker-process.ts');
    return runWorker(worker, { options, version, log, explain: (error) => explain(error, options) });
  }
  for (const warning of warnings) logger.warn({}, warning);
  // Registered first: a signal that arrives during the start must not be lost.
  const stopRequested = stopSignal();
  try {
    let serving = false;
    void stopRequested.then(() => {
      // During the start no request is in flight, and every write is already durable.
      if (!serving) process.exit(0);
    });
    const running = await (options.workers > 1 ? startWorkers(options, logger) : serveAlone(options, version, log));
    serving = true;
    const front = await openDemoFront(options, running.baseUrl, logger).catch(async (error: unknown) => {
      await running.stop();
      throw error;
    });
    process.stdout.write(welcome(options, running.baseUrl, front));
    const signal = await stopRequested;
    logger.info({ signal }, 'stopping');
    front?.close();
    await running.stop();
    return 0;
  } catch (error) {
    process.stderr.write(`clusterpass: ${explain(error, options)}\n`);
    return 1;
  }
}

/**
 * A debugger reads all memory, signing keys included, and Node opens one on SIGUSR1 for every user of the machine. So
 * SIGUSR1 is ignored. A debugger that was requested with --inspect is the operator's choice, and logged.
 */
function keepDebuggersOut(logger: Logger): void {
  process.on('SIGUSR1', () => logger.warn({ signal: 'SIGUSR1' }, 'SIGUSR1 ignored: the debugger stays closed'));
  const address = inspector.url();
  if (address !== undefined) {
    const where = new URL(address).host;
    logger.warn({ where }, 'a debugger is open and can read the signing keys: start without --inspect');
  }
}

/** Imported here because the primary process of several workers does not need it. */
async function serveAlone(options: ServeOptions, version: string, log: ServerLog): Promise<Program> {
  const { compose } = await import('./compose.ts');
  const openOptions = { openWithinMs: ATTEMPT_MS, serves: true };
  return compose(options, version, log, (trace) => openStore(options.store, log.logger, { ...openOptions, trace }));
}

/** A terminal that is closed sends SIGHUP. Elsewhere it is sent by programs that expect files to be read again. */
const isInTerminal = (): boolean => process.stdin.isTTY === true;

/** Resolves at the first signal to stop; the second one exits at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let requested = false;
    for (const name of ['SIGTERM', 'SIGINT', ...(isInTerminal() ? (['SIGHUP'] as const) : [])] as const) {
      process.on(name, () => {
        if (requested) process.exit(1);
        requested = true;
        resolve(name);
      });
    }
  });
}

/** Errors whose message is written for the operator. */
const OPERATOR_ERRORS = [UnsafeFile, TokenFileError, AuthenticationConfigError, SignerFailed, DemoGrants, WorkerFailed];

/** The message of an error that the operator can fix; the stack of any other. */
function explain(error: unknown, { listen, dataDir }: ServeOptions): string {
  // Also as the cause of an ApiError: the start writes objects.
  const storage = storageErrorIn(error);
  if (storage !== undefined) return storage.message;
  if (OPERATOR_ERRORS.some((type) => error instanceof type)) return (error as Error).message;
  const { code, syscall, path, message, stack } = error as NodeJS.ErrnoException;
  const address = `${listen.host}:${listen.port}`;
  if (code === 'EADDRINUSE') return `${address} is in use by another program: stop it, or choose another --listen`;
  if (syscall === 'listen') return `cannot listen on ${address}: ${message}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return `the disk of ${path ?? dataDir} is full: make room there, or choose another --data-dir`;
  }
  // A file or folder from an option.
  if (code !== undefined && path !== undefined) return `cannot use ${path}: ${fileProblem(error)}`;
  return stack ?? String(error);
}
