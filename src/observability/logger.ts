import { pino } from 'pino';
import { clip, safeLine } from '../lib/text.ts';
import { type LogOutput, openStandardError } from './log-output.ts';

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
