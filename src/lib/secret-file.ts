import { randomBytes } from 'node:crypto';
import { constants, promises as fs, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './file-problem.ts';

/**
 * Files that hold a secret: keys, generated tokens. A process that can read one can forge what it protects, so a file
 * that other users may read is refused at start rather than used with a warning.
 */

/** The file's mode, owner or type is unsafe. The message is for the operator and never quotes the content. */
export class UnsafeFile extends Error {
  override readonly name = 'UnsafeFile';
}

/** The file exists, and this process may not open it. */
export class UnreadableFile extends UnsafeFile {}

/** Enough for a key or a token. */
const MAX_BYTES = 64 * 1024;

const octal = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');

/** Creates the directory (0700) if it is missing; rejects one in which other users could replace files. */
export async function ensurePrivateDirectory(dir: string): Promise<void> {
  await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  const found = await fs.stat(dir);
  if ((found.mode & 0o022) !== 0) {
    throw new UnsafeFile(
      `The directory ${dir} holds keys and can be written by its group or by others (mode ${octal(found.mode)}). Run: chmod 700 ${dir}`,
    );
  }
}

/**
 * The content, or undefined when there is no such file. All checks are made on the open descriptor, so the file that
 * was checked is the file that is read. O_NONBLOCK keeps a FIFO of that name from blocking the start.
 */
export async function readSecretFile(
  path: string,
  { followLink = false, maxBytes = MAX_BYTES }: { followLink?: boolean; maxBytes?: number } = {},
): Promise<Buffer | undefined> {
  let handle: Awaited<ReturnType<typeof fs.open>>;
  try {
    const link = followLink ? 0 : constants.O_NOFOLLOW;
    handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK | link);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw new UnsafeFile(`${path} is a symbolic link; a secret must be a regular file.`);
    if (code === 'EACCES') throw new UnreadableFile(`${path} cannot be read by this process (permission denied).`);
    throw error;
  }
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new UnsafeFile(`${path} is not a regular file.`);
    if (isOpenToOthers(found, ownGroups())) {
      throw new UnsafeFile(
        `${path} holds a secret and is open to its group or to others (mode ${octal(found.mode)}). Run: chmod 600 ${path}`,
      );
    }
    const self = process.geteuid?.();
    if (self !== undefined && found.uid !== self && found.uid !== 0) {
      throw new UnsafeFile(`${path} belongs to another user (uid ${found.uid}), who could change it.`);
    }
    if (found.size > maxBytes) throw new UnsafeFile(`${path} is too large: more than ${maxBytes} bytes.`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

const ownGroups = (): readonly number[] => [...(process.getgroups?.() ?? []), process.getegid?.() ?? 0];

/**
 * One exception: a file of root's that is readable by a group of this process. Kubernetes mounts Secrets like that for
 * a process that is not root (`fsGroup`); the group is the pod's, and the process could not narrow it.
 */
export function isOpenToOthers(
  { uid, gid, mode }: { readonly uid: number; readonly gid: number; readonly mode: number },
  groups: readonly number[],
): boolean {
  const others = mode & 0o077;
  const mountedForUs = uid === 0 && gid !== 0 && others === 0o040 && groups.includes(gid);
  return others !== 0 && !mountedForUs;
}

/** For a secret that is mounted by Kubernetes, which consists of symbolic links. */
export const readMountedSecret = (path: string, maxBytes = MAX_BYTES): Promise<Buffer | undefined> =>
  readSecretFile(path, { followLink: true, maxBytes });

/** As `readMountedSecret`, for a file that must exist. */
export async function requireMountedSecret(path: string): Promise<Buffer> {
  const content = await readMountedSecret(path);
  if (content === undefined) throw new UnsafeFile(`${path} does not exist.`);
  return content;
}

/**
 * Creates the file, complete and durable or not at all, unless another process has created it first: `link` replaces no
 * file, so two processes that start together end up with the same content.
 */
async function createSecretFile(path: string, content: Uint8Array): Promise<void> {
  const temporary = await writeTemporary(path, content);
  try {
    await fs.link(temporary, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await fs.unlink(temporary);
  }
  await syncDirectory(dirname(path));
}

/** A file beside `path` that only its owner can read; durable. */
async function writeTemporary(path: string, content: Uint8Array, owner?: Pick<Stats, 'uid' | 'gid'>): Promise<string> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
  const handle = await fs.open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
    await handle.sync();
  } catch (error) {
    await fs.unlink(temporary);
    // The errors of a handle do not name the file.
    if (error instanceof Error) Object.assign(error, { path });
    throw error;
  } finally {
    await handle.close();
  }
  return temporary;
}

/**
 * Replaces the content of a secret file, which must exist, complete and durable or not at all. When root replaces the
 * file of another user, it stays that user's: the server could not read it otherwise.
 */
export async function replaceSecretFile(path: string, content: Uint8Array): Promise<void> {
  const present = await fs.lstat(path);
  if (!present.isFile()) throw new UnsafeFile(`${path} is not a regular file: replace the file that it leads to.`);
  const temporary = await writeTemporary(path, content, process.geteuid?.() === 0 ? present : undefined);
  try {
    await fs.rename(temporary, path);
  } catch (error) {
    await fs.unlink(temporary);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** A directory entry survives a power cut only after the directory itself was synced. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await fs.open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The content of the file, created with what `make` returns if there is none yet. */
export async function ensureSecretFile(path: string, make: () => Uint8Array | Promise<Uint8Array>): Promise<Buffer> {
  const present = await readSecretFile(path);
  if (present !== undefined) return present;
  await createSecretFile(path, await make());
  const made = await readSecretFile(path);
  if (made === undefined) throw new UnsafeFile(`${path} disappeared right after it was created.`);
  return made;
}
