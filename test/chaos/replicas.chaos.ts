/**
 * `npm run test:chaos [-- --seconds S --reads N --seed X]`. The seed chooses the same faults again; what they meet is
 * up to the machine.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWithEtcd } from '../conformance/etcd-process.ts';
import { seededRandom } from '../crash/random.ts';
import { crossReads } from './cross-reads.ts';
import type { FaultKind } from './faults.ts';
import { runChaos } from './run.ts';
import { openStage, type Stage } from './stage.ts';
import { problemsIn, summaryOf } from './summary.ts';

const SECONDS = Number(process.env.CLUSTERPASS_CHAOS_SECONDS);
const READS = Number(process.env.CLUSTERPASS_CHAOS_READS ?? 0);
const SEED = Number(process.env.CLUSTERPASS_CHAOS_SEED ?? Math.floor(Math.random() * 1e6));
/** Deaths are what tokens are judged by, so they come twice as often. */
const KINDS: readonly FaultKind[] = [
  'etcd member killed',
  'replica killed',
  'etcd member hangs',
  'replica cut off',
  'etcd without quorum',
  'replica hangs',
  'replica cut off from one member',
  'replica killed',
];
const LONG_MS = (SECONDS + READS / 50 + 300) * 1_000;

const report = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

describeWithEtcd('replicas under faults', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await openStage();
  });
  afterEach(() => stage?.close());

  it.runIf(READS > 0)(
    `${READS} reads across replicas, none older than what was acknowledged`,
    {
      timeout: LONG_MS,
    },
    async () => {
      const { summary, stale } = await crossReads(stage.replicas, READS);
      report(summary);
      expect(stale).toEqual([]);
    },
  );

  it.runIf(SECONDS > 0)(
    `${SECONDS} seconds of faults: nothing acknowledged is lost, no event missed or doubled`,
    {
      timeout: LONG_MS,
    },
    async () => {
      const random = seededRandom(SEED);
      report(`seed ${SEED}`);
      const end = performance.now() + SECONDS * 1_000;
      let turn = 0;
      const outcome = await runChaos(stage, {
        watchers: 100,
        writers: 6,
        tokenClients: 4,
        random,
        next: () => {
          if (performance.now() >= end) return undefined;
          const i = turn < KINDS.length ? turn : Math.floor(random() * KINDS.length);
          turn += 1;
          return KINDS[i];
        },
        calm: () => delay(1_000 + random() * 2_000),
        // Long enough for requests to be judged that come after a death was noticed.
        during: (kind) => delay((kind === 'replica killed' ? 5_000 : 1_000) + random() * 5_000),
        recoveryMs: 10_000,
        report,
      });
      report(`\n${summaryOf(outcome)}\n`);
      expect(problemsIn(outcome)).toEqual([]);
      expect(outcome.tokens.askedAfterDeath).toBeGreaterThan(0);
      for (const [what, count] of Object.entries(outcome.ledger.checked)) expect(count, what).toBeGreaterThan(0);
    },
  );
});
