import { fstatSync, write, writeSync } from 'node:fs';
import { firstWithin } from '../lib/first-within.ts';

/** Where the text of log lines goes. One write at a time. */
export interface LogSink {
  /** Calls `done` when the text is written, or with an error. Never blocks the event loop. */
  write(text: string, done: (error?: Error | null) => void): void;
  /** The last chance, when the process exits. May throw. */
  writeSync(text: string): void;
}

interface LogOutputOptions {
  readonly sink: LogSink;
  /** Called when lines were dropped and the sink takes lines again. */
  readonly onRoom?: (dropped: number) => void;
  readonly maxBytes?: number;
}

/** About 4,000 lines. */
const MAX_BYTES = 1024 * 1024;

/**
 * The bounded buffer between the log and standard error. A reader that hangs (a full disk behind it, a stopped
 * container runtime, Ctrl-S in a terminal) must not stop the server: lines that do not fit are dropped and counted.
 */
export class LogOutput {
  readonly #sink: LogSink;
  readonly #maxBytes: number;
  #onRoom: (dropped: number) => void;
  #lines: string[] = [];
  /** Of all unwritten lines, including those that the sink is writing. */
  #bytes = 0;
  #isWriting = false;
  #dropped = 0;
  #reported = 0;
  #idle: (() => void)[] = [];

  constructor({ sink, maxBytes = MAX_BYTES, onRoom = () => {} }: LogOutputOptions) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
    this.#onRoom = onRoom;
  }

  /** How many lines were dropped since the start. For metrics. */
  get dropped(): number {
    return this.#dropped;
  }

  set onRoom(report: (dropped: number) => void) {
    this.#onRoom = report;
  }

  /** A complete line. */
  readonly write = (line: string): void => {
    if (this.#bytes + line.length > this.#maxBytes) {
      this.#dropped += 1;
      return;
    }
    this.#bytes += line.length;
    this.#lines.push(line);
    this.#writeNext();
  };

  /** True when everything is written; false when that takes longer. */
  async flush(timeoutMs: number): Promise<boolean> {
    if (!this.#isWriting) return true;
    const { promise, resolve } = Promise.withResolvers<true>();
    this.#idle.push(() => resolve(true));
    return (await firstWithin(timeoutMs, promise)) === true;
  }

  /** The process exits: lines that wait for an earlier write are written, if that is possible at once. */
  readonly writeRest = (): void => {
    const text = this.#lines.join('');
    this.#lines = [];
    try {
      if (text !== '') this.#sink.writeSync(text);
    } catch {
      // The reader hangs or is gone.
    }
  };

  #writeNext(): void {
    if (this.#isWriting) return;
    if (this.#lines.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    const lines = this.#lines;
    const text = lines.join('');
    this.#lines = [];
    this.#isWriting = true;
    this.#sink.write(text, (error) => {
      this.#isWriting = false;
      this.#bytes -= text.length;
      if (error) this.#dropped += lines.length;
      else this.#report();
      this.#writeNext();
    });
  }

  #report(): void {
    const dropped = this.#dropped - this.#reported;
    if (dropped === 0) return;
    this.#reported = this.#dropped;
    this.#onRoom(dropped);
  }
}

const STDERR = 2;

/**
 * Standard error. Node writes to a pipe or a socket without blocking, and waits in the event loop until it takes more.
 * Files and terminals it would write to synchronously, so they are written to in the thread pool.
 */
export function openStandardError(): LogOutput {
  const stats = fstatSync(STDERR);
  const sink = stats.isFIFO() || stats.isSocket() ? streamSink() : fileSink(STDERR);
  const output = new LogOutput({ sink });
  process.on('exit', output.writeRest);
  return output;
}

function streamSink(): LogSink {
  const { stderr } = process;
  // A reader that is gone. The write calls back with the error; without a listener the event would end the process.
  stderr.on('error', () => {});
  return {
    write: (text, done) => void stderr.write(text, done),
    writeSync: (text) => void writeSync(stderr.fd, text),
  };
}

/** Exported for its test. */
export function fileSink(fd: number): LogSink {
  const writeFrom = (bytes: Buffer, offset: number, done: (error?: Error | null) => void): void =>
    write(fd, bytes, offset, bytes.length - offset, null, (error, written) => {
      if (error || offset + written === bytes.length) done(error);
      else writeFrom(bytes, offset + written, done);
    });
  return {
    write: (text, done) => writeFrom(Buffer.from(text), 0, done),
    writeSync: (text) => void writeSync(fd, text),
  };
}
