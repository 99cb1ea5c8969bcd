import { type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { type Replicas, startReplicas } from '../e2e/support/replicas.ts';
import type { Machines } from './faults.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface Deployment extends Machines {
  close(): Promise<void>;
}

/** Three etcd members, three replicas, and a proxy between each pair. */
export async function startDeployment(): Promise<Deployment> {
  let proxies: TcpProxy[][] = [];
  let started: Replicas | undefined;
  const etcd: Etcd = await startEtcd({ size: 3 });
  const replicas: Replicas['servers'][number][] = [];
  const close = async (): Promise<void> => {
    // SIGKILL also ends a stopped process.
    for (const replica of replicas) await replica.kill();
    await started?.destroy();
    for (const proxy of proxies.flat()) proxy.close();
    await etcd.destroy();
  };
  try {
    proxies = await Promise.all(
      [0, 1, 2].map(() => Promise.all(etcd.endpoints.map((endpoint) => TcpProxy.to(endpoint)))),
    );
    started = await startReplicas(etcd, {
      count: 3,
      endpointsOf: (i) => (proxies[i] ?? []).map(({ endpoint }) => endpoint),
      // The test holds the log of a replica in memory, and a long run has many requests.
      args: ['--log-level', 'warn'],
    });
    replicas.push(...started.servers);
    return { members: etcd.members, replicas, proxies, close };
  } catch (error) {
    await close();
    throw error;
  }
}
