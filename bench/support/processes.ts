import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, openSync, symlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleAlone } from '../../scripts/artifacts/plugin.ts';
import { TLS } from '../../test/e2e/support/server.ts';
import { childrenCpuMs, cpuOf } from './cpu.ts';
import { type Caller, type Fleet, writeFleet } from './fleet.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

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

let program: Promise<string> | undefined;

/** The launcher of the package, with the program built from these sources, as an operator runs it. */
export function builtProgram(): Promise<string> {
  program ??= buildProgram();
  return program;
}

/** Run from the sources, the memory and the start would include Node's stripping of types. */
async function buildProgram(): Promise<string> {
  const folder = await makeFolder();
  atEnd(async () => {
    program = undefined;
  });
  const dist = join(folder, 'dist');
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', dist], { cwd: ROOT });
  await bundleAlone(dist);
  for (const part of ['bin', 'package.json', 'demo', 'console/dist']) {
    if (existsSync(join(ROOT, part))) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin/clusterpass.mjs');
}

/** Starts a server. The first group of the pattern, in its standard output, is what it announces. */
async function spawnServer(
  args: readonly string[],
  announces: RegExp,
  stdio: StdioOptions,
): Promise<{ server: Omit<ServerProcess, 'port'>; announced: string }> {
  const child = spawn(process.execPath, args, { stdio });
  const end = atEnd(() => kill(child));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    const found = announces.exec(text)?.[1];
    if (found !== undefined) resolve(found);
  });
  child.once('exit', (code) => reject(new Error(`exited with ${code} before it served: ${text}`)));
  const announced = await promise;
  const pid = child.pid ?? 0;
  return { server: { pid, cpu: () => cpuOf(pid), end }, announced };
}

/** What a program took from its start to its end, and what it printed. */
export interface Cost {
  readonly wallMs: number;
  /** In hundredths of a second. */
  readonly cpuMs: number;
  readonly output: string;
}

/** Runs a program with this Node, to its end. */
export async function costOf(
  args: readonly string[],
  { env = process.env, parent = [] }: { env?: NodeJS.ProcessEnv; parent?: readonly string[] } = {},
): Promise<Cost> {
  const cpuBefore = childrenCpuMs();
  const begun = performance.now();
  const [file = '', ...rest] = [...parent, process.execPath, ...args];
  const child = spawn(file, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${output}`);
  return { wallMs: performance.now() - begun, cpuMs: childrenCpuMs() - cpuBefore, output };
}

interface StartOptions {
  readonly nodeArgs?: readonly string[];
  readonly serveArgs?: readonly string[];
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
  { nodeArgs = [], serveArgs = [] }: StartOptions = {},
): Promise<FleetServer> {
  const users = join(dataDir, 'users.csv');
  const rows = callers.map(({ name, token, groups = [] }) => `${token},${name},uid-${name},"${groups.join(',')}"`);
  await writeFile(users, `${rows.join('\n')}\n`, { mode: 0o600 });
  const args = ['serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  args.push('--tls-cert-file', TLS.certFile, '--tls-private-key-file', TLS.keyFile);
  // All drivers connect from one address, more often than the limit for one address allows. One caller has all watches.
  args.push('--token-auth-file', users, '--probe-interval', '0', '--tls-handshakes-per-address', '0');
  args.push('--max-watches-per-caller', '8000', '--max-tokens-per-minute-per-caller', '0', ...serveArgs);
  const log = join(dataDir, 'log.jsonl');
  const command = [...nodeArgs, await builtProgram(), ...args];
  const announces = /Clusterpass serves (\S+)/;
  const started = spawnServer(command, announces, ['ignore', 'pipe', openSync(log, 'a')]);
  const { server, announced: url } = await started.catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await readFile(log, 'utf8')}`);
  });
  const startCpuSeconds = server.cpu() / 1e6;
  const adminToken = (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim();
  return { ...server, url, port: Number(new URL(url).port), dataDir, adminToken, startCpuSeconds };
}

/** Starts a bare `node:https` server for this work (`floor-process.ts`). */
export async function startFloor(
  work: 'token' | 'bytes' | 'watch' | 'create',
  sample?: Uint8Array,
): Promise<ServerProcess> {
  const file = join(await makeFolder(), 'sample');
  if (sample !== undefined) await writeFile(file, sample);
  const script = fileURLToPath(new URL('floor-process.ts', import.meta.url));
  const started = await spawnServer([script, work, file], /port (\d+)/, ['ignore', 'pipe', 'inherit', 'ipc']);
  return { ...started.server, port: Number(started.announced) };
}
