import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

interface KeepAliveOptions {
  /** `--probe-keepalive-connections`. */
  readonly wanted: number;
  readonly intervalMs: number;
  /** The maximum of client connections, which take precedence. */
  readonly clients: number;
  /** The limit of open files; undefined when it is unknown. */
  readonly openFiles: number | undefined;
  /** The memory limit of the process in bytes. */
  readonly memory: number;
}

/**
 * Load balancers and NAT forget a connection that is idle for longer, and a handshake every few minutes costs little.
 */
const MAX_INTERVAL_MS = 60_000;
/** The database, the audit log, connections to etcd, probes over new connections. */
const OTHER_FILES = 512;
/** For an unknown limit of open files. */
const DEFAULT_CONNECTIONS = 256;
/** Measured, mostly memory of OpenSSL. */
const CONNECTION_BYTES = 100 * 1024;
const MEMORY_SHARE = 1 / 4;

/** How many connections to clusters may stay open between two probes. */
export function keepAliveConnections(options: KeepAliveOptions): number {
  const { wanted, intervalMs, clients, openFiles, memory } = options;
  if (intervalMs > MAX_INTERVAL_MS) return 0;
  const byFiles = openFiles === undefined ? DEFAULT_CONNECTIONS : openFiles - clients - OTHER_FILES;
  const byMemory = Math.floor((memory * MEMORY_SHARE) / CONNECTION_BYTES);
  return Math.max(Math.min(wanted, byFiles, byMemory), 0);
}

/** The soft limit of this process (proc(5)). Node raises it to the hard limit when it starts. */
export function readOpenFileLimit(path = '/proc/self/limits'): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)\s/m.exec(readFileSync(path, 'utf8')) ?? [];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** The memory of the machine, or the limit of its container. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
