import { endOfTick } from '../../lib/event-loop.ts';
import { firstWithin } from '../../lib/promises.ts';
import { every } from '../../lib/rounds.ts';
import type { Logger } from '../logger.ts';
import type { AuditFile } from './audit-file.ts';

/** For metrics. */
export interface AuditCounts {
  readonly written: number;
  /** Lines that could neither be written nor kept in memory until the disk takes them. */
  readonly lost: number;
  readonly failing: boolean;
}

interface AuditLogOptions {
  readonly file: Pick<AuditFile, 'append' | 'close'>;
  readonly logger: Logger;
  /** What follows while the log cannot be written, for the server's log. */
  readonly consequence: string;
  /** Calls back once, later; for tests. */
  readonly later?: (task: () => void, ms: number) => void;
  readonly maxWaitingBytes?: number;
  /** A write that takes longer counts as failed. */
  readonly stallMs?: number;
}

interface Waiting {
  readonly line: string;
  /** Only for a commit, until it is resolved or rejected. */
  durable?: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
}

const tickToEnd = (): Promise<void> => new Promise(endOfTick.handOver);

/** Lines that no request waits for are collected for this long. */
const GATHER_MS = 50;
const RETRY_MS = 1_000;
const MAX_BATCH_LINES = 1_000;
/** How much is kept in memory while the disk takes nothing. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Longer than a busy disk takes, and shorter than clients wait. */
const STALL_MS = 3_000;
const STALL_STEPS = 10;
/** The limit of the next write after a failure: it only finds out whether the disk works again. */
const TRY_MS = 250;

/**
 * The queue of lines before the file, in order. Promises: `commit` resolves when its line, and every line before it, is
 * durable, and rejects when it cannot be; commits at the same time share one write to the disk. `write` never fails and
 * never waits. After a failure every commit tries again, and so does a timer every second: no restart is needed. While
 * a write stalls, commits are rejected at once, so that requests do not wait for the disk.
 */
export class AuditLog {
  readonly #options: Required<AuditLogOptions>;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** How many of them are commits. */
  #commits = 0;
  #running: Promise<void> | undefined;
  #scheduled = false;
  #closed = false;
  #written = 0;
  #bytesWritten = 0;
  #lost = 0;
  #lostBefore = 0;
  #failing = false;
  #isStalled = false;

  constructor(options: AuditLogOptions) {
    this.#options = { later: laterUnref, maxWaitingBytes: MAX_WAITING_BYTES, stallMs: STALL_MS, ...options };
  }

  get counts(): AuditCounts {
    return { written: this.#written, lost: this.#lost, failing: this.#failing };
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /** One line, without its newline. */
  write(line: string): void {
    if (!this.#take({ line })) this.#lost++;
    this.#schedule(this.#failing ? RETRY_MS : GATHER_MS);
  }

  commit(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isStalled) reject(new Error('the audit log takes no lines'));
      else if (!this.#take({ line, durable: { resolve, reject } }))
        reject(new Error('too many audit events are waiting'));
      void this.#run();
    });
  }

  /** Writes the rest, if the disk takes it in time. */
  async close(): Promise<void> {
    this.#closed = true;
    const isWritten = await firstWithin(this.#options.stallMs, this.#writeRest());
    const left = this.#waiting.length;
    if (left > 0) this.#options.logger.error({ lost: this.#lost + left }, 'audit events were lost');
    // A file with a write that has not returned cannot be closed.
    if (isWritten) await this.#options.file.close();
  }

  async #writeRest(): Promise<true> {
    await this.#running;
    if (this.#waiting.length > 0) await this.#run();
    return true;
  }

  #take(entry: Waiting): boolean {
    if (this.#waitingBytes + entry.line.length > this.#options.maxWaitingBytes) return false;
    this.#waiting.push(entry);
    this.#waitingBytes += entry.line.length;
    if (entry.durable !== undefined) this.#commits += 1;
    return true;
  }

  #schedule(ms: number): void {
    if (this.#scheduled || this.#running !== undefined || this.#closed) return;
    this.#scheduled = true;
    this.#options.later(() => {
      this.#scheduled = false;
      void this.#run();
    }, ms);
  }

  #run(): Promise<void> {
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
      if (this.#commits > 0) void this.#run();
      else if (this.#waiting.length > 0) this.#schedule(this.#failing ? RETRY_MS : GATHER_MS);
    });
    return this.#running;
  }

  async #drain(): Promise<void> {
    let isDue = true;
    let isNext = false;
    while (isDue && this.#waiting.length > 0) {
      // Lines of the same tick of the event loop share the write. After a write, lines of a second tick do, too: in the
      // first tick the requests that waited are answered, and in the second most of their clients have sent the next
      // one. Otherwise clients fall into two halves that wait for each other, and there are twice as many writes. Not
      // while watchers are sent a burst of events, when ticks are long.
      await tickToEnd();
      if (isNext && !endOfTick.hasWork) await tickToEnd();
      isNext = true;
      const batch = this.#waiting.slice(0, MAX_BATCH_LINES);
      let text = '';
      for (const { line } of batch) text += `${line}\n`;
      const bytes = Buffer.from(text);
      try {
        await this.#append(bytes, batch);
      } catch (error) {
        this.#failed(error);
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      for (const { line, durable } of batch) {
        this.#waitingBytes -= line.length;
        if (durable === undefined) continue;
        this.#commits -= 1;
        durable.resolve();
      }
      this.#written += batch.length;
      this.#bytesWritten += bytes.length;
      this.#succeeded();
      // Further lines without a commit are collected again. Otherwise, in a flood of rejected requests, each commit
      // would find that a write of such lines has just begun.
      isDue = this.#commits > 0 || this.#waiting.length >= MAX_BATCH_LINES || this.#closed;
    }
  }

  async #append(bytes: Uint8Array, batch: readonly Waiting[]): Promise<void> {
    const limitMs = this.#failing ? Math.min(TRY_MS, this.#options.stallMs) : this.#options.stallMs;
    let steps = 0;
    // In steps, each of which a timer counts once: while the event loop is blocked, time passes that the disk has not
    // taken, and its answer waits.
    const stop = every(limitMs / STALL_STEPS, () => {
      if (++steps === STALL_STEPS) this.#stall(batch, limitMs);
    });
    try {
      await this.#options.file.append(bytes);
    } finally {
      stop();
      this.#isStalled = false;
    }
  }

  /** The lines of the batch are kept: the write may yet succeed. An event of the refusal follows. */
  #stall(batch: readonly Waiting[], limitMs: number): void {
    this.#isStalled = true;
    const error = new Error(`a write of the audit log takes longer than ${limitMs} ms`);
    for (const entry of batch) {
      entry.durable?.reject(error);
      entry.durable = undefined;
    }
    this.#failed(error);
  }

  /** Commits are rejected; other lines are kept. */
  #failed(error: unknown): void {
    if (!this.#failing) {
      this.#failing = true;
      this.#lostBefore = this.#lost;
      this.#options.logger.error({ err: error }, `the audit log cannot be written: ${this.#options.consequence}`);
    }
    const commits = this.#waiting.filter(({ durable }) => durable !== undefined);
    this.#waiting = this.#waiting.filter(({ durable }) => durable === undefined);
    this.#commits = 0;
    for (const { line, durable } of commits) {
      this.#waitingBytes -= line.length;
      durable?.reject(error);
    }
  }

  #succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.logger.warn({ lost: this.#lost - this.#lostBefore }, 'the audit log can be written again');
  }
}

function laterUnref(task: () => void, ms: number): void {
  setTimeout(task, ms).unref();
}
