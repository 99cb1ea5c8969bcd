import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TLS } from '../../test/e2e/support/server.ts';
import { builtProgram } from './built-program.ts';
import { cpuOf } from './cpu.ts';
import { type Caller, type Fleet, writeFleet } from './fleet.ts';

/** A server in a separate process: Clusterpass, or a floor. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  /** Microseconds of CPU time so far. */
  cpu(): number;
  end(): Promise<void>;
}

/** Clusterpass with a fleet in its store. */
export interface FleetServer extends ServerProcess {
  readonly url: string;
  readonly adminToken: string;
  readonly dataDir: string;
  /** From the start of the process until it serves. */
  readonly startSeconds: number;
  readonly startCpuSeconds: number;
}

/** Ends the processes and removes the folders of a benchmark. */
const endings = new Set<() => Promise<void>>();

export async function endAll(): Promise<void> {
  for (const end of [...endings].reverse()) await end();
}

/** `end` runs in `endAll`, unless the function that this returns has run it before. */
export function atEnd(end: () => Promise<void>): () => Promise<void> {
  const endOnce = async (): Promise<void> => {
    if (endings.delete(endOnce)) await end();
  };
  endings.add(endOnce);
  return endOnce;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-bench-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The first group of the pattern in the standard output. Rejects when the process exits first. */
function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const found = pattern.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`exited with ${code} before it served: ${text}`)));
  });
}

interface StartOptions {
  readonly nodeArgs?: readonly string[];
  readonly serveArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts Clusterpass with this fleet as an operator would: built, with TLS, SQLite and the default log. */
export async function startFleetServer(fleet: Fleet, options: StartOptions = {}): Promise<FleetServer> {
  const dataDir = join(await makeFolder(), 'data');
  await writeFleet(dataDir, fleet);
  return startServerOn(dataDir, fleet.callers, options);
}

/** Starts it on data that an earlier server has left. */
export async function startServerOn(
  dataDir: string,
  callers: readonly Caller[],
  { nodeArgs = [], serveArgs = [], env = process.env }: StartOptions = {},
): Promise<FleetServer> {
  const users = join(dataDir, 'users.csv');
  const rows = callers.map(({ name, token, groups = [] }) => `${token},${name},uid-${name},"${groups.join(',')}"`);
  await writeFile(users, `${rows.join('\n')}\n`, { mode: 0o600 });
  const args = ['serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  args.push('--tls-cert-file', TLS.certFile, '--tls-private-key-file', TLS.keyFile);
  // All drivers connect from one address, more often than the limit for one address allows.
  args.push('--token-auth-file', users, '--probe-interval', '0', '--tls-handshakes-per-address', '0', ...serveArgs);
  const log = openSync(join(dataDir, 'log.jsonl'), 'a');
  const program = builtProgram();
  const begun = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], { env, stdio: ['ignore', 'pipe', log] });
  const end = atEnd(() => kill(child));
  const address = await waitForOutput(child, /Clusterpass serves (\S+)/).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await readFile(join(dataDir, 'log.jsonl'), 'utf8')}`);
  });
  const startSeconds = (performance.now() - begun) / 1000;
  const pid = child.pid ?? 0;
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    pid,
    cpu: () => cpuOf(pid),
    end,
    dataDir,
    adminToken: (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim(),
    startSeconds,
    startCpuSeconds: cpuOf(pid) / 1e6,
  };
}

export interface Floor extends ServerProcess {
  /** The file with its sample. The floor of creates has its database there. */
  readonly file: string;
}

/** Starts a bare `node:https` server for this work (`floor-process.ts`). */
export async function startFloor(
  work: 'token' | 'bytes' | 'watch' | 'create' | 'token-duties' | 'create-duties' | 'list-duties' | 'mix-duties',
  sample?: Uint8Array,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Floor> {
  const args = [fileURLToPath(new URL('floor-process.ts', import.meta.url)), work];
  let file = '';
  if (sample !== undefined) {
    file = join(await makeFolder(), 'sample');
    await writeFile(file, sample);
    args.push(file);
  }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const end = atEnd(() => kill(child));
  const pid = child.pid ?? 0;
  return { port: Number(await waitForOutput(child, /port (\d+)/)), pid, cpu: () => cpuOf(pid), end, file };
}
