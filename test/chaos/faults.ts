import type { EtcdMember } from '../conformance/etcd-process.ts';
import type { Server } from '../e2e/support/server.ts';
import type { Cable } from './cut.ts';

export interface Machines {
  readonly members: readonly EtcdMember[];
  /** Replaced when a replica is started again. */
  readonly replicas: Server[];
  /** The cables of each replica. */
  readonly cables: readonly (readonly Cable[])[];
}

export interface Fault {
  readonly name: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

/** Everything that can happen to one of each kind; two members at once are more than etcd bears. */
export function faultsOf({ members, replicas, cables }: Machines, random: () => number): (() => Fault)[] {
  const at = (count: number): number => Math.floor(random() * count);
  const member = (): EtcdMember => members[at(members.length)] as EtcdMember;
  const signal = (pid: number, name: NodeJS.Signals): void => {
    process.kill(pid, name);
  };
  return [
    () => {
      const one = member();
      return { name: `etcd ${one.endpoint} killed`, begin: () => one.kill(), end: () => one.restart() };
    },
    () => {
      const one = member();
      return {
        name: `etcd ${one.endpoint} hangs`,
        begin: () => one.signal('SIGSTOP'),
        end: () => one.signal('SIGCONT'),
      };
    },
    () => {
      const two = [...members].sort(() => random() - 0.5).slice(0, 2);
      return {
        name: 'quorum lost',
        begin: async () => {
          await Promise.all(two.map((one) => one.kill()));
        },
        end: async () => {
          await Promise.all(two.map((one) => one.restart()));
        },
      };
    },
    () => {
      const i = at(replicas.length);
      return {
        name: `replica ${i} killed`,
        begin: () => replicas[i]?.kill(),
        end: async () => {
          const restarted = await replicas[i]?.restart();
          if (restarted !== undefined) replicas[i] = restarted;
        },
      };
    },
    () => {
      const i = at(replicas.length);
      const pid = replicas[i]?.pid ?? 0;
      return { name: `replica ${i} hangs`, begin: () => signal(pid, 'SIGSTOP'), end: () => signal(pid, 'SIGCONT') };
    },
    () => {
      const i = at(cables.length);
      const all = cables[i] ?? [];
      return {
        name: `replica ${i} cut off`,
        begin: () => {
          for (const cable of all) cable.pull();
        },
        end: () => {
          for (const cable of all) cable.mend();
        },
      };
    },
    () => {
      const i = at(cables.length);
      const cable = cables[i]?.[at(members.length)];
      return { name: `replica ${i} cut off from one member`, begin: () => cable?.pull(), end: () => cable?.mend() };
    },
  ];
}
