import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TLS } from '../../test/e2e/support/server.ts';
import { builtProgram } from './built-program.ts';
import { cpuOf } from './cpu.ts';
import type { Done, Order, Work } from './driver-process.ts';
import { type FleetSize, NARROW, READER, writeFleet } from './fleet.ts';

/** Something that serves, in a process of its own. */
export interface Served {
  readonly port: number;
  readonly pid: number;
  /** Microseconds computed so far. */
  cpu(): number;
  end(): Promise<void>;
}

export interface Desk extends Served {
  readonly url: string;
  readonly adminToken: string;
  readonly dataDir: string;
  /** From the start of the process until it served. */
  readonly startSeconds: number;
  readonly startCpuSeconds: number;
}

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** What was made for a benchmark and must not outlive it. */
const endings = new Set<() => Promise<void>>();

export async function endEverything(): Promise<void> {
  for (const end of [...endings].reverse()) await end();
}

function ending(end: () => Promise<void>): () => Promise<void> {
  const once = async (): Promise<void> => {
    if (endings.delete(once)) await end();
  };
  endings.add(once);
  return once;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-bench-'));
  ending(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function said(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const found = pattern.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it served: ${text}`)));
  });
}

/** The real program with a fleet of this size, as an operator would start it: TLS, SQLite, the default log. */
export async function startDesk(
  size: FleetSize,
  nodeArgs: readonly string[] = [],
  serveArgs: readonly string[] = [],
): Promise<Desk> {
  const dataDir = join(await makeFolder(), 'data');
  await writeFleet(dataDir, size);
  return startDeskOn(dataDir, nodeArgs, serveArgs);
}

export async function startDeskOn(
  dataDir: string,
  nodeArgs: readonly string[] = [],
  serveArgs: readonly string[] = [],
): Promise<Desk> {
  const users = join(dataDir, 'users.csv');
  const rows = [READER, NARROW].map(({ name, token }) => `${token},${name},uid-${name}`);
  await writeFile(users, `${rows.join('\n')}\n`, { mode: 0o600 });
  const args = ['serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0'];
  args.push('--tls-cert-file', TLS.certFile, '--tls-private-key-file', TLS.keyFile);
  // Whoever drives it opens all its connections before it asks for anything.
  args.push('--token-auth-file', users, '--probe-interval', '0', '--tls-handshakes-per-address', '0', ...serveArgs);
  const log = openSync(join(dataDir, 'log.jsonl'), 'a');
  const program = builtProgram();
  const begun = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], { stdio: ['ignore', 'pipe', log] });
  const end = ending(() => kill(child));
  const address = await said(child, /Clusterpass serves (\S+)/).catch(async (error: Error) => {
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

/** A bare `node:https` server for this work. */
export async function startFloor(work: 'token' | 'bytes' | 'watch' | 'create', sample?: Uint8Array): Promise<Served> {
  const args = [here('floor-process.ts'), work];
  if (sample !== undefined) {
    const file = join(await makeFolder(), 'sample');
    await writeFile(file, sample);
    args.push(file);
  }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const end = ending(() => kill(child));
  const pid = child.pid ?? 0;
  return { port: Number(await said(child, /port (\d+)/)), pid, cpu: () => cpuOf(pid), end };
}

/** The driver: another process that asks. */
export class Driver {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #last = 0;

  constructor() {
    this.#child = fork(here('driver-process.ts'), { stdio: 'inherit' });
    this.#child.on('message', ({ id, value, error }: { id: number; value?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new Error(error));
    });
    ending(() => kill(this.#child));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  order(order: Order): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, order });
    });
  }

  /** Connects first: handshakes are not what is measured. Gives what the server computed for each answer. */
  async run({ port, cpu }: Pick<Served, 'port' | 'cpu'>, work: Work): Promise<Done & { cpuPerUnit: number }> {
    await this.order({ do: 'connect', port, connections: work.connections });
    const before = cpu();
    const done = (await this.order({ do: 'work', ...work })) as Done;
    const cpuPerUnit = (cpu() - before) / work.total;
    await this.order({ do: 'close' });
    return { ...done, cpuPerUnit };
  }
}
