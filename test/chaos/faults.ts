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
  /** To whom it happens. */
  readonly name: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

export type FaultKind =
  | 'replica killed'
  | 'replica hangs'
  | 'replica cut off'
  | 'replica cut off from one member'
  | 'etcd member killed'
  | 'etcd member hangs'
  | 'etcd without quorum';

/** Everything that can happen to one of each kind; two members at once are more than etcd bears. */
export function faultsOf(
  { members, replicas, cables }: Machines,
  random: () => number,
): Readonly<Record<FaultKind, () => Fault>> {
  const at = (count: number): number => Math.floor(random() * count);
  const member = (): EtcdMember => members[at(members.length)] as EtcdMember;
  const each = <T>(all: readonly T[], action: (one: T) => void): void => {
    for (const one of all) action(one);
  };
  return {
    'replica killed': () => {
      const i = at(replicas.length);
      return {
        name: `replica ${i}`,
        begin: () => replicas[i]?.kill(),
        end: async () => {
          const restarted = await replicas[i]?.restart();
          if (restarted !== undefined) replicas[i] = restarted;
        },
      };
    },
    'replica hangs': () => {
      const i = at(replicas.length);
      const pid = replicas[i]?.pid ?? 0;
      return {
        name: `replica ${i}`,
        begin: () => void process.kill(pid, 'SIGSTOP'),
        end: () => void process.kill(pid, 'SIGCONT'),
      };
    },
    'replica cut off': () => {
      const i = at(cables.length);
      const all = cables[i] ?? [];
      return {
        name: `replica ${i}`,
        begin: () => each(all, (cable) => cable.pull()),
        end: () => each(all, (cable) => cable.mend()),
      };
    },
    'replica cut off from one member': () => {
      const i = at(cables.length);
      const j = at(members.length);
      const cable = cables[i]?.[j];
      return { name: `replica ${i} from member ${j}`, begin: () => cable?.pull(), end: () => cable?.mend() };
    },
    'etcd member killed': () => {
      const one = member();
      return { name: `member ${members.indexOf(one)}`, begin: () => one.kill(), end: () => one.restart() };
    },
    'etcd member hangs': () => {
      const one = member();
      return {
        name: `member ${members.indexOf(one)}`,
        begin: () => one.signal('SIGSTOP'),
        end: () => one.signal('SIGCONT'),
      };
    },
    'etcd without quorum': () => {
      const out = at(members.length);
      const two = members.filter((_, i) => i !== out);
      return {
        name: `all members but ${out}`,
        begin: async () => void (await Promise.all(two.map((one) => one.kill()))),
        end: async () => void (await Promise.all(two.map((one) => one.restart()))),
      };
    },
  };
}
