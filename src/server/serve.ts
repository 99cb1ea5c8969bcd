import cluster from 'node:cluster';
import inspector from 'node:inspector';
import { AuthenticationConfigError } from '../authn/jwt/read-configuration.ts';
import { TokenFileError } from '../authn/static-token-authenticator.ts';
import { loadServeOptions, OptionsError } from '../config/load-options.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { UnsafeFile } from '../lib/secret-file.ts';
import { createLogger, type Logger } from '../observability/logger.ts';
import { StorageError } from '../storage/contract.ts';
import { SignerFailed } from '../tokens/external/signer-client.ts';
import type { Program } from './compose.ts';
import { openStore } from './open-store.ts';
import { welcome } from './welcome.ts';
import { startWorkers, WorkerFailed } from './workers/start-workers.ts';

/** Runs until it is told to stop. Exit codes: 0 stopped as asked, 1 could not start, 2 the options are wrong. */
export async function serve(flags: Record<string, unknown>, version: string): Promise<number> {
  let loaded: ReturnType<typeof loadServeOptions>;
  try {
    loaded = loadServeOptions({ flags, env: process.env, cwd: process.cwd() });
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    for (const problem of error.problems) process.stderr.write(`clusterpass: ${problem}\n`);
    return 2;
  }
  const { options, warnings } = loaded;
  const { worker } = cluster;
  const logger = createLogger({ level: options.logLevel, ...(worker && { fields: { worker: worker.id } }) });
  keepDebuggersOut(logger);
  if (worker !== undefined) {
    const { runWorker } = await import('./workers/worker-process.ts');
    return runWorker(worker, { options, version, logger, explain: (error) => explain(error, options) });
  }
  for (const warning of warnings) logger.warn({}, warning);
  // Before anything slow: a signal that arrives during the start must not be lost.
  const stopRequested = stopSignal();
  try {
    let serving = false;
    void stopRequested.then(() => {
      // During the start nothing has been promised to anyone, and what was written is on disk: just go.
      if (!serving) process.exit(0);
    });
    const running = await (options.workers > 1 ? startWorkers(options, logger) : serveAlone(options, version, logger));
    serving = true;
    process.stdout.write(welcome(options, running.baseUrl));
    const signal = await stopRequested;
    logger.info({ signal }, 'stopping');
    await running.stop();
    return 0;
  } catch (error) {
    process.stderr.write(`clusterpass: ${explain(error, options)}\n`);
    return 1;
  }
}

/**
 * A debugger reads everything in memory, signing keys included, and Node opens one to every user of the machine when it
 * gets SIGUSR1. One that was asked for in the options of Node is the operator's choice, and said.
 */
function keepDebuggersOut(logger: Logger): void {
  process.on('SIGUSR1', () => logger.warn({ signal: 'SIGUSR1' }, 'a debugger was asked for, and is not opened'));
  const address = inspector.url();
  if (address !== undefined) {
    const where = new URL(address).host;
    logger.warn({ where }, 'a debugger is open: whoever reaches it can read the signing keys; start without --inspect');
  }
}

/** Loaded only where it is used: a process that only looks after others needs none of what they serve with. */
async function serveAlone(options: ServeOptions, version: string, logger: Logger): Promise<Program> {
  const { compose } = await import('./compose.ts');
  return compose(options, version, logger, () => openStore(options.store, logger));
}

/** Resolves at the first signal to stop; the second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve(name);
      });
    }
  });
}

/** Errors whose message is all that an operator needs. */
const SAY_ALL = [StorageError, UnsafeFile, TokenFileError, AuthenticationConfigError, SignerFailed, WorkerFailed];

/** One sentence for what an operator can mend; the whole story for what is our fault. */
function explain(error: unknown, { listen }: ServeOptions): string {
  if (SAY_ALL.some((type) => error instanceof type)) return (error as Error).message;
  const { code, syscall, path, message, stack } = error as NodeJS.ErrnoException;
  const address = `${listen.host}:${listen.port}`;
  if (code === 'EADDRINUSE') return `${address} is in use by another program: stop it, or choose another --listen`;
  if (syscall === 'listen') return `cannot listen on ${address}: ${message}`;
  // A file or folder that was given as an option: the system's message names it.
  if (code !== undefined && path !== undefined) return message;
  return stack ?? String(error);
}
