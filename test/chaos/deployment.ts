import { fileURLToPath } from 'node:url';
import { type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { startReplicas } from '../e2e/support/replicas.ts';
import type { Server } from '../e2e/support/server.ts';
import type { Link, Machines } from './faults.ts';
import { type Front, startFront } from './haproxy-front.ts';
import { openNetwork } from './namespaces.ts';
import { CHAOS_USER } from './revocation-clients.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface Deployment extends Machines {
  /** The steps of each replica, see docs/models.md. */
  readonly traces: readonly string[];
  close(): Promise<void>;
}

const tls = (name: string): string => fileURLToPath(new URL(`../e2e/support/tls/${name}`, import.meta.url));

/**
 * Three etcd members that are reached over TLS, three replicas, one of them with two workers, a proxy between each
 * replica and each member, one in front of each member for the others, and HAProxy in front of the replicas.
 */
export async function startDeployment(): Promise<Deployment> {
  const peers: TcpProxy[] = [];
  let proxies: TcpProxy[][] = [];
  const parts = new Parts();
  parts.onClose(async () => {
    for (const proxy of [...proxies.flat(), ...peers]) proxy.close();
  });
  return parts.closedOnError(async () => {
    const etcd = await parts.etcd({
      scheme: 'https',
      args: ['--cert-file', tls('server.crt'), '--key-file', tls('server.key')],
      advertisedPeers: async (addresses) => {
        peers.push(...(await Promise.all(addresses.map((address) => TcpProxy.to(address)))));
        return peers.map(({ endpoint }) => endpoint);
      },
    });
    proxies = await Promise.all(
      [0, 1, 2].map(() => Promise.all(etcd.endpoints.map((endpoint) => TcpProxy.to(endpoint)))),
    );
    const { servers, traces } = await parts.replicas(etcd, {
      endpointsOf: (i) => (proxies[i] ?? []).map(({ endpoint }) => endpoint),
      args: [...ARGS, '--etcd-cafile', tls('ca.crt')],
    });
    const front: Front | undefined = await startFront(servers.map(({ url }) => Number(new URL(url).port)));
    parts.onClose(async () => front?.close());
    return { members: etcd.members, replicas: servers, proxies, peers, front: front?.url, traces, close: parts.close };
  });
}

/** The same in network namespaces, each with its own clock: what is lost are packets. */
export async function startNamespaces(): Promise<Deployment> {
  const parts = new Parts();
  return parts.closedOnError(async () => {
    const network = await openNetwork(6);
    parts.onClose(network.close);
    const [replicaHosts, memberHosts] = [network.hosts.slice(0, 3), network.hosts.slice(3)];
    const etcd = await parts.etcd({ hosts: memberHosts });
    const { servers, traces } = await parts.replicas(etcd, {
      args: [...ARGS, '--etcd-insecure', '--insecure-http'],
      startOf: (i) => ({ host: replicaHosts[i]?.address ?? '', runner: replicaHosts[i]?.runner ?? [] }),
      envOf: (i) => replicaHosts[i]?.env ?? {},
    });
    const link = (pairs: readonly (readonly [number, number])[]): Link => {
      const set = (loss: number) => (): void => {
        for (const [a, b] of pairs)
          for (const [from, to] of [
            [a, b],
            [b, a],
          ] as const)
            network.set(from, to, { loss });
      };
      return { partition: set(100), heal: set(0) };
    };
    const proxies = [0, 1, 2].map((replica) => [3, 4, 5].map((member) => link([[replica, member]])));
    const peers = [3, 4, 5].map((one) => link([3, 4, 5].filter((other) => other !== one).map((other) => [one, other])));
    return { members: etcd.members, replicas: servers, proxies, peers, network, traces, close: parts.close };
  });
}

/** The index of the replica with workers. */
const WITH_WORKERS = 2;
/** The test holds the log of a replica in memory, and a long run has many requests. */
const ARGS = ['--log-level', 'warn'];

/** What is closed at the end, also after an error at the start; the last one first. */
class Parts {
  readonly #closers: (() => Promise<void>)[] = [];

  onClose(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  readonly close = async (): Promise<void> => {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  };

  async closedOnError<T>(start: () => Promise<T>): Promise<T> {
    try {
      return await start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async etcd(options: Parameters<typeof startEtcd>[0]): Promise<Etcd> {
    const etcd = await startEtcd({ ...options, size: 3 });
    this.onClose(() => etcd.destroy());
    return etcd;
  }

  async replicas(etcd: Etcd, options: Parameters<typeof startReplicas>[1]) {
    const users = { [CHAOS_USER]: ['system:masters'] };
    const argsOf = (i: number): string[] => (i === WITH_WORKERS ? ['--workers', '2'] : []);
    const started = await startReplicas(etcd, { ...options, count: 3, users, argsOf });
    const servers: Server[] = [...started.servers];
    this.onClose(async () => {
      // SIGKILL also ends a stopped process.
      for (const replica of servers) await replica.kill();
      await started.destroy();
    });
    return { servers, traces: started.traces };
  }
}
