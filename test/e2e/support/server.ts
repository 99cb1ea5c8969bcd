import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { LAUNCHER, PROGRAM, SOURCE_PROGRAM } from '../../program.ts';
import { countStart } from '../../server-starts.ts';
import { distrust, trust } from './trust.ts';

/** The real program in a separate process, with its own port and data directory. */
export interface Server {
  readonly url: string;
  readonly dataDir: string;
  readonly adminToken: string;
  readonly pid: number;
  /** The output of the process so far. */
  readonly output: { stdout: string; stderr: string };
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** With `unreadLog`: reads standard error from now on. */
  readLog(): void;
  /** SIGTERM. Resolves with the exit code. The data directory stays. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts again on the same address and data; the old process must have ended. */
  restart(): Promise<Server>;
  /** Ends the process and removes the data directory. */
  destroy(): Promise<void>;
}

export interface CallOptions {
  /** Defaults to the administrator; null sends none. */
  readonly token?: string | null;
  /** A string or bytes are sent as they are, other values as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; throws when it is not. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
  /** The texts of the Warning headers. */
  readonly warnings: string[];
}

export interface ServerOptions {
  readonly args?: readonly string[];
  /** Rows of the token file: name -> groups. The token of `jane` is `token-of-jane-0123456789`. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** Serves TLS with the certificate in tls/, which this process then trusts. */
  readonly tls?: boolean;
  readonly dataDir?: string;
  readonly port?: number;
  /** The address of another network namespace, and the command that starts it there. */
  readonly host?: string;
  readonly runner?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Starts it as operators do, by the launcher. */
  readonly launcher?: boolean;
  /** Starts the sources instead of their bundle. */
  readonly sources?: boolean;
  /** Each worker starts it once. How many there are depends on the machine, so it is not counted. */
  readonly shared?: boolean;
  /** Standard error is not read before `readLog`. */
  readonly unreadLog?: boolean;
}

/** For loopback only, valid for a hundred years. The key of its authority was deleted. */
export const TLS = {
  caFile: fileURLToPath(new URL('tls/ca.crt', import.meta.url)),
  certFile: fileURLToPath(new URL('tls/server.crt', import.meta.url)),
  keyFile: fileURLToPath(new URL('tls/server.key', import.meta.url)),
} as const;

const imported = (script: string): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${new URL(script, import.meta.url).href}`,
});

/** Environments of a server that does at once what users wait for: it reads files again ten times as often. */
export const FAST_INTERVALS = imported('fast-intervals.mjs');
/** Timeouts come after a fifth of their time. Only for servers that get no requests: deadlines are timeouts, too. */
export const FAST_TIMEOUTS = imported('fast-timeouts.mjs');

// Git stores no modes, and the server refuses a key that others can read.
chmodSync(TLS.keyFile, 0o600);

export const tokenOf = (user: string): string => `token-of-${user}-0123456789`;

/** How long the first server of a test process may take to stop after SIGTERM. */
const STOP_MS = 5_000;
let hasKeptCompiledCode = false;

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'clusterpass-e2e-')));
  const { host = '127.0.0.1', runner = [] } = options;
  const args = ['serve', '--data-dir', dataDir, '--listen', `${host}:${options.port ?? 0}`];
  // Most clusters of the tests have invented addresses, so the prober is off. A later --probe-interval in `args`
  // counts.
  args.push('--probe-interval', '0', ...(options.args ?? []));
  if (options.users !== undefined) {
    const file = join(dataDir, 'users.csv');
    const rows = Object.entries(options.users).map(
      ([name, groups]) => `${tokenOf(name)},${name},uid-${name},"${groups.join(',')}"`,
    );
    await writeFile(file, `${rows.join('\n')}\n`, { mode: 0o600 });
    args.push('--token-auth-file', file);
  }
  if (options.tls === true) {
    args.push('--tls-cert-file', TLS.certFile, '--tls-private-key-file', TLS.keyFile);
    trust(dataDir, await readFile(TLS.caFile, 'utf8'));
  }
  const program = options.sources === true ? SOURCE_PROGRAM : options.launcher === true ? LAUNCHER : PROGRAM;
  // Benchmarks and screenshots start servers, too.
  if (process.env.VITEST !== undefined && options.shared !== true) countStart(expect.getState().testPath);
  const [command = '', ...commandArgs] = [...runner, process.execPath, program, ...args];
  const child = spawn(command, commandArgs, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  const readLog = (): void =>
    void child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
  if (options.unreadLog !== true) readLog();
  const announced = await announcedUrl(child, output);
  // The public address may differ from the address of the listener: several replicas share one.
  const atHome = options.port !== undefined && args.includes('--base-url');
  const url = atHome ? `${options.tls === true ? 'https' : 'http'}://${host}:${options.port}` : announced;
  const adminToken = (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim();
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const [code] = await ended;
    return code;
  };
  return {
    url,
    dataDir,
    adminToken,
    pid: child.pid ?? 0,
    output,
    call: (method, path, callOptions = {}) => callAt(url, adminToken, method, path, callOptions),
    readLog,
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL');
    },
    restart: () => startServer({ ...options, dataDir, port: Number(new URL(url).port) }),
    destroy: async () => {
      // Node writes its compile cache (NODE_COMPILE_CACHE) when a process exits, but not when it is killed.
      const signal = hasKeptCompiledCode ? 'SIGKILL' : 'SIGTERM';
      hasKeptCompiledCode = true;
      const tooLate = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await end(signal);
      clearTimeout(tooLate);
      distrust(dataDir);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Resolves with the URL that the program prints. Rejects with its standard error when it exits before. */
async function announcedUrl(child: ChildProcess, output: Server['output']): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const url = /Clusterpass serves (\S+)/.exec(output.stdout)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout?.on('data', look);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output.stderr}`)));
  });
}

const MERGE_PATCH = 'application/merge-patch+json';

export async function callAt(
  url: string,
  adminToken: string,
  method: string,
  path: string,
  options: CallOptions,
): Promise<Answer> {
  const { token = adminToken, body, headers = {}, signal } = options;
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      // Not the user agent of curl or a browser, whose responses are indented.
      'User-Agent': 'clusterpass-test',
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': method === 'PATCH' ? MERGE_PATCH : 'application/json' }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
    redirect: 'manual',
  });
  const text = await response.text();
  return {
    code: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
    warnings: [...(response.headers.get('warning') ?? '').matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map((match) =>
      (match[1] ?? '').replaceAll(/\\(.)/g, '$1'),
    ),
  };
}
