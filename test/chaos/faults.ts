import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { EtcdMember } from '../conformance/etcd-process.ts';
import type { Server } from '../e2e/support/server.ts';
import type { Direction, Network } from './namespaces.ts';

/** A way that packets take, which can be cut. */
export interface Link {
  partition(): void;
  heal(): void;
}

export interface Machines {
  readonly members: readonly EtcdMember[];
  /** Replaced when a replica is started again. */
  readonly replicas: Server[];
  /** By replica: its proxies to the members. */
  readonly proxies: readonly (readonly Link[])[];
  /** By member: the proxy through which the other members reach it. */
  readonly peers: readonly Link[];
  /** The replicas, then the members, if they are in network namespaces. */
  readonly network?: Network | undefined;
  /** The address of a load balancer in front of the replicas. */
  readonly front?: string | undefined;
}

interface FaultOptions extends Machines {
  /** How long after the death of the leader another replica may take to lead. */
  readonly takeoverMs: number;
  readonly onProblem: (kind: 'two leaders' | 'slow takeover', text: string) => void;
}

/** Of each STALL_MS, a slow member works for at least WORK_MS: as with a disk on which each fsync takes that long. */
const STALL_MS = 250;
const WORK_MS = 80;
const CLOCK_MS = 1_100;

const leads = async (replica: Server): Promise<boolean> => {
  const answer = await replica.call('GET', '/metrics', { signal: AbortSignal.timeout(4_000) }).catch(() => undefined);
  return /^clusterpass_leader 1$/m.test(answer?.text ?? '');
};

/** A process and its workers. */
const processesOf = (pid: number): number[] => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
];

/** The index of the replica that leads; waits for one. */
async function leaderAmong(
  replicas: readonly Server[],
  without: number | undefined,
  timeoutMs: number,
): Promise<number | undefined> {
  const begun = performance.now();
  while (performance.now() - begun < timeoutMs) {
    const found = await Promise.all(replicas.map((replica, i) => (i === without ? false : leads(replica))));
    if (found.includes(true)) return found.indexOf(true);
    await delay(200);
  }
  return undefined;
}

