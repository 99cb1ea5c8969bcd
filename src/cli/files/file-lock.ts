import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { pause } from '../../lib/backoff.ts';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { CliError, type Output } from '../command.ts';

interface LockOptions {
  /** How long to wait for the lock before failing. */
  readonly waitMs?: number;
  /** Ends the wait, too. */
  readonly signal?: AbortSignal | undefined;
  /** Called while waiting; true ends the wait without the lock. */
  readonly done?: () => Promise<boolean>;
  /** Gets one message if the wait is longer than `noticeAfterMs`. */
  readonly err: Pick<Output, 'write'>;
  readonly noticeAfterMs?: number;
}

const WAIT_MS = 10_000;
const POLL_MS = 50;
const NOTICE_AFTER_MS = 1_000;
/** An empty lock that is older was left by a process that was killed before it wrote its owner. */
const EMPTY_MS = 10_000;

/**
 * Runs a task while holding a lock between processes, also of several machines with the same home directory. The lock
 * is the file `<path>.lock`, as for kubectl, so that kubectl and this program exclude each other. Returns undefined
 * when `done` ended the wait.
 */
export async function withLock<T>(path: string, options: LockOptions, task: () => Promise<T>): Promise<T | undefined> {
  const lock = `${path}.lock`;
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new CliError(`cannot create ${dirname(lock)}: ${fileProblem(error)}`);
  });
  const owner = await ownerText(process.pid);
  const start = performance.now();
  let noticed = false;
  while (!(await acquire(lock, owner))) {
    if ((await options.done?.()) === true) return undefined;
    if (await removeStale(lock, owner)) continue;
    const waited = performance.now() - start;
    if (waited > (options.waitMs ?? WAIT_MS) || options.signal?.aborted === true) {
      throw new CliError(`${path} is locked by another process; if none is running, remove ${await lockFiles(lock)}`);
    }
    if (!noticed && waited > (options.noticeAfterMs ?? NOTICE_AFTER_MS)) {
      noticed = true;
      options.err.write(`Waiting for another process that has locked ${path}...\n`);
    }
    await pause(POLL_MS);
  }
  try {
    return await task();
  } finally {
    if ((await ownerOf(lock)) === owner) await rm(lock, { force: true });
  }
}

/**
 * What `read` finds, or what `make` makes while the lock is held. A process that waits for the lock uses what its
 * holder has made.
 */
export async function readOrMake<T extends object | string>(
  path: string,
  options: Omit<LockOptions, 'done'>,
  read: () => Promise<T | undefined>,
  make: () => Promise<T>,
): Promise<T> {
  let found: T | undefined;
  const done = async (): Promise<boolean> => {
    found = await read();
    return found !== undefined;
  };
  const made = await withLock(path, { ...options, done }, async () => (await read()) ?? make());
  // The wait ends without the lock only when it is found.
  return (made ?? found) as T;
}

/** The content of a lock. An id of a process means something only where that process runs. */
export async function ownerText(pid: number): Promise<string> {
  const { host, boot, namespace } = await thisMachine();
  return [pid, randomBytes(8).toString('hex'), host, boot, namespace].join(' ');
}

interface Machine {
  /** Its name and its id: machines that were cloned have the same name. */
  readonly host: string;
  /** Changes when the machine is restarted. */
  readonly boot: string;
  /** Of process ids: a container has its own. */
  readonly namespace: string;
}

/** Systems without `/proc` have a host name only. */
async function thisMachine(): Promise<Machine> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '-');
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '-');
  const id = await readFile('/etc/machine-id', 'utf8').catch(() => '');
  return { host: `${encodeURIComponent(hostname())}/${id.trim() || '-'}`, boot: boot.trim(), namespace };
}

/** Held while a stale lock is removed. */
const takeoverOf = (lock: string): string => `${lock}.takeover`;

/** The files that the user has to remove. The takeover file remains if a process was killed during a takeover. */
async function lockFiles(lock: string): Promise<string> {
  return (await ownerOf(takeoverOf(lock))) === undefined ? lock : `${lock} and ${takeoverOf(lock)}`;
}

async function acquire(lock: string, owner: string): Promise<boolean> {
  if (await exists(lock)) return false;
  const draft = `${lock}.${randomBytes(8).toString('hex')}`;
  try {
    await writeFile(draft, owner, { flag: 'wx', mode: 0o600 });
    try {
      // The lock has its owner from its first moment: a process that is killed here leaves none that is empty.
      await link(draft, lock);
    } catch (error) {
      if (!WITHOUT_LINKS.has(codeOf(error))) throw error;
      await writeFile(lock, owner, { flag: 'wx', mode: 0o600 });
    }
    return true;
  } catch (error) {
    // NFS may repeat a request that has succeeded.
    if (codeOf(error) === 'EEXIST') return (await ownerOf(lock)) === owner;
    throw new CliError(`cannot create ${lock}: ${fileProblem(error)}`);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The errors of file systems that have no hard links. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The content of a lock; undefined when it is gone or unreadable (kubectl creates its lock with mode 0). */
async function ownerOf(lock: string): Promise<string | undefined> {
  try {
    return await readFile(lock, 'utf8');
  } catch {
    return undefined;
  }
}

/** Removes the lock of a process that no longer runs. Returns true if the lock may be free now. */
async function removeStale(lock: string, owner: string): Promise<boolean> {
  const found = await ownerOf(lock);
  if (found === undefined || !(await isStale(lock, found))) return false;
  // Two processes may find the same stale lock. The second must not remove the lock that the first then acquires. So
  // one process at a time removes it, after reading it again.
  const takeover = takeoverOf(lock);
  if (!(await acquire(takeover, owner))) return false;
  try {
    if ((await ownerOf(lock)) === found) await rm(lock, { force: true });
  } finally {
    await rm(takeover, { force: true });
  }
  return true;
}

/** Of a process on another machine, or in another container, this one cannot know whether it runs. */
async function isStale(lock: string, found: string): Promise<boolean> {
  if (found === '') return isOldAndEmpty(lock);
  const [, pid, host, boot, namespace] = OWNER.exec(found) ?? [];
  const here = await thisMachine();
  if (pid === undefined || host !== here.host) return false;
  return boot !== here.boot || (namespace === here.namespace && !isRunning(Number(pid)));
}

const OWNER = /^(\d{1,10}) [0-9a-f]{16} (\S+) (\S+) (\S+)$/;

/** A file system without hard links has an empty lock for a moment. The locks of kubectl are empty, with mode 0. */
async function isOldAndEmpty(lock: string): Promise<boolean> {
  const { mode, mtimeMs } = await stat(lock).catch(() => ({ mode: 0, mtimeMs: 0 }));
  return (mode & 0o777) !== 0 && mtimeMs + EMPTY_MS < Date.now();
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}
