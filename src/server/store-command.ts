import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createCatalog } from '../api/catalog.ts';
import { loadStoreOptions, OptionsError } from '../config/load-options.ts';
import type { StoreOptions } from '../config/store-options.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { UnsafeFile } from '../lib/secret-file.ts';
import { quantity } from '../lib/text.ts';
import { createLogger } from '../observability/logger.ts';
import { StorageError, type Store, type StoreReads } from '../storage/contract.ts';
import { requestBackup } from '../storage/sqlite/backup-socket.ts';
import { RING_KEY } from '../tokens/keys/ring-store.ts';
import { ArchiveError, exportStore, readArchive } from '../transfer/archive.ts';
import { checkStore } from '../transfer/check-store.ts';
import { compareServer, type ListAt } from '../transfer/compare-server.ts';
import { importStore } from '../transfer/import-store.ts';
import { type OpenOptions, openStore, seedStoreRevision } from './open-store.ts';

/** `clusterpass store`, without a server. Exit codes: 0 success, 1 failure or problems found, 2 invalid options. */
export type StoreTask = 'backup' | 'export' | 'import' | 'check';

/** How a task asks a running server: as a client of it, which this folder is not. */
interface ServerClient {
  listAt(server: string, flags: Flags): Promise<ListAt>;
  /** Undefined for an error that is not one of the connection, of the server or of the flags for it. */
  describeError(error: unknown): string | undefined;
}

/** The process that a task runs in. */
interface StoreProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly out: { write(text: string): void };
  readonly err: { write(text: string): void };
  readonly progress: Progress;
}

/** Shows on a terminal what a task waits for, until the returned function is called or the task ends. */
interface Progress {
  waitFor(what: () => string): () => void;
}

export async function runStoreCommand(
  task: StoreTask,
  flags: Readonly<Record<string, unknown>>,
  client: ServerClient,
  { env, cwd, out, err, progress }: StoreProcess,
): Promise<number> {
  const say: Say = (sentence) => err.write(`clusterpass: ${sentence}\n`);
  try {
    const { store, productName } = loadStoreOptions({ flags, env, cwd });
    return await TASKS[task](store, { ...flags, productName }, { client, say, progress, out });
  } catch (error) {
    if (error instanceof OptionsError) {
      for (const problem of error.problems) say(problem);
      return 2;
    }
    if (isFileError(error)) say(fileErrorText(error));
    else if (OPERATOR_ERRORS.some((type) => error instanceof type)) say((error as Error).message);
    else {
      const described = client.describeError(error);
      if (described === undefined) throw error;
      say(described);
    }
    return 1;
  }
}

const OPERATOR_ERRORS = [StorageError, UnsafeFile, ArchiveError];
const isFileError = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

/** In words: Node's message begins with the code of the system. */
function fileErrorText(error: NodeJS.ErrnoException): string {
  const { code, syscall, path } = error;
  if (code === 'EEXIST' && syscall === 'open') return `${path} exists already: choose another name, or remove it`;
  return path === undefined ? error.message : `cannot use ${path}: ${fileProblem(error)}`;
}

/** Prints a sentence to the standard error. */
type Say = (sentence: string) => void;

/** Failures are reported as errors; these commands log nothing else. */
const silentLogger = createLogger({ level: 'silent', write: () => {} });

/** Opening fails after ten seconds without etcd. A command that is silent for so long seems to hang. */
async function openOffline(options: StoreOptions, openOptions: OpenOptions, progress: Progress): Promise<Store> {
  const where = options.engine === 'sqlite' ? options.path : `etcd at ${options.endpoints.join(', ')}`;
  const endWait = progress.waitFor(() => where);
  try {
    return (await openStore(options, silentLogger, openOptions)).store;
  } finally {
    endWait();
  }
}

function shownReads(store: Store, progress: Progress): StoreReads {
  let read = 0;
  progress.waitFor(() => `the store: ${quantity(read, 'key')} read`);
  const list: Store['list'] = async (request) => {
    const result = await store.list(request);
    read += result.items.length;
    return result;
  };
  return { list, revision: () => store.revision() };
}

type Flags = Readonly<Record<string, unknown>>;
const text = (flags: Flags, name: string): string | undefined =>
  typeof flags[name] === 'string' ? (flags[name] as string) : undefined;

interface TaskContext {
  readonly client: ServerClient;
  readonly say: Say;
  readonly progress: Progress;
  readonly out: StoreProcess['out'];
}

const TASKS: Readonly<
  Record<StoreTask, (options: StoreOptions, flags: Flags, context: TaskContext) => Promise<number>>
