import type { Cluster } from '../../client/types.ts';
import { pause } from '../../lib/backoff.ts';
import { namesAt } from '../cluster-references.ts';
import { CliError, type Context, type Invocation } from '../command.ts';
import { askAll, type NamedServer, reportFailure } from '../connection/all-servers.ts';
import { describeError } from '../describe-error.ts';
import { printNextStep, type ServerClusters, type WriteSettings, writeContexts } from './write-contexts.ts';

/** Changes within this time are written together. */
const DEBOUNCE_MS = 200;

/** Clusters by name, of the servers whose clusters are known. Contexts of the others are neither written nor pruned. */
type SyncedClusters = Map<NamedServer, ReadonlyMap<string, Cluster>>;

/** Writes the contexts again whenever clusters change, until the program is stopped. */
export async function watchContexts(
  context: Context,
  invocation: Invocation,
  settings: WriteSettings,
): Promise<number> {
  if (invocation.text('output') === '-') throw new CliError('--watch cannot write to stdout: set --output to a file');
  const signal = context.stopped();
  const synced: SyncedClusters = new Map();
  const write = createRepeatedWrite(context, invocation, settings);
  const writes = new DebouncedTask(() => write(partsOf(synced)));
  const parts = { context, settings, synced, signal, onChange: () => writes.request() };
  const { failed } = await askAll(context, settings.servers, (server) => followClusters(server, parts));
  await writes.settled();
  return failed.length === 0 ? 0 : 1;
}

const partsOf = (synced: SyncedClusters): ServerClusters[] =>
  [...synced].map(([server, clusters]) => ({ server, clusters: [...clusters.values()] }));

/** Only writes with a change are reported after the first one. The first context is tested, and named as next step. */
function createRepeatedWrite(
  context: Context,
  invocation: Invocation,
  settings: WriteSettings,
): (parts: readonly ServerClusters[]) => Promise<void> {
  let hasWritten = false;
  let hasPrintedNextStep = false;
  const write = async (parts: readonly ServerClusters[]): Promise<void> => {
    const options = {
      testsTokens: !hasPrintedNextStep,
      reportsOnlyChanges: hasWritten,
      // A server may be down for a while: the contexts of the others are written.
      onPruneFailure: (server: NamedServer, error: unknown) => reportFailure(context, server, error),
    };
    const result = await writeContexts(context, invocation, settings, parts, options);
    hasWritten = true;
    if (hasPrintedNextStep || result.written.length === 0) return;
    hasPrintedNextStep = true;
    printNextStep(context, invocation, result);
  };
  return (parts) =>
    write(parts).catch((error: unknown) => {
      const text = describeError(error);
      if (text === undefined) throw error;
      context.err.write(`${text}\n`);
    });
}

/** Runs its task a short time after a request. Requests before it starts are one run, later ones another. */
class DebouncedTask {
  readonly #task: () => Promise<void>;
  #isRequested = false;
  #running: Promise<void> | undefined;

  constructor(task: () => Promise<void>) {
    this.#task = task;
  }

  request(): void {
    this.#isRequested = true;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (this.#isRequested) {
        await pause(DEBOUNCE_MS);
        this.#isRequested = false;
        await this.#task();
      }
    } finally {
      this.#running = undefined;
    }
  }

  /** Resolves when every requested run has ended. */
  async settled(): Promise<void> {
    await this.#running;
  }
}

interface FollowParts {
  readonly context: Context;
  readonly settings: WriteSettings;
  readonly synced: SyncedClusters;
  readonly signal: AbortSignal;
  readonly onChange: () => void;
}

/**
 * Reports the first failure of an outage, and its end. A watch that only breaks off, because the server restarts or the
 * token has expired, is opened again without a message.
 */
class OutageReport {
  readonly #context: Context;
  readonly #server: NamedServer;
  #isConnected = false;
  #isReported = false;

  constructor(context: Context, server: NamedServer) {
    this.#context = context;
    this.#server = server;
  }

  add(error: unknown): void {
    const hadConnection = this.#isConnected;
    this.#isConnected = false;
    if (hadConnection || this.#isReported || error === undefined) return;
    this.#isReported = true;
    reportFailure(this.#context, this.#server, error);
  }

  end(): void {
    this.#isConnected = true;
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#context.err.write(`server ${this.#server.name}: connected again\n`);
  }
}

/** Follows the selected clusters of a server until `signal` is aborted. */
async function followClusters(
  server: NamedServer,
  { context, settings, synced, signal, onChange }: FollowParts,
): Promise<void> {
  const { references, labelSelector } = settings;
  const clusters = new Map<string, Cluster>();
  const names = namesAt(server, references);
  const selection = labelSelector === undefined ? {} : { labelSelector };
  const outage = new OutageReport(context, server);
  const onSynced = (): void => {
    synced.set(server, clusters);
    outage.end();
    onChange();
  };
  // Before the first synchronization, another program may have answered.
  const onConnected = (): void => {
    if (synced.has(server)) outage.end();
  };
  const onInterruption = (error: unknown): void => outage.add(error);
  const events = server.client.watchClusters({ ...selection, signal, onSynced, onConnected, onInterruption });
  for await (const { type, cluster } of events) {
    const { name } = cluster.metadata;
    if (references.length > 0 && !names.includes(name)) continue;
    if (type === 'DELETED') clusters.delete(name);
    else clusters.set(name, cluster);
    if (synced.has(server)) onChange();
  }
}
