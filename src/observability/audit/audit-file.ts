import { constants, write } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, realpath, rename, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';
import { pause } from '../../lib/backoff.ts';
import type { Clocks } from '../../lib/clock-jumps.ts';
import { codeOf } from '../../lib/file-problem.ts';
import { syncDirectory } from '../../lib/secret-file.ts';

export interface AuditFileOptions extends Clocks {
  readonly path: string;
  /** A file that would grow past this is rotated. */
  readonly maxBytes: number;
  /** How long rotated files are kept; 0 for ever. */
  readonly maxAgeMs: number;
  /** How many rotated files are kept; 0 for all. */
  readonly maxBackups: number;
  /** False while the clock may be wrong: no file is removed because of its age. */
  readonly isSteady: () => boolean;
  /** A file could not be rotated, or an old one not be removed. Lines are still written. */
  readonly onProblem: (error: unknown) => void;
}

/** Of the volume that a file is on, in bytes. */
export interface VolumeSpace {
  readonly free: number;
  readonly size: number;
}

/** A tenth of the volume, and of a large one this much: enough for days, and not so much that it is always low. */
const LOW_BYTES = 1024 * 1024 * 1024;
export const isLow = ({ free, size }: VolumeSpace): boolean => free < Math.min(size / 10, LOW_BYTES);

/** How often the path is compared with the file that is open. */
const CHECK_MS = 1_000;
/** With a limit of age a file holds one day, so that its lines are removed at about the right time. */
const DAY_MS = 86_400_000;
/** How long after a failed rotation the next one is tried: each failure is reported. */
const ROTATE_RETRY_MS = 60_000;
const NEWLINE = 0x0a;
/** A write returns when it is on the disk: one system call in place of two (write, fdatasync). */
const DSYNC: number | undefined = constants.O_DSYNC;
/**
 * `O_NONBLOCK` is for pipes: a write to a full one would otherwise hold a thread of the pool until it is read, and the
 * process could not exit before. Files ignore it.
 */
const APPEND = constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK | (DSYNC ?? 0);
/** How long a full pipe is given to be read, and how often it is tried. */
const PIPE_WAIT_MS = 2_000;
const PIPE_RETRY_MS = 10;