> = {
  async backup(options, flags, { say, progress }) {
    if (options.engine === 'etcd') {
      throw new OptionsError([
        'store backup is for SQLite. For etcd use `etcdctl snapshot save FILE`, or `clusterpass store export`',
      ]);
    }
    const target = text(flags, 'file');
    if (target === undefined || target === '-') throw new OptionsError(['store backup needs --file FILE']);
    progress.waitFor(() => target);
    let revision = await requestBackup(options.path, target);
    if (revision === undefined) {
      // No server runs: this process opens the database and makes the backup itself.
      const store = await openOffline(options, { existing: true }, progress);
      try {
        revision = await requestBackup(options.path, target);
      } finally {
        await store.close();
      }
    }
    if (revision === undefined)
      throw new StorageError('unavailable', `no backup: ${options.path}.sock does not answer`);
    say(`${target} is a backup of ${options.path} at revision ${revision}`);
    return 0;
  },

  async export(options, flags, { say, progress }) {
    const store = await openOffline(options, { existing: true }, progress);
    try {
      // The export holds every secret: mode 0600, and an existing file is not overwritten.
      const path = text(flags, 'file') ?? '-';
      const file = path === '-' ? undefined : await open(path, 'wx', 0o600);
      const stream = file?.createWriteStream() ?? process.stdout;
      // The errors of a write do not name the file. Those of the standard output are handled by cli/context.ts.
      stream.once('error', (error: NodeJS.ErrnoException) => {
        error.path ??= path;
      });
      // On a terminal the lines themselves show the progress.
      const reads = file === undefined && process.stdout.isTTY ? store : shownReads(store, progress);
      let exported = { items: 0, revision: 0 };
      async function* lines(): AsyncGenerator<string> {
        exported = yield* exportStore(reads);
      }
      await pipeline(lines, stream, { end: file !== undefined });
      say(`exported ${quantity(exported.items, 'key')} at revision ${exported.revision}`);
      return 0;
    } finally {
      await store.close();
    }
  },

  async import(options, flags, { say, progress }) {
    const path = text(flags, 'file') ?? '-';
    const input = path === '-' ? process.stdin : createReadStream(path);
    if (path !== '-') await once(input, 'open');
    const endWait = progress.waitFor(() => `the file: ${Math.round(input.bytesRead / 2 ** 20)} MiB read`);
    const { revision: exported, items: all } = await readArchive(
      createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }),
    );
    endWait();
    // Without a ring the next start makes new keys, and replaces the objects that show them.
    const items = flags.withoutSigningKeys === true ? all.filter(({ key }) => key !== RING_KEY) : all;
    let created = 0;
    progress.waitFor(() => `the store: ${created} of ${quantity(items.length, 'key')} written`);
    const target = {
      open: () => openOffline(options, { unfinished: true }, progress),
      seedRevision: (revision: number) => seedStoreRevision(options, revision),
      onCreated: () => {
        created += 1;
      },
    };
    // The exported store may have gone on since, or the file was imported before: as in `continueBackup`.
    const revision = await importStore(target, { items, revision: exported + Date.now() });
    say(
      `imported ${quantity(items.length, 'key')}; the store is at revision ${revision}, the other was at ${exported}`,
    );
    return 0;
  },

  async check(options, flags, { client, say, progress, out }) {
    const productName = text(flags, 'productName') ?? '';
    const catalog = createCatalog({ productName });
    const server = text(flags, 'server');
    if (server !== undefined && options.engine !== 'etcd') {
      throw new OptionsError(['store check --server is for etcd: a server on SQLite must be stopped for the check']);
    }
    const store = await openOffline(options, { existing: true }, progress);
    const reads = shownReads(store, progress);
    try {
      const listAt = server === undefined ? undefined : await client.listAt(server, flags);
      const { revision, counts, problems } = await checkStore(reads, catalog);
      for (const [resource, count] of counts) out.write(`${String(count).padStart(8)}  ${resource}\n`);
      const compared =
        listAt === undefined
          ? { compared: 0, problems: [] }
          : await compareServer({ store: reads, catalog, productName }, listAt);
      const all = [...problems, ...compared.problems];
      for (const problem of all) say(problem);
      const scope = server === undefined ? '' : `, ${quantity(compared.compared, 'object')} compared with ${server}`;
      out.write(`revision ${revision}${scope}: ${quantity(all.length, 'problem')}\n`);
      return all.length === 0 ? 0 : 1;
    } finally {
      await store.close();
    }
  },
};
