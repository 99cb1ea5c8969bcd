/**
 * `npm run test:chaos [-- --seconds S --reads N --seed X]`. The seed repeats the sequence of faults, not their timing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWithEtcd } from '../conformance/etcd-process.ts';
import { seededRandom } from '../crash/random.ts';
import { crossReads } from './cross-reads.ts';
import { type Deployment, startDeployment, startNamespaces } from './deployment.ts';
import type { FaultKind } from './faults.ts';
import { runChaos } from './run.ts';
import { problemsIn, summaryOf } from './summary.ts';
import { checkTraces } from './trace-checker.ts';

const SECONDS = Number(process.env.CLUSTERPASS_CHAOS_SECONDS);
const READS = Number(process.env.CLUSTERPASS_CHAOS_READS ?? 0);
const SEED = Number(process.env.CLUSTERPASS_CHAOS_SEED ?? Math.floor(Math.random() * 1e6));
/** Killed replicas come twice as often, because the checks of tokens need them. */
const BOTH_KINDS: readonly FaultKind[] = [
  'etcd member killed',
  'replica killed',
  'etcd member hangs',
  'replica cut off',
  'etcd without quorum',
  'replica hangs',
  'replica cut off from one member',
  'replica killed',
  'etcd member cut off by its peers',
  'etcd slow',
  'leading replica killed',
  'leading replica hangs',
];
/** In network namespaces. */
const NETWORK_KINDS: readonly FaultKind[] = [
  'replica is not heard by etcd',
  'replica killed',
  'replica does not hear etcd',
  'clock of a replica ahead',
  'etcd member is not heard by its peers',
  'packets lost, doubled and late',
  'clock of a replica behind',
  ...BOTH_KINDS,
];
const NAMESPACES = process.env.CLUSTERPASS_CHAOS_NAMESPACES === 'true';
const KINDS = NAMESPACES ? NETWORK_KINDS : BOTH_KINDS;
const LONG_MS = (SECONDS + READS / 50 + 300) * 1_000;

const report = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

describeWithEtcd('replicas under faults', () => {
  let deployment: Deployment;
  beforeEach(async () => {
    deployment = await (NAMESPACES ? startNamespaces() : startDeployment());
  });
  afterEach(() => deployment?.close());

  it.runIf(READS > 0)(
    `${READS} reads across replicas, none stale`,
    {
      timeout: LONG_MS,
    },
    async () => {
      const { summary, stale } = await crossReads(deployment.replicas, READS);
      report(summary);
      expect(stale).toEqual([]);
    },
  );

  it.runIf(SECONDS > 0)(
    `${SECONDS} seconds of faults: no acknowledged write is lost, no event missed or doubled`,
    {
      timeout: LONG_MS,
    },
    async () => {
      const random = seededRandom(SEED);
      report(`seed ${SEED}`);
      const end = performance.now() + SECONDS * 1_000;
      let count = 0;
      const outcome = await runChaos(deployment, {
        watchers: 100,
        writers: 6,
        tokenClients: 4,
        revocationClients: 4,
        endingClients: 4,
        timeLimits: true,
        random,
        next: () => {
          if (performance.now() >= end) return undefined;
          const i = count < KINDS.length ? count : Math.floor(random() * KINDS.length);
          count += 1;
          return KINDS[i];
        },
        calm: () => delay(1_000 + random() * 2_000),
        // Long enough for requests after a death has been noticed.
        during: (kind) => delay((kind === 'replica killed' ? 5_000 : 1_000) + random() * 5_000),
        report,
      });
      const { steps, problems } = await checkTraces(deployment.traces);
      report(
        `\n${summaryOf(outcome)}\n| steps of the replicas | ${JSON.stringify(steps)}: ${problems.length} problems |\n`,
      );
      expect([...problemsIn(outcome), ...problems]).toEqual([]);
      expect(outcome.tokens.askedAfterDeath).toBeGreaterThan(0);
      for (const [what, count] of Object.entries(outcome.checker.checked)) expect(count, what).toBeGreaterThan(0);
    },
  );
});
