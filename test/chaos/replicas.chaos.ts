/**
 * Three members of etcd, three replicas, and clients who go on whatever happens. Set CLUSTERPASS_CHAOS_SECONDS for how
 * long, CLUSTERPASS_CHAOS_READS for how many reads across replicas come first, and CLUSTERPASS_CHAOS_SEED to choose
 * the same faults again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, startEtcd } from '../conformance/etcd-process.ts';
import { seededRandom } from '../crash/random.ts';
import { addCluster, CLUSTERS, touch } from '../e2e/support/fleet.ts';
import { type Replicas, startReplicas } from '../e2e/support/replicas.ts';
import type { Server } from '../e2e/support/server.ts';
import { createAccount, createNamespace } from '../e2e/support/token-world.ts';
import { askForTokens, type World, watch, write } from './clients.ts';
import { Cable } from './cut.ts';
import { faultsOf } from './faults.ts';
import { judge } from './history.ts';

const SECONDS = Number(process.env.CLUSTERPASS_CHAOS_SECONDS ?? 120);
const READS = Number(process.env.CLUSTERPASS_CHAOS_READS ?? 100_000);
const SEED = Number(process.env.CLUSTERPASS_CHAOS_SEED ?? Math.floor(Math.random() * 1e6));
const WATCHERS = 100;
const WRITERS = 6;
const RECOVERY_MS = 10_000;
const LONG_MS = (SECONDS + READS / 100 + 300) * 1_000;

const report = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

describeWithEtcd('replicas under faults', () => {
  let etcd: Etcd;
  let started: Replicas;
  let cables: Cable[][];
  let replicas: Server[];
  beforeAll(async () => {
    etcd = await startEtcd({ size: 3 });
    cables = await Promise.all([0, 1, 2].map(() => Promise.all(etcd.endpoints.map((endpoint) => Cable.to(endpoint)))));
    started = await startReplicas(etcd, {
      count: 3,
      endpointsOf: (i) => (cables[i] ?? []).map(({ endpoint }) => endpoint),
    });
    replicas = [...started.servers];
  });
  afterAll(async () => {
    for (const replica of replicas ?? []) await replica.kill();
    for (const cable of cables?.flat() ?? []) cable.close();
    await started?.destroy();
    await etcd?.destroy();
  });

  it(`${READS} reads across replicas, none older than what was acknowledged`, { timeout: LONG_MS }, async () => {
    const LANES = 24;
    let reads = 0;
    await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        const name = `lane-${lane}`;
        await addCluster(replicas[0] as Server, name);
        for (let round = 0; reads < READS; round++) {
          const version = await touch(replicas[round % 3] as Server, name, `${round}`);
          const others = [replicas[(round + 1) % 3], replicas[(round + 2) % 3]] as Server[];
          await Promise.all(
            others.flatMap((other) =>
              Array.from({ length: 4 }, async () => {
                const { code, json } = await other.call('GET', `${CLUSTERS}?fieldSelector=metadata.name=${name}`);
                expect(code).toBe(200);
                expect(Number(json.items[0].metadata.resourceVersion)).toBe(version);
                reads += 1;
              }),
            ),
          );
        }
      }),
    );
    report(`${reads} reads across replicas: none was stale`);
  });

  it(`${SECONDS} seconds of faults: nothing acknowledged is lost, no event missed or doubled`, {
    timeout: LONG_MS,
  }, async () => {
    const random = seededRandom(SEED);
    report(`seed ${SEED}`);
    let running = true;
    let goal: number | undefined;
    const world: World = { replicas, random: Math.random, running: () => running };
    await addCluster(replicas[0] as Server, 'alpha');
    await createNamespace(replicas[0] as Server, 'ci');
    await createAccount(replicas[0] as Server, 'builder');
    const names = Array.from({ length: WRITERS }, (_, i) => `w-${i}`);
    for (const name of names) await addCluster(replicas[0] as Server, name, { labels: { chaos: 'yes' } });
    const writers = Promise.all(names.map((name) => write(world, name)));
    const watchers = Promise.all(Array.from({ length: WATCHERS }, () => watch(world, () => goal)));
    const tokens = Promise.all([askForTokens(world), askForTokens(world)]);

    const make = faultsOf({ members: etcd.members, replicas, cables }, random);
    const end = performance.now() + SECONDS * 1_000;
    const slowest = new Map<string, number>();
    for (let i = 0; performance.now() < end; i++) {
      await delay(1_000 + random() * 2_000);
      const fault = make[i < make.length ? i : Math.floor(random() * make.length)]?.();
      if (fault === undefined) continue;
      await fault.begin();
      await delay(1_000 + random() * 6_000);
      await fault.end();
      const took = await recovery(replicas);
      const kind = fault.name.replace(/ \S*\d\S*/, '');
      slowest.set(kind, Math.max(slowest.get(kind) ?? 0, took));
      report(`${fault.name}: all replicas write again after ${Math.round(took)} ms`);
      expect(took, fault.name).toBeLessThan(RECOVERY_MS);
    }
    running = false;
    const written = await writers;
    goal = await touch(replicas[0] as Server, 'w-0', 'the end');
    const history = {
      writes: written.flatMap(({ writes }) => writes),
      reads: written.flatMap(({ reads }) => reads),
      watchers: await watchers,
    };
    const { problems, checked } = judge(history);
    const asked = await tokens;
    const lists = await Promise.all(replicas.map((replica) => replica.call('GET', CLUSTERS)));
    const unknown = written.reduce((sum, one) => sum + one.unknown, 0);
    report(`checked: ${JSON.stringify({ ...checked, unknown })}`);
    report(`stretches: ${history.watchers.flat().length} of ${WATCHERS} watches`);
    report(`tokens: ${asked.map(({ issued, accepted }) => `${accepted} of ${issued} accepted elsewhere`).join(', ')}`);
    report(`slowest recovery: ${JSON.stringify(Object.fromEntries(slowest))}`);
    expect(problems.slice(0, 20)).toEqual([]);
    expect(asked.flatMap((one) => one.problems)).toEqual([]);
    for (const { writer, n } of written.flatMap(({ writes }) => writes.slice(-1))) {
      const item = lists[1]?.json.items.find((one: { metadata: { name: string } }) => one.metadata.name === writer);
      expect(Number(item.metadata.annotations.n)).toBeGreaterThanOrEqual(n);
    }
    const versions = lists.map(({ json }) => json.items.map((item: { metadata: object }) => item.metadata));
    expect(versions[1]).toEqual(versions[0]);
    expect(versions[2]).toEqual(versions[0]);
    for (const count of Object.values(checked)) expect(count).toBeGreaterThan(0);
  });
});

/** Until every replica takes a write; how long that took. */
async function recovery(replicas: readonly Server[]): Promise<number> {
  const begun = performance.now();
  await Promise.all(
    replicas.map(async (replica, i) => {
      const body = { metadata: { annotations: { probe: `${i}-${begun}` } } };
      const headers = { 'Content-Type': 'application/merge-patch+json' };
      for (;;) {
        const signal = AbortSignal.timeout(3_000);
        const answer = await replica
          .call('PATCH', `${CLUSTERS}/alpha`, { body, headers, signal })
          .catch(() => undefined);
        if (answer?.code === 200) return;
        if (performance.now() - begun > 6 * RECOVERY_MS) throw new Error(`replica ${i} does not recover`);
        await delay(50);
      }
    }),
  );
  return performance.now() - begun;
}
