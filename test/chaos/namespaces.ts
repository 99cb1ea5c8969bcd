import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { compiler, faketime, ip, whyMissing } from '../../scripts/programs.ts';

/** What happens to packets of one direction: percent, percent, milliseconds. */
export interface Direction {
  readonly loss?: number;
  readonly duplicate?: number;
  readonly delay?: number;
  readonly jitter?: number;
}

/** A machine of the network: commands run in its namespace, with its own clock. */
export interface Host {
  readonly address: string;
  /** In front of a command. */
  readonly runner: readonly string[];
  /** Of a process whose wall clock is `setClock`. The monotonic clock is that of the machine. */
  readonly env: Readonly<Record<string, string>>;
  setClock(offsetSeconds: number): void;
}

/** Machines in network namespaces, joined by `wire.c`. This process is in the network, too, and hears everything. */
export interface Network {
  readonly hosts: readonly Host[];
  /** Between two hosts, one way. */
  set(from: number, to: number, direction: Direction): void;
  close(): Promise<void>;
}

/** Why this machine cannot have one; undefined if it can. */
export function whyNoNetwork(): string | undefined {
  for (const program of [ip, compiler, faketime]) {
    const reason = whyMissing(program);
    if (reason !== undefined) return reason;
  }
  const { status, stderr } = spawnSync('unshare', ['--net', 'true'], { encoding: 'utf8' });
  return status === 0 ? undefined : `network namespaces are not permitted here: ${stderr}`;
}

/** The library shares memory by the process id, and a process that is killed leaves it. */
function removeFaketimeFiles(): void {
  for (const file of globSync('/dev/shm/{faketime_shm_,sem.faketime_sem_}*'))
    if (!existsSync(`/proc/${/\d+$/.exec(file)?.[0]}`)) rmSync(file, { force: true });
}

export async function openNetwork(size: number): Promise<Network> {
  const reason = whyNoNetwork();
  if (reason !== undefined) throw new Error(reason);
  const run = (...args: string[]): string => execFileSync(ip.path ?? '', args, { encoding: 'utf8' });
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-network-'));
  const program = join(folder, 'wire');
  execFileSync(compiler.path ?? '', ['-O1', '-o', program, join(import.meta.dirname, 'wire.c')]);
  // Private, and unlikely to be that of the machine, or of another run.
  const net = `10.${randomInt(64, 250)}.${randomInt(0, 256)}`;
  const name = `cp${randomInt(36 ** 4).toString(36)}-`;
  const wire = spawn(program, [name, `${size + 1}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(wire, 'exit');
  const made: string[] = [];
  const close = async (): Promise<void> => {
    wire.stdin.end();
    await ended;
    for (const namespace of made) run('netns', 'delete', namespace);
    removeFaketimeFiles();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.race([
      once(createInterface({ input: wire.stdout }), 'line'),
      ended.then(() => Promise.reject(new Error('the wire has ended'))),
    ]);
    run('address', 'add', `${net}.1/24`, 'dev', `${name}0`);
    run('link', 'set', `${name}0`, 'up', 'mtu', '1500');
    const [library = ''] = globSync(join(dirname(faketime.path ?? ''), 'root/usr/lib/*/faketime/libfaketimeMT.so.1'));
    const hosts = Array.from({ length: size }, (_, i): Host => {
      const [namespace, device, address] = [`${name}${i + 1}`, `${name}${i + 1}`, `${net}.${i + 2}`];
      run('netns', 'add', namespace);
      made.push(namespace);
      run('link', 'set', device, 'netns', namespace);
      run('-n', namespace, 'address', 'add', `${address}/24`, 'dev', device);
      for (const one of [device, 'lo']) run('-n', namespace, 'link', 'set', one, 'up');
      const clock = join(folder, `clock-${i}`);
      const setClock = (seconds: number): void => writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}s\n`);
      setClock(0);
      const env = {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        NO_FAKE_STAT: '1',
      };
      return { address, runner: [ip.path ?? '', 'netns', 'exec', namespace], env, setClock };
    });
    return {
      hosts,
      set: (from, to, { loss = 0, duplicate = 0, delay = 0, jitter = 0 }) => {
        wire.stdin.write(`${from + 1} ${to + 1} ${loss} ${duplicate} ${delay} ${jitter}\n`);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