/**
 * The file of the audit log: appends lines, makes them durable, and rotates. Several processes may share one file, and
 * another program may move or replace it: a process that finds another file at the path continues in that one. A failed
 * append leaves no half line, or the next append ends it. Calls must not overlap.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  #handle: FileHandle | undefined;
  /** The path without symbolic links: a rotated file stays on the same disk. */
  #realPath = '';
  #identity = '';
  #isRegular = false;
  #size = 0;
  #createdAt = 0;
  /** By the monotonic clock. */
  #checkedAt = 0;
  /** When a rotation failed last, by the monotonic clock. */
  #failedAt = Number.NEGATIVE_INFINITY;
  #endsMidLine = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** Whole lines. They are on the disk when this resolves. */
  async append(lines: Uint8Array): Promise<void> {
    const handle = await this.#handleFor(lines.length);
    const bytes = this.#endsMidLine ? Buffer.concat([Buffer.of(NEWLINE), lines]) : lines;
    let written = 0;
    try {
      while (written < bytes.length) written += await writeWhenRead(handle, bytes, written);
      // Pipes and devices cannot be synchronized.
      if (DSYNC === undefined && this.#isRegular) await handle.datasync();
    } catch (error) {
      if (!this.#isRegular && written > 0) this.#endsMidLine = bytes[written - 1] !== NEWLINE;
      await this.#undo(handle, written);
      throw error;
    }
    this.#endsMidLine = false;
    this.#size += bytes.length;
  }

  /** Opens the file, so that a bad path is an error at the start. */
  async open(): Promise<void> {
    await this.#handleFor(0);
    await this.#prune();
  }

  /** Undefined for a pipe or a device, and if it cannot be asked. */
  async space(): Promise<VolumeSpace | undefined> {
    if (this.#identity !== '' && !this.#isRegular) return undefined;
    const found = await statfs(dirname(this.#options.path)).catch(() => undefined);
    return found && { free: found.bavail * found.bsize, size: found.blocks * found.bsize };
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #handleFor(length: number): Promise<FileHandle> {
    const { monotonicNow } = this.#options;
    if (this.#handle !== undefined && monotonicNow() - this.#checkedAt >= CHECK_MS) await this.#check();
    const handle = this.#handle ?? (await this.#open());
    if (!this.#isDue(length) || monotonicNow() - this.#failedAt < ROTATE_RETRY_MS) return handle;
    // Another process may have rotated it since the last check: the file at the path is a new one then, and stays.
    await this.#check();
    const newest = this.#handle ?? (await this.#open());
    return this.#isDue(length) && (await this.#rotate()) ? this.#open() : newest;
  }

  /** Whether the open file has to be rotated before so many bytes are written. */
  #isDue(length: number): boolean {
    const { now, maxBytes, maxAgeMs } = this.#options;
    if (!this.#isRegular || this.#size === 0) return false;
    return this.#size + length > maxBytes || (maxAgeMs > 0 && now() - this.#createdAt >= DAY_MS);
  }

  async #rotate(): Promise<boolean> {
    let reserved: string | undefined;
    try {
      reserved = await this.#reserveBackup();
      await rename(this.#realPath, reserved);
    } catch (error) {
      if (reserved !== undefined) await unlink(reserved).catch(() => {});
      // ENOENT: another process has rotated it since the check.
      if (codeOf(error) !== 'ENOENT') {
        this.#options.onProblem(error);
        this.#failedAt = this.#options.monotonicNow();
        return false;
      }
    }
    await this.close();
    await this.#prune();
    return true;
  }

  async #check(): Promise<void> {
    this.#checkedAt = this.#options.monotonicNow();
    const found = await stat(this.#options.path).catch(() => undefined);
    if (found === undefined || inodeOf(found) !== this.#identity) return this.close();
    this.#size = found.size;
  }

  async #open(isAgain = false): Promise<FileHandle> {
    const { path, now, monotonicNow } = this.#options;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // Opened for reading, too, to see whether the last line is whole. A pipe or a device may only allow writing.
    const handle = await open(path, APPEND | constants.O_RDWR, 0o600).catch(() =>
      open(path, APPEND | constants.O_WRONLY, 0o600),
    );
    try {
      const stats = await handle.stat();
      this.#identity = inodeOf(stats);
      this.#realPath = await realpath(path);
      this.#isRegular = stats.isFile();
      this.#size = stats.size;
      this.#createdAt = stats.size === 0 ? now() : stats.birthtimeMs || stats.mtimeMs;
      this.#checkedAt = monotonicNow();
      // A pipe cannot be read back: for one, `append` keeps this.
      if (this.#isRegular) this.#endsMidLine = stats.size > 0 && (await lastByte(handle, stats.size)) !== NEWLINE;
      // A new file is lost in a power failure if its folder is not synchronized.
      if (this.#isRegular && stats.size === 0) await syncDirectory(dirname(path));
    } catch (error) {
      await handle.close();
      // Another process has rotated the file between two of these steps.
      if (codeOf(error) === 'ENOENT' && !isAgain) return this.#open(true);
      throw error;
    }
    this.#handle = handle;
    return handle;
  }

  /** Removes what a failed append has written, unless another process has written behind it. */
  async #undo(handle: FileHandle, written: number): Promise<void> {
    this.#handle = undefined;
    try {
      const { size } = await handle.stat();
      if (this.#isRegular && written > 0 && size === this.#size + written) await handle.truncate(this.#size);
    } catch {
      // The next `#open` checks whether the last line is whole.
    } finally {
      // After a failed fsync the kernel may mark lost pages as clean. Only a new descriptor reports further errors.
      await handle.close().catch(() => {});
    }
  }

  /**
   * Creates the empty target of a rotation. Otherwise two processes that find the log full at the same moment could
   * choose the same name, and the second would overwrite the file of the first.
   */
  async #reserveBackup(): Promise<string> {
    const { dir, name, ext } = parse(this.#realPath);
    for (let at = this.#options.now(); ; at++) {
      const path = join(dir, `${name}-${stampOf(at)}${ext}`);
      try {
        await (await open(path, 'wx', 0o600)).close();
        return path;
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
    }
  }

  /** Removes rotated files that are too old or too many. */
  async #prune(): Promise<void> {
    const { maxAgeMs, maxBackups, now, isSteady, onProblem } = this.#options;
    const { dir, name, ext } = parse(this.#realPath);
    const oldest = maxAgeMs === 0 || !isSteady() ? '' : `${name}-${stampOf(now() - maxAgeMs)}${ext}`;
    try {
      const backups = (await readdir(dir)).filter((file) => isBackup(file, name, ext)).sort();
      const kept = new Set(maxBackups === 0 ? backups : backups.slice(-maxBackups));
      for (const file of backups) if (file < oldest || !kept.has(file)) await unlink(join(dir, file));
    } catch (error) {
      // Another process may have removed it already.
      if (codeOf(error) !== 'ENOENT') onProblem(error);
    }
  }
}

/** Sorts by time, and has no colon, which some file systems do not allow. */
const stampOf = (time: number): string => new Date(time).toISOString().slice(0, -1).replaceAll(':', '-');

const STAMP = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;

const isBackup = (file: string, name: string, ext: string): boolean =>
  file.startsWith(`${name}-`) &&
  file.endsWith(ext) &&
  STAMP.test(file.slice(name.length + 1, file.length - ext.length));

const inodeOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`;

async function writeWhenRead(handle: FileHandle, bytes: Uint8Array, offset: number): Promise<number> {
  for (let waited = 0; ; waited += PIPE_RETRY_MS) {
    try {
      return await writeFrom(handle, bytes, offset);
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN' || waited >= PIPE_WAIT_MS) throw error;
      await pause(PIPE_RETRY_MS);
    }
  }
}

/** The callback of `fs`: FileHandle.write costs three times as much, and every token is a write. */
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
