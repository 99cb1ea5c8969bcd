import { closeSync, constants, promises as fs, fstatSync, openSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { codeOf, fileProblem } from '../../lib/file-problem.ts';
import { utf8Text } from '../../lib/text.ts';
import { CliError, type Context } from '../command.ts';

const home = (env: Context['env']): string => env.HOME || homedir();

/** XDG Base Directory Specification: a relative path is ignored. */
function base(env: Context['env'], variable: string, fallback: string): string {
  const given = env[variable];
  return given !== undefined && isAbsolute(given) ? given : join(home(env), fallback);
}

export const configFolder = (env: Context['env']): string =>
  join(base(env, 'XDG_CONFIG_HOME', '.config'), 'clusterpass');

export const cacheFolder = (env: Context['env']): string => join(base(env, 'XDG_CACHE_HOME', '.cache'), 'clusterpass');

/** The files that kubectl reads: those of $KUBECONFIG, else ~/.kube/config. */
export function kubeconfigFiles(env: Context['env']): readonly [string, ...string[]] {
  const separator = process.platform === 'win32' ? ';' : ':';
  const [first, ...others] = (env.KUBECONFIG ?? '').split(separator).filter((path) => path !== '');
  return first === undefined ? [join(home(env), '.kube', 'config')] : [first, ...others];
}

/** The file that kubectl writes new entries to. */
export const kubeconfigFile = (env: Context['env']): string => kubeconfigFiles(env)[0];

/**
 * Files are read synchronously, because `clusterpass credential` starts with every kubectl: `fs.promises` and the
 * threads of its calls take 4 ms to start.
 */

/** Reads a file that the command line names. */
export async function readGivenFile(path: string): Promise<string> {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
}

export async function readCertificates(path: string): Promise<string> {
  const text = await readGivenFile(path);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new CliError(`${path} contains no PEM certificate`);
  return text;
}

/**
 * Reads a file in UTF-8; undefined when it does not exist. Bytes that are no text are refused: they would be lost when
 * the text is written.
 */
export async function readText(path: string): Promise<string | undefined> {
  try {
    const bytes = withOpen(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), (file) => readFileSync(file));
    const text = utf8Text(bytes);
    if (text === undefined) throw new Error('it is not text in UTF-8');
    return text;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
}

/**
 * Reads a file with secrets: logins, cached tokens. Refuses a file that other users can read or own. Checks the open
 * file, so that it cannot be replaced between the check and the read.
 */
export async function readPrivate(path: string): Promise<string | undefined> {
  let opened: number;
  try {
    opened = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
  return withOpen(opened, (file) => {
    const found = fstatSync(file);
    const self = process.geteuid?.();
    if (!found.isFile()) throw new CliError(`${path} is not a regular file`);
    if (self !== undefined && found.uid !== self) throw new CliError(`${path} belongs to another user`);
    if (self !== undefined && (found.mode & 0o077) !== 0) {
      throw new CliError(`${path} contains secrets and is readable by other users; run: chmod 600 ${path}`);
    }
    return readFileSync(file, 'utf8');
  });
}

function withOpen<T>(file: number, use: (file: number) => T): T {
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/** Writes a file atomically with mode 0600. Creates missing directories with mode 0700. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const target = await targetOf(path);
  // Imported here, because reading a file must not wait for it.
  const { randomBytes } = await import('node:crypto');
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await fs.mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await checkWritable(target);
    const handle = await fs.open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(temporary, target);
  } catch (error) {
    await fs.rm(temporary, { force: true });
    throw new CliError(`cannot write ${path}: ${fileProblem(error)}`);
  }
}

/** A kubeconfig may be a symbolic link, e.g. to dotfiles: its target is replaced, not the link. */
async function targetOf(path: string): Promise<string> {
  try {
    return await fs.realpath(path);
  } catch {
    const link = await fs.readlink(path).catch(() => undefined);
    if (link !== undefined) throw new CliError(`cannot write ${path}: it is a link to ${link}, which does not exist`);
    return path;
  }
}

/** Rejects if the file is read-only, or of another user: root must not take it from them. */
async function checkWritable(target: string): Promise<void> {
  const found = await fs.stat(target).catch(() => undefined);
  if (found === undefined) return;
  const self = process.geteuid?.();
  if (self !== undefined && found.uid !== self) throw new Error(`the file belongs to another user (uid ${found.uid})`);
  if ((found.mode & 0o200) === 0) throw new Error('the file is read-only');
}

/** Uses a new folder, mode 0700, for files with secrets. It is removed at the end, of this process too. */
export async function withPrivateFolder<T>(prefix: string, use: (folder: string) => Promise<T>): Promise<T> {
  const { tmpdir } = await import('node:os');
  const folder = await fs.mkdtemp(join(tmpdir(), prefix));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A second interrupt ends this process at once.
  process.once('exit', remove);
  try {
    return await use(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}
