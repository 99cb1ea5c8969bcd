import { type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { type Replicas, startReplicas } from '../e2e/support/replicas.ts';
import { Cable } from './cut.ts';
import type { Machines } from './faults.ts';

export interface Stage extends Machines {
  close(): Promise<void>;
}

/** Three members of etcd, three replicas, and a cable between each of both. */
export async function openStage(): Promise<Stage> {
  let cables: Cable[][] = [];
  let started: Replicas | undefined;
  const etcd: Etcd = await startEtcd({ size: 3 });
  const replicas: Replicas['servers'][number][] = [];
  const close = async (): Promise<void> => {
    // One that was stopped dies of SIGKILL all the same.
    for (const replica of replicas) await replica.kill();
    await started?.destroy();
    for (const cable of cables.flat()) cable.close();
    await etcd.destroy();
  };
  try {
    cables = await Promise.all([0, 1, 2].map(() => Promise.all(etcd.endpoints.map((endpoint) => Cable.to(endpoint)))));
    started = await startReplicas(etcd, {
      count: 3,
      endpointsOf: (i) => (cables[i] ?? []).map(({ endpoint }) => endpoint),
      // What a replica writes is kept here, and a long run has many requests.
      args: ['--log-level', 'warn'],
    });
    replicas.push(...started.servers);
    return { members: etcd.members, replicas, cables, close };
  } catch (error) {
    await close();
    throw error;
  }
}
