import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestOptions } from 'vitest';
import { ETCD, etcd as program } from '../../scripts/programs.ts';
import { describeWith } from '../describe-with.ts';

/** A real etcd: one process for each member, each with its own ports and folder. */
export interface Etcd {
  /** `host:port` of each member. */
  readonly endpoints: readonly string[];
  readonly members: readonly EtcdMember[];
  /** Ends every member and removes its data. */
  destroy(): Promise<void>;
}

export interface EtcdMember {
  readonly endpoint: string;
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  /** Starts it again with its data. Returns when it listens; it may still read its log and wait for a leader. */
  restart(): Promise<void>;
  /** etcd's own health check, a linearizable read: whether it has a leader and answers. */
  isHealthy(): Promise<boolean>;
}

/** Below the ports that kernels give to clients, which would take that of a program while it is restarted. */
const PORTS = [10_000, 32_000] as const;

async function listen(): Promise<Server> {
  for (;;) {
    const server = createServer().listen(randomInt(...PORTS), '127.0.0.1');
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

export async function startEtcd({
  size = 1,
  args = [],
  scheme = 'http',
  fsync = false,
  hosts = [],
  advertisedPeers = async (peers) => peers,
}: {
  size?: number;
  /** Given the `host:port` of the members for each other, the addresses at which they reach each other. */
  advertisedPeers?: (peers: readonly string[]) => Promise<readonly string[]>;
  args?: readonly string[];
  /** The addresses of other network namespaces, by member, and the commands that start them there. */
  hosts?: readonly { readonly address: string; readonly runner: readonly string[] }[];
  scheme?: 'http' | 'https';
  /** Uses fsync, which tests otherwise disable. */
  fsync?: boolean;
} = {}): Promise<Etcd> {
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-etcd-'));
  const ports = await freePorts(size * 3);
  const addressOf = (member: number): string => hosts[member]?.address ?? '127.0.0.1';
  const peers = Array.from({ length: size }, (_, i) => `${addressOf(i)}:${ports[size + i]}`);
  const advertised = (await advertisedPeers(peers)).map((peer) => `http://${peer}`);
  const cluster = advertised.map((url, i) => `m${i}=${url}`).join(',');
  const members = Array.from({ length: size }, (_, i) => {
    const client = `${scheme}://${addressOf(i)}:${ports[i]}`;
    const command = [
      ...(hosts[i]?.runner ?? []),
      ETCD,
      ...['--name', `m${i}`, '--data-dir', join(folder, `m${i}`), '--log-level', 'error'],
      ...(fsync ? [] : ['--unsafe-no-fsync']),
      // The cheapest password hash: slow machines must pass too.
      ...['--bcrypt-cost', '4'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', `http://${peers[i]}`, '--initial-advertise-peer-urls', advertised[i] ?? ''],
      ...['--initial-cluster', cluster, '--initial-cluster-state', 'new'],
      ...['--listen-metrics-urls', `http://${addressOf(i)}:${ports[2 * size + i]}`],
      ...args,
    ];
    const health = `http://${addressOf(i)}:${ports[2 * size + i]}/health`;
    return createMember(`${addressOf(i)}:${ports[i]}`, client, health, command);
  });
  await Promise.all(members.map((member) => member.restart()));
  return {
    endpoints: members.map(({ endpoint }) => endpoint),
    members,
    async destroy() {
      await Promise.all(members.map((member) => member.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function createMember(endpoint: string, url: string, health: string, command: readonly string[]): EtcdMember {
  let child: ChildProcess | undefined;
  let stderr = '';
  return {
    endpoint,
    signal(name) {
      child?.kill(name);
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    async restart() {
      const [program = '', ...args] = command;
      const started = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: process.env.PATH } });
      child = started;
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      while (!(await isListening(endpoint))) {
        if (started.exitCode !== null) throw new Error(`etcd at ${url} ended with ${started.exitCode}:\n${stderr}`);
      }
    },
    isHealthy: () =>
      fetch(health, { signal: AbortSignal.timeout(5_000) }).then(
        ({ ok }) => ok,
        () => false,
      ),
  };
}

/** Calls etcd's JSON API, for what the engine does not do. */
export async function etcdCall(etcd: Etcd, path: string, body: object, token = ''): Promise<unknown> {
  const response = await fetch(`http://${etcd.endpoints[0]}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(token === '' ? {} : { headers: { Authorization: token } }),
  });
  if (!response.ok) throw new Error(`etcd: ${path}: ${await response.text()}`);
  return response.json();
}

function isListening(endpoint: string): Promise<boolean> {
  const [host, port] = endpoint.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host: host ?? '', port: Number(port) });
    const answer = (is: boolean) => () => {
      socket.destroy();
      setTimeout(resolve, is ? 0 : 20, is);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });
}

export const describeWithEtcd = (name: string, tests: () => void, options: TestOptions = {}): void =>
  describeWith(program, name, tests, options);
