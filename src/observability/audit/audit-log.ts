import { atEndOfTick, endsWithWork } from '../../lib/event-loop.ts';
import type { Logger } from '../logger.ts';
import type { AuditFile } from './audit-file.ts';

/** What can be said of the audit log at any time. */
export interface AuditCounts {
  readonly written: number;
  /** Lines that found no place: neither on the disk nor in memory until it would take them. */
  readonly lost: number;
  readonly failing: boolean;
}

export interface AuditLogOptions {
  readonly file: Pick<AuditFile, 'append' | 'close'>;
  readonly logger: Logger;
  /** Calls back once, later; tests hold it in their hands. */
  readonly later?: (task: () => void, ms: number) => void;
  readonly maxWaitingBytes?: number;
}

interface Waiting {
  readonly line: string;
  readonly durable?: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
}

const endOfTurn = (): Promise<void> => new Promise(atEndOfTick);

/** Lines nobody waits for are written together. */
const GATHER_MS = 50;
const RETRY_MS = 1_000;
const MAX_BATCH_LINES = 1_000;
/** While the disk takes nothing, so much is kept for when it does again. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Lines on their way to the file, in order. Promises: `commit` resolves when its line, and every line before it, is
 * durable, and rejects when that can not be; those who wait at the same time share one write to the disk. `write` never fails and
 * never waits. After a failure it is tried again with every commit, and every second: nobody has to restart anything.
 */
export class AuditLog {
  readonly #file: AuditLogOptions['file'];
  readonly #logger: Logger;
  readonly #later: NonNullable<AuditLogOptions['later']>;
  readonly #maxWaitingBytes: number;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** Of those, how many somebody waits for. */
  #awaited = 0;
  #running: Promise<void> | undefined;
  #scheduled = false;
  #closed = false;
  #written = 0;
  #lost = 0;
  #lostBefore = 0;
  #failing = false;

  constructor({ file, logger, later = laterUnref, maxWaitingBytes = MAX_WAITING_BYTES }: AuditLogOptions) {
    this.#file = file;
    this.#logger = logger;
    this.#later = later;
    this.#maxWaitingBytes = maxWaitingBytes;
  }

  get counts(): AuditCounts {
    return { written: this.#written, lost: this.#lost, failing: this.#failing };
  }

  /** One line, without its newline. */
  write(line: string): void {
    if (!this.#take({ line })) this.#lost++;
    this.#schedule(this.#failing ? RETRY_MS : GATHER_MS);
  }

  commit(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!this.#take({ line, durable: { resolve, reject } })) reject(new Error('too many audit events are waiting'));
      void this.#run();
    });
  }

  /** Writes what is left, as far as possible. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    if (this.#waiting.length > 0) await this.#run();
    const left = this.#waiting.length;
    if (left > 0) this.#logger.error({ lost: this.#lost + left }, 'audit events were lost');
    await this.#file.close();
  }

  #take(entry: Waiting): boolean {
    if (this.#waitingBytes + entry.line.length > this.#maxWaitingBytes) return false;
    this.#waiting.push(entry);
    this.#waitingBytes += entry.line.length;
    if (entry.durable !== undefined) this.#awaited += 1;
    return true;
  }

  #schedule(ms: number): void {
    if (this.#scheduled || this.#running !== undefined || this.#closed) return;
    this.#scheduled = true;
    this.#later(() => {
      this.#scheduled = false;
      void this.#run();
    }, ms);
  }

  #run(): Promise<void> {
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined;
      if (this.#awaited > 0) void this.#run();
      else if (this.#waiting.length > 0) this.#schedule(this.#failing ? RETRY_MS : GATHER_MS);
    });
    return this.#running;
  }

  async #drain(): Promise<void> {
    let isDue = true;
    let isNext = false;
    while (isDue && this.#waiting.length > 0) {
      // Whoever else has something to record in this turn of the event loop comes along. After a write that takes a second turn:
      // in the first those who waited for it are answered, and in the second most of them have asked for more. Otherwise they
      // part in halves that wait for each other, and there are twice as many writes. Not while watchers are told of a burst: then
      // turns are long.
      await endOfTurn();
      if (isNext && !endsWithWork()) await endOfTurn();
      isNext = true;
      const batch = this.#waiting.slice(0, MAX_BATCH_LINES);
      let text = '';
      for (const { line } of batch) text += `${line}\n`;
      const bytes = Buffer.from(text);
      try {
        await this.#file.append(bytes);
      } catch (error) {
        this.#failed(error);
        return;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      for (const { line, durable } of batch) {
        this.#waitingBytes -= line.length;
        if (durable === undefined) continue;
        this.#awaited -= 1;
        durable.resolve();
      }
      this.#written += batch.length;
      this.#succeeded();
      // What came meanwhile and nobody waits for is gathered again: in a flood of requests that are refused, somebody who
      // does wait would otherwise always come upon a write of such lines that has just begun.
      isDue = this.#awaited > 0 || this.#waiting.length >= MAX_BATCH_LINES || this.#closed;
    }
  }

  /** Those who wait are told; what nobody waits for is kept. */
  #failed(error: unknown): void {
    if (!this.#failing) {
      this.#failing = true;
      this.#lostBefore = this.#lost;
      this.#logger.error({ err: error }, 'the audit log can not be written: no tokens are issued until it can');
    }
    const refused = this.#waiting.filter(({ durable }) => durable !== undefined);
    this.#waiting = this.#waiting.filter(({ durable }) => durable === undefined);
    this.#awaited = 0;
    for (const { line, durable } of refused) {
      this.#waitingBytes -= line.length;
      durable?.reject(error);
    }
  }

  #succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#logger.warn({ lost: this.#lost - this.#lostBefore }, 'the audit log can be written again');
  }
}

function laterUnref(task: () => void, ms: number): void {
  setTimeout(task, ms).unref();
}
