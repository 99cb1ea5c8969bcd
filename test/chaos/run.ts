import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { EtcdMember } from '../conformance/etcd-process.ts';
import { addCluster, touch } from '../e2e/support/fleet.ts';
import { createAccount, createNamespace } from '../e2e/support/objects.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import type { Server } from '../e2e/support/server.ts';
import { contend, LABELS, type World, watch, write } from './clients.ts';
import { endBindings } from './ending-clients.ts';
import { DEATHS, type FaultKind, faultsOf, type Machines } from './faults.ts';
import { HistoryChecker } from './history-checker.ts';
import { RevocationClients } from './revocation-clients.ts';
import { TokenClients } from './token-clients.ts';

export interface Plan {
  readonly watchers: number;
  readonly writers: number;
  readonly tokenClients: number;
  readonly revocationClients: number;
  readonly endingClients: number;
  /**
   * The limits in wall time: revocation, takeover, errors after a death, recovery. They hold where etcd answers in less
   * than 0.7 s, so CI runs without them, on any machine.
   */
  readonly timeLimits: boolean;
  /** Between two operations of a client; default 0. Most of a short run is waiting for faults: it needs few of them. */
  readonly pauseMs?: number;
  /** How long a watch may show what has ended; default: as long as a whole fault may take. */
  readonly followMs?: number;
  /** Of the names of the objects, for several runs on one deployment. */
  readonly prefix?: string;
  readonly random: () => number;
  /** The next fault; undefined ends the run. */
  readonly next: () => FaultKind | undefined;
  /** Awaited before each fault, and during it. */
  readonly calm: (progress: Progress) => Promise<void>;
  readonly during: (kind: FaultKind, progress: Progress) => Promise<void>;
  readonly report: (line: string) => void;
}

/** The number of faults of one kind, and the slowest recovery. */
export interface Recoveries {
  readonly count: number;
  /** From the end of the fault until all members of etcd are healthy. */
  readonly slowestEtcdMs: number;
  /** From then on until all replicas accept a write. */
  readonly slowestMs: number;
}

/** Counts so far. */
export interface Progress {
  readonly writes: number;
  readonly reads: number;
  readonly tokens: number;
  /** Issued, not only asked for. */
  readonly tokensAfterDeath: number;
  readonly revocations: number;
  /** Watchers that have seen a permission end. */
  readonly ends: number;
  readonly problems: HistoryChecker['problems'];
}

export interface Outcome {
  readonly checker: HistoryChecker;
  readonly tokens: TokenClients['counts'];
  /** Writes with an unknown outcome. */
  readonly unknown: number;
  readonly faults: ReadonlyMap<FaultKind, Recoveries>;
  readonly seconds: number;
  /** MB of the largest replica and of the test, at the start and at the end. */
  readonly memory: { readonly replica: readonly [number, number]; readonly test: readonly [number, number] };
}

const CONTENDED = 'contended';
const CONTENDERS = 3;
const SETTLE_MS = 1_000;
/** A replica that reaches etcd again notices it with its next request. */
const CUT_OFF_MS = 2_000;
/** docs/promises.md: another replica leads within ten seconds after a death. A busy machine is given more. */
const TAKEOVER_MS = 20_000;
/** All replicas accept writes this soon after a fault, from the moment at which etcd answers. */
const RECOVERY_MS = 10_000;
const GIVE_UP_MS = 180_000;

