import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

export interface KeptConnectionsOptions {
  /** `--probe-keepalive-connections`. */
  readonly wanted: number;
  readonly intervalMs: number;
  /** Connections of clients, which must find room whatever the prober does. */
  readonly clients: number;
  /** How many files the process may have open; undefined when that is not known. */
  readonly openFiles: number | undefined;
  /** Bytes that the process can have at most. */
  readonly memory: number;
}

/** Load balancers and NAT forget a connection that was silent for longer, and a look every few minutes costs little. */
const LONGEST_INTERVAL_MS = 60_000;
/** The database, the audit log, connections to etcd, looks over new connections. */
const OTHER_FILES = 512;
/** What is safe to take anywhere. */
const WITHOUT_KNOWING = 256;
/** Of a connection with all that belongs to it, as measured; most of it is OpenSSL's. */
const CONNECTION_BYTES = 100 * 1024;
/** What of the memory they may take. */
const MEMORY_SHARE = 1 / 4;

/** How many connections to clusters may stay open between two looks. */
export function keptConnections(options: KeptConnectionsOptions): number {
  const { wanted, intervalMs, clients, openFiles, memory } = options;
  if (intervalMs > LONGEST_INTERVAL_MS) return 0;
  const room = openFiles === undefined ? WITHOUT_KNOWING : openFiles - clients - OTHER_FILES;
  const fitting = Math.floor((memory * MEMORY_SHARE) / CONNECTION_BYTES);
  return Math.max(Math.min(wanted, room, fitting), 0);
}

/** Of this process (proc(5)). Node has raised it to the highest that it may set when it started. */
export function readOpenFileLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Of the machine, or of the container that it is limited to. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
