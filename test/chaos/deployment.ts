import { fileURLToPath } from 'node:url';
import { type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { type Replicas, startReplicas } from '../e2e/support/replicas.ts';
import type { Machines } from './faults.ts';
import { type Front, startFront } from './haproxy-front.ts';
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
  let started: Replicas | undefined;
  let front: Front | undefined;
  const etcd: Etcd = await startEtcd({
    size: 3,
    scheme: 'https',
    args: ['--cert-file', tls('server.crt'), '--key-file', tls('server.key')],
    advertisedPeers: async (addresses) => {
      peers.push(...(await Promise.all(addresses.map((address) => TcpProxy.to(address)))));
      return peers.map(({ endpoint }) => endpoint);
    },
  });
  const replicas: Replicas['servers'][number][] = [];
  const close = async (): Promise<void> => {
    // SIGKILL also ends a stopped process.
    for (const replica of replicas) await replica.kill();
    await front?.close();
    await started?.destroy();
    for (const proxy of [...proxies.flat(), ...peers]) proxy.close();
    await etcd.destroy();
  };
  try {
    proxies = await Promise.all(
      [0, 1, 2].map(() => Promise.all(etcd.endpoints.map((endpoint) => TcpProxy.to(endpoint)))),
    );
    started = await startReplicas(etcd, {
      count: 3,
      users: { [CHAOS_USER]: ['system:masters'] },
      endpointsOf: (i) => (proxies[i] ?? []).map(({ endpoint }) => endpoint),
      // The test holds the log of a replica in memory, and a long run has many requests.
      args: ['--log-level', 'warn', '--etcd-cafile', tls('ca.crt')],
      argsOf: (i) => (i === WITH_WORKERS ? ['--workers', '2'] : []),
    });
    replicas.push(...started.servers);
    front = await startFront(replicas.map(({ url }) => Number(new URL(url).port)));
    return { members: etcd.members, replicas, proxies, peers, front: front?.url, traces: started.traces, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The index of the replica with workers. */
const WITH_WORKERS = 2;