/** Runs clients during one fault after the other, and checks the history of what they saw. */
export async function runChaos(machines: Machines, plan: Plan): Promise<Outcome> {
  const { replicas } = machines;
  const { random, report } = plan;
  const first = replicas[0] as Server;
  const checker = new HistoryChecker();
  const wrongClock = new CutOff(false);
  let running = true;
  let goal: number | undefined;
  const world: World = {
    replicas,
    checker,
    running: () => running,
    pauseMs: plan.pauseMs ?? 0,
    front: machines.front,
    isClockRight: () => !wrongClock.has(0, performance.now()),
  };
  const { prefix = '' } = plan;
  const contended = `${CONTENDED}${prefix}`.replace(/-$/, '');
  if ((await first.call('GET', `${CLUSTERS}/alpha`)).code === 404) {
    await addCluster(first, 'alpha');
    await createNamespace(first, 'ci');
    await createAccount(first, 'builder');
  }
  const names = Array.from({ length: plan.writers }, (_, i) => `w-${prefix}${i}`);
  for (const name of [...names, contended]) checker.created(name, await addCluster(first, name, { labels: LABELS }));

  const begun = performance.now();
  const memoryBefore = memory(replicas);
  const tokens = new TokenClients(world);
  const watchers = Promise.all(Array.from({ length: plan.watchers }, (_, id) => watch(world, id, () => goal)));
  const writers = Promise.all(names.map((name) => write(world, name)));
  const cutOff = new CutOff(machines.network !== undefined);
  const revocations = new RevocationClients(
    world,
    plan.timeLimits ? 'within a second' : 'after a consistent read',
    (replica, sentAt) => cutOff.has(replica, sentAt),
  );
  const others = [
    contend(world, contended, CONTENDERS),
    tokens.run(plan.tokenClients),
    revocations.run(plan.revocationClients),
    ...Array.from({ length: plan.endingClients }, (_, i) =>
      endBindings(world, `ends-${prefix}${i}`, plan.followMs ?? GIVE_UP_MS),
    ),
  ];
  const settling = setInterval(() => checker.settle(), SETTLE_MS);
  const progress: Progress = {
    get writes() {
      return checker.checked.writes ?? 0;
    },
    get reads() {
      return checker.checked.reads ?? 0;
    },
    get tokens() {
      return tokens.counts.asked;
    },
    get tokensAfterDeath() {
      return tokens.counts.askedAfterDeath - tokens.counts.failedAfterDeath;
    },
    get revocations() {
      return checker.checked.revocations ?? 0;
    },
    get ends() {
      return checker.checked.endsFollowed ?? 0;
    },
    problems: checker.problems,
  };

  const faults = new Map<FaultKind, Recoveries>();
  try {
    const make = faultsOf(
      {
        ...machines,
        takeoverMs: plan.timeLimits ? TAKEOVER_MS : GIVE_UP_MS,
        onProblem: (kind, text) => checker.problem(kind, text),
      },
      random,
    );
    await plan.calm(progress);
    for (let kind = plan.next(); kind !== undefined; kind = plan.next()) {
      const fault = make[kind]();
      tokens.otherFault();
      cutOff.begin(fault.cutsOff);
      if (fault.setsClock) wrongClock.begin('all');
      await fault.begin();
      if (DEATHS.has(kind)) tokens.died();
      await plan.during(kind, progress);
      await fault.end();
      cutOff.end();
      wrongClock.end();
      const etcdTook = await healthOf(machines.members);
      const took = await recovery(replicas);
      const known = faults.get(kind) ?? { count: 0, slowestEtcdMs: 0, slowestMs: 0 };
      faults.set(kind, {
        count: known.count + 1,
        slowestEtcdMs: Math.max(known.slowestEtcdMs, etcdTook),
        slowestMs: Math.max(known.slowestMs, took),
      });
      const etcdAnswers = `etcd answers after ${Math.round(etcdTook)} ms`;
      report(`${kind} (${fault.name}): ${etcdAnswers}, all replicas write again ${Math.round(took)} ms later`);
      if (plan.timeLimits && took > RECOVERY_MS)
        checker.problem('slow recovery', `${Math.round(took)} ms after: ${kind} (${fault.name})`);
      await plan.calm(progress);
    }
  } finally {
    running = false;
    await Promise.all([writers, ...others]);
    // Also after an error: the watches end at this version.
    goal = await touch(replicas[0] as Server, names[0] ?? '', 'the end').catch(() => 0);
    await watchers;
    clearInterval(settling);
  }
  const seconds = (performance.now() - begun) / 1_000;
  checker.close();
  if (plan.timeLimits) tokens.check();
  checker.compare(await Promise.all(replicas.map((replica) => listed(replica, [...names, contended]))));
  const memoryAfter = memory(replicas);
  return {
    checker,
    tokens: tokens.counts,
    unknown: (await writers).reduce((sum, one) => sum + one.unknown, 0),
    faults,
    seconds,
    memory: {
      replica: [memoryBefore.replica, memoryAfter.replica],
      test: [memoryBefore.test, memoryAfter.test],
    },
  };
}

/** A replica without etcd, or with a wrong clock: from the beginning of the fault until a little after its end. */
class CutOff {
  readonly #losesPackets: boolean;
  #replica: number | 'all' | undefined;
  #begun = 0;
  #until = 0;

  constructor(losesPackets: boolean) {
    this.#losesPackets = losesPackets;
  }

  begin(replica: number | 'all' | undefined): void {
    this.#replica = replica;
    this.#begun = performance.now();
    this.#until = Number.POSITIVE_INFINITY;
  }

  end(): void {
    const now = performance.now();
    // TCP sends again after at most as long as nothing came through.
    this.#until = now + Math.max(CUT_OFF_MS, this.#losesPackets ? now - this.#begun : 0);
  }

  has(replica: number, sentAt: number): boolean {
    return (this.#replica === 'all' || this.#replica === replica) && sentAt < this.#until;
  }
}

async function listed(replica: Server, names: readonly string[]): Promise<{ name: string; version: number }[]> {
  const { json } = await replica.call('GET', CLUSTERS);
  const items = json.items.filter(({ metadata }: { metadata: { name: string } }) => names.includes(metadata.name));
  return items.map(({ metadata }: { metadata: { name: string; resourceVersion: string } }) => ({
    name: metadata.name,
    version: Number(metadata.resourceVersion),
  }));
}

function memory(replicas: readonly Server[]): { replica: number; test: number } {
  const residentMb = ({ pid }: { pid: number }): number =>
    Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024);
  return { replica: Math.max(...replicas.map(residentMb)), test: residentMb(process) };
}

/** Waits until every member is healthy; returns the time that it took. */
async function healthOf(members: readonly EtcdMember[]): Promise<number> {
  const begun = performance.now();
  for (const member of members) {
    while (!(await member.isHealthy())) {
      if (performance.now() - begun > GIVE_UP_MS) throw new Error(`etcd at ${member.endpoint} does not recover`);
      await delay(50);
    }
  }
  return performance.now() - begun;
}

/** Waits until every replica accepts a write; returns the time that it took. */
async function recovery(replicas: readonly Server[]): Promise<number> {
  const begun = performance.now();
  await Promise.all(
    replicas.map(async (replica, i) => {
      const body = { metadata: { annotations: { probe: `${i}-${begun}` } } };
      for (;;) {
        const signal = AbortSignal.timeout(3_000);
        const answer = await replica.call('PATCH', `${CLUSTERS}/alpha`, { body, signal }).catch(() => undefined);
        if (answer?.code === 200) return;
        if (performance.now() - begun > GIVE_UP_MS) throw new Error(`replica ${i} does not recover`);
        await delay(50);
      }
    }),
  );
  return performance.now() - begun;
}
