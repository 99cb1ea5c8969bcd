import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CliError } from '../command.ts';

/** Files of this program that only their owner may read: logins, cached tokens, kubeconfigs. */

export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | undefined)?.code ?? '';

const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'you are not permitted to',
  EPERM: 'you are not permitted to',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'it is a symbolic link',
};

/** Why a file could not be used, in words. */
export const fileProblem = (error: unknown): string => FILE_PROBLEMS[codeOf(error)] ?? (error as Error).message;

/** The text, or undefined when there is no such file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
}

/**
 * The same for a file with a secret in it: one that others can read, or that belongs to somebody else, is refused.
 * Checked on the open file, so that what was checked is what is read.
 */
export async function readPrivate(path: string): Promise<string | undefined> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
  try {
    const found = await handle.stat();
    const self = process.geteuid?.();
    if (!found.isFile()) throw new CliError(`${path} is not a regular file`);
    if (self !== undefined && found.uid !== self) throw new CliError(`${path} belongs to another user`);
    if (self !== undefined && (found.mode & 0o077) !== 0) {
      throw new CliError(`${path} holds secrets and can be read by others; run: chmod 600 ${path}`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** Complete or not at all, mode 0600; missing folders are made, for the owner only. */
export async function writePrivate(path: string, text: string): Promise<void> {
  // A kubeconfig may be a link into somebody's dotfiles: the file changes, the link stays.
  const target = await realpath(path).catch(() => path);
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new CliError(`cannot write ${path}: ${fileProblem(error)}`);
  }
}
