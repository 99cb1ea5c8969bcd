import { constants, write } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';

export interface AuditFileOptions {
  readonly path: string;
  /** A file that would grow past this is put aside. */
  readonly maxBytes: number;
  /** How long files that were put aside are kept; 0 for ever. */
  readonly maxAgeMs: number;
  /** How many of them are kept; 0 for all. */
  readonly maxBackups: number;
  readonly now: () => number;
  /** Hears that a file could not be put aside, or an old one not be removed: lines are written all the same. */
  readonly onProblem: (error: unknown) => void;
}

/** How often it is looked whether the path still leads to the file that is open. */
const LOOK_MS = 1_000;
/** With a limit of age a file holds one day, so that lines are removed about when they should be. */
const DAY_MS = 86_400_000;
const NEWLINE = 0x0a;
/** Each write returns when it is on the disk: one call where a write and a synchronization would be two. */
const SYNCED: number | undefined = constants.O_DSYNC;
const APPEND = constants.O_CREAT | constants.O_APPEND | (SYNCED ?? 0);

/**
 * The file of the audit log: appends, makes durable, and puts full files aside. Several processes may share one, and
 * somebody else may move or replace it: whoever finds another file at the path goes on in that one. A failed append
 * leaves no half line behind, or ends it before the next. One call at a time.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  #handle: FileHandle | undefined;
  /** Where the path leads: what is put aside stays on that disk. */
  #realPath = '';
  #identity = '';
  #isRegular = false;
  #size = 0;
  #bornAt = 0;
  #lookedAt = 0;
  /** The file ends in the middle of a line. */
  #torn = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** Whole lines. They are on the disk when this resolves. */
  async append(lines: Uint8Array): Promise<void> {
    const handle = await this.#handleFor(lines.length);
    const bytes = this.#torn ? Buffer.concat([Buffer.of(NEWLINE), lines]) : lines;
    let written = 0;
    try {
      while (written < bytes.length) written += await writeFrom(handle, bytes, written);
      // Pipes and devices can not be synchronized.
      if (SYNCED === undefined && this.#isRegular) await handle.datasync();
    } catch (error) {
      await this.#undo(handle, written);
      throw error;
    }
    this.#torn = false;
    this.#size += bytes.length;
  }

  /** Opens it, so that a path that can not be used is known at the start. */
  async open(): Promise<void> {
    await this.#handleFor(0);
    await this.#prune();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #handleFor(length: number): Promise<FileHandle> {
    const { now, maxBytes, maxAgeMs } = this.#options;
    if (this.#handle !== undefined && now() - this.#lookedAt >= LOOK_MS) await this.#look();
    const handle = this.#handle ?? (await this.#open());
    if (!this.#isRegular || this.#size === 0) return handle;
    const isFull = this.#size + length > maxBytes;
    const isOld = maxAgeMs > 0 && now() - this.#bornAt >= DAY_MS;
    if (!isFull && !isOld) return handle;
    return (await this.#putAside()) ? this.#open() : handle;
  }

  async #putAside(): Promise<boolean> {
    let reserved: string | undefined;
    try {
      reserved = await this.#reserveBackup();
      await rename(this.#realPath, reserved);
    } catch (error) {
      if (reserved !== undefined) await unlink(reserved).catch(() => {});
      this.#options.onProblem(error);
      // Not again with every line.
      this.#bornAt = this.#options.now();
      return false;
    }
    await this.close();
    await this.#prune();
    return true;
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#options.now();
    const found = await stat(this.#options.path).catch(() => undefined);
    if (found === undefined || identityOf(found) !== this.#identity) return this.close();
    this.#size = found.size;
  }

  async #open(): Promise<FileHandle> {
    const { path, now } = this.#options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // Reading is needed to see how it ends; a pipe or a device may only take writing.
    const handle = await open(path, APPEND | constants.O_RDWR, 0o600).catch(() =>
      open(path, APPEND | constants.O_WRONLY, 0o600),
    );
    try {
      const facts = await handle.stat();
      this.#identity = identityOf(facts);
      this.#realPath = await realpath(path);
      this.#isRegular = facts.isFile();
      this.#size = facts.size;
      this.#bornAt = facts.size === 0 ? now() : facts.birthtimeMs || facts.mtimeMs;
      this.#lookedAt = now();
      this.#torn = this.#isRegular && facts.size > 0 && (await lastByte(handle, facts.size)) !== NEWLINE;
      // A file that was just made is lost in a power cut if its folder is not written too.
      if (this.#isRegular && facts.size === 0) await syncFolder(dirname(path));
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
    return handle;
  }

  /** What got through of a failed append is taken back, unless somebody else has written behind it. */
  async #undo(handle: FileHandle, written: number): Promise<void> {
    this.#handle = undefined;
    try {
      const { size } = await handle.stat();
      if (this.#isRegular && written > 0 && size === this.#size + written) await handle.truncate(this.#size);
    } catch {
      // Whoever opens it next looks how it ends.
    } finally {
      // After a failed fsync the kernel may call lost pages clean: only a new descriptor is to be trusted.
      await handle.close().catch(() => {});
    }
  }

  /**
   * An empty file that only we have made: processes that find the log full in the same moment would otherwise choose the
   * same name, and the second one put its file in the place of the first one's.
   */
  async #reserveBackup(): Promise<string> {
    const { dir, name, ext } = parse(this.#realPath);
    for (let at = this.#options.now(); ; at++) {
      const path = join(dir, `${name}-${stampOf(at)}${ext}`);
      try {
        await (await open(path, 'wx', 0o600)).close();
        return path;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  /** Removes what was put aside and is too old, or too much. */
  async #prune(): Promise<void> {
    const { maxAgeMs, maxBackups, now, onProblem } = this.#options;
    const { dir, name, ext } = parse(this.#realPath);
    const oldest = maxAgeMs === 0 ? '' : `${name}-${stampOf(now() - maxAgeMs)}${ext}`;
    try {
      const backups = (await readdir(dir)).filter((file) => isBackup(file, name, ext)).sort();
      const kept = new Set(maxBackups === 0 ? backups : backups.slice(-maxBackups));
      for (const file of backups) if (file < oldest || !kept.has(file)) await unlink(join(dir, file));
    } catch (error) {
      // Another process may have removed it already.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onProblem(error);
    }
  }
}

/** Sorts by time, and has no colon, which some file systems refuse. */
const stampOf = (time: number): string => new Date(time).toISOString().slice(0, -1).replaceAll(':', '-');

const STAMP = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;

const isBackup = (file: string, name: string, ext: string): boolean =>
  file.startsWith(`${name}-`) &&
  file.endsWith(ext) &&
  STAMP.test(file.slice(name.length + 1, file.length - ext.length));

const identityOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`;

/** By the callback of `fs`: of the methods of a FileHandle this one is used for every token, and it costs three times that. */
function writeFrom({ fd }: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, offset, bytes.length - offset, null, (error, written) => {
      if (error === null) resolve(written);
      else reject(error);
    });
  });
}

async function lastByte(handle: FileHandle, size: number): Promise<number | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 ? buffer[0] : undefined;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
