import { fstatSync, write, writeSync } from 'node:fs';
import { pino } from 'pino';
import { firstWithin } from '../lib/promises.ts';
import { clip, safeLine } from '../lib/text.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The part of pino that the program uses. `err` in the fields is written with its stack. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled(level: LogLevel): boolean;
}

interface LoggerOptions {
  readonly level: LogLevel;
  /** In every line, e.g. which of several processes wrote it. */
  readonly fields?: Readonly<Record<string, string | number>>;
  /** Where complete lines go. It must not block: requests are logged. */
  readonly write: (line: string) => void;
}

/**
 * A caller decides how long a name or a path is. Longer texts are cut, so that a caller does not decide how much is
 * logged.
 */
const MAX_TEXT = 256;
/** Of `problem`, a text for the operator: it names a file first and the field at fault last. */
const MAX_PROBLEM = 1024;
const MAX_STACK = 4096;
const MAX_DEPTH = 3;
const MAX_ITEMS = 20;

/** JSON, one object per line. A line stays one line, whatever callers send in names and headers. */
export function createLogger({ level, fields, write }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: fields ?? null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => capped(fields, 0),
      },
      serializers: { err: (error: unknown) => error },
    },
    { write: (line: string) => write(safeLine(line)) },
  );
}

export interface ServerLog {
  readonly logger: Logger;
  readonly output: LogOutput;
}

/** The log of the server process. It does not wait for the reader of standard error. */
export function openServerLog(options: Omit<LoggerOptions, 'write'>): ServerLog {
  const output = openStandardError();
  const logger = createLogger({ ...options, write: output.write });
  output.onRoom = (dropped) =>
    logger.warn({ dropped }, 'log lines were dropped, because standard error took no more of them');
  return { logger, output };
}

function capped(fields: object, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields))
    result[key] = cappedValue(value, depth, key === 'problem' ? MAX_PROBLEM : MAX_TEXT);
  return result;
}

function cappedValue(value: unknown, depth: number, limit = MAX_TEXT): unknown {
  if (typeof value === 'string') return clip(value, limit);
  if (value instanceof Error) return errorFields(value, depth);
  if (typeof value === 'object' && value !== null) {
    if (depth >= MAX_DEPTH) return '[truncated]';
    return Array.isArray(value)
      ? value.slice(0, MAX_ITEMS).map((item) => cappedValue(item, depth + 1))
      : capped(value, depth + 1);
  }
  return typeof value === 'bigint' ? String(value) : value;
}

/** Only these fields: an error object may hold the request, or the credential, that caused it. */
function errorFields(error: Error, depth: number): Record<string, unknown> {
  return {
    type: error.name,
    message: clip(error.message, MAX_TEXT),
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    stack: clip(error.stack ?? '', MAX_STACK),
    ...(error.cause === undefined || depth >= MAX_DEPTH ? {} : { cause: cappedValue(error.cause, depth + 1) }),
  };
}

/** Where the text of log lines goes. One write at a time. */
export interface LogSink {
  /** Calls `done` when the text is written, or with an error. Never blocks the event loop. */
  write(text: string, done: (error?: Error | null) => void): void;
  /** The last chance, when the process exits. May throw. */
  writeSync(text: string): void;
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
  /** Called when lines were dropped and the sink takes lines again. */
  onRoom: (dropped: number) => void = () => {};
  #lines: string[] = [];
  /** Of all unwritten lines, including those that the sink is writing. */
  #bytes = 0;
  #isWriting = false;
  #dropped = 0;
  #reported = 0;
  #idle: (() => void)[] = [];

  constructor(sink: LogSink, maxBytes = MAX_BYTES) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** How many lines were dropped since the start. For metrics. */
  get dropped(): number {
    return this.#dropped;
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
    this.onRoom(dropped);
  }
}

const STDERR = 2;

/**
 * Standard error. Node writes to a pipe or a socket without blocking, and waits in the event loop until it takes more.
 * Files and terminals it would write to synchronously, so they are written to in the thread pool.
 */
function openStandardError(): LogOutput {
  const stats = fstatSync(STDERR);
  const sink = stats.isFIFO() || stats.isSocket() ? streamSink() : fileSink(STDERR);
  const output = new LogOutput(sink);
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
