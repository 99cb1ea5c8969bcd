import type { EtcdMember } from '../conformance/etcd-process.ts';
import type { Server } from '../e2e/support/server.ts';
import type { TcpProxy } from './tcp-proxy.ts';

export interface Machines {
  readonly members: readonly EtcdMember[];
  /** Replaced when a replica is started again. */
  readonly replicas: Server[];
  /** By replica: its proxies to the members. */
  readonly proxies: readonly (readonly TcpProxy[])[];
}

export interface Fault {
  /** The target of the fault. */
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

/** The faults by kind; each call picks a random target. */
export function faultsOf(
  { members, replicas, proxies }: Machines,
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
      const i = at(proxies.length);
      const all = proxies[i] ?? [];
      return {
        name: `replica ${i}`,
        begin: () => each(all, (proxy) => proxy.partition()),
        end: () => each(all, (proxy) => proxy.heal()),
      };
    },
    'replica cut off from one member': () => {
      const i = at(proxies.length);
      const j = at(members.length);
      const proxy = proxies[i]?.[j];
      return { name: `replica ${i} from member ${j}`, begin: () => proxy?.partition(), end: () => proxy?.heal() };
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