export interface Fault {
  /** The target of the fault. */
  readonly name: string;
  /** The replica that etcd does not answer meanwhile. */
  readonly cutsOff?: number | 'all';
  /** A replica has another time of day meanwhile. */
  readonly setsClock?: true;
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
  | 'etcd without quorum'
  | 'etcd member cut off by its peers'
  | 'etcd slow'
  | 'leading replica killed'
  | 'replica is not heard by etcd'
  | 'replica does not hear etcd'
  | 'etcd member is not heard by its peers'
  | 'packets lost, doubled and late'
  | 'clock of a replica ahead'
  | 'clock of a replica behind'
  | 'leading replica hangs';

/** Faults after which a replica is gone. */
export const DEATHS: ReadonlySet<FaultKind> = new Set(['replica killed', 'leading replica killed']);

/** The faults by kind; each call picks a random target. */
export function faultsOf(
  { members, replicas, proxies, peers, network, takeoverMs, onProblem }: FaultOptions,
  random: () => number,
): Readonly<Record<FaultKind, () => Fault>> {
  const at = (count: number): number => Math.floor(random() * count);
  const member = (): EtcdMember => members[at(members.length)] as EtcdMember;
  const each = <T>(all: readonly T[], action: (one: T) => void): void => {
    for (const one of all) action(one);
  };
  /** The leader is known when the fault begins. Afterwards another one has to lead, and it alone. */
  const ofLeader = (begin: (i: number) => Promise<void> | void, end: (i: number) => Promise<void> | void): Fault => {
    let leader = 0;
    return {
      name: 'the leader',
      begin: async () => {
        leader = (await leaderAmong(replicas, undefined, takeoverMs)) ?? 0;
        await begin(leader);
        const next = await leaderAmong(replicas, leader, takeoverMs);
        if (next === undefined) onProblem('slow takeover', `no replica led ${takeoverMs} ms after replica ${leader}`);
      },
      end: async () => {
        await end(leader);
        const old = replicas[leader];
        // It knows before its first response that its lease has expired.
        const both =
          old !== undefined && (await leads(old)) && (await leaderAmong(replicas, leader, takeoverMs)) !== undefined;
        if (both) onProblem('two leaders', `replica ${leader} still leads after another has taken over`);
      },
    };
  };
  const restart = async (i: number): Promise<void> => {
    const restarted = await replicas[i]?.restart();
    if (restarted !== undefined) replicas[i] = restarted;
  };
  const signal = (i: number, name: NodeJS.Signals): void => {
    for (const pid of processesOf(replicas[i]?.pid ?? 0)) process.kill(pid, name);
  };
  /** From each of some hosts to each of others, until its end. */
  const oneWay = (
    fault: Pick<Fault, 'name' | 'cutsOff'>,
    from: readonly number[],
    to: readonly number[],
    how: Direction,
  ): Fault => {
    const set = (direction: Direction): void =>
      each(from, (a) => each(to, (b) => a !== b && network?.set(a, b, direction)));
    return { ...fault, begin: () => set(how), end: () => set({}) };
  };
  const replicaHosts = replicas.map((_, i) => i);
  const memberHosts = members.map((_, i) => replicas.length + i);
  const clockOf = (seconds: number): Fault => {
    const i = at(replicas.length);
    const set = (offset: number) => async (): Promise<void> => {
      network?.hosts[i]?.setClock(offset);
      // The library reads it once a second.
      await delay(CLOCK_MS);
    };
    return { name: `replica ${i}`, setsClock: true, begin: set(seconds), end: set(0) };
  };
  return {
    'replica is not heard by etcd': () => {
      const i = at(replicas.length);
      return oneWay({ name: `replica ${i}`, cutsOff: i }, [i], memberHosts, { loss: 100 });
    },
    'replica does not hear etcd': () => {
      const i = at(replicas.length);
      return oneWay({ name: `replica ${i}`, cutsOff: i }, memberHosts, [i], { loss: 100 });
    },
    'etcd member is not heard by its peers': () => {
      const i = at(members.length);
      return oneWay({ name: `member ${i}` }, [memberHosts[i] ?? 0], memberHosts, { loss: 100 });
    },
    'packets lost, doubled and late': () => {
      const all = [...replicaHosts, ...memberHosts];
      return oneWay({ name: 'all', cutsOff: 'all' }, all, all, { loss: 2, duplicate: 5, delay: 5, jitter: 30 });
    },
    'clock of a replica ahead': () => clockOf(3_600),
    'clock of a replica behind': () => clockOf(-90),
    'leading replica killed': () => ofLeader(async (i) => void (await replicas[i]?.kill()), restart),
    'leading replica hangs': () =>
      ofLeader(
        (i) => signal(i, 'SIGSTOP'),
        (i) => signal(i, 'SIGCONT'),
      ),
    'etcd member cut off by its peers': () => {
      const i = at(peers.length);
      return { name: `member ${i}`, begin: () => peers[i]?.partition(), end: () => peers[i]?.heal() };
    },
    'etcd slow': () => {
      let isOver = false;
      let stalls: Promise<void> | undefined;
      const stall = async (): Promise<void> => {
        while (!isOver) {
          each(members, (one) => one.signal('SIGSTOP'));
          await delay(STALL_MS - WORK_MS);
          each(members, (one) => one.signal('SIGCONT'));
          // Until etcd is healthy: on a busy machine the time alone may pass without any work, or without a leader.
          do await delay(WORK_MS);
          while (!isOver && (await members[0]?.isHealthy()) === false);
        }
      };
      return {
        name: 'all members',
        begin: () => {
          stalls = stall();
        },
        end: () => {
          isOver = true;
          return stalls;
        },
      };
    },
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
      return {
        name: `replica ${i}`,
        begin: () => signal(i, 'SIGSTOP'),
        end: () => signal(i, 'SIGCONT'),
      };
    },
    'replica cut off': () => {
      const i = at(proxies.length);
      const all = proxies[i] ?? [];
      return {
        name: `replica ${i}`,
        cutsOff: i,
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
