import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithEtcd } from '../conformance/etcd-process.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import type { FaultKind } from './faults.ts';
import { checkPlantedViolations } from './planted-violations.ts';
import { type Progress, runChaos } from './run.ts';
import { problemsIn, summaryOf } from './summary.ts';
import { checkTraces } from './trace-checker.ts';

/** Each once. `npm run test:chaos` runs for longer. */
const FAULTS: readonly FaultKind[] = [
  'leading replica killed',
  'leading replica hangs',
  'etcd member killed',
  'etcd member hangs',
  'replica cut off',
  'etcd member cut off by its peers',
  'etcd slow',
];

/** Waits until the clients have done so much more, however slow the machine is. */
type Counts = Omit<Progress, 'problems'>;

async function waitForProgress(progress: Counts, more: Partial<Counts>): Promise<void> {
  const goals = Object.entries(more).map(
    ([key, n]) => [key as keyof Counts, progress[key as keyof Counts] + n] as const,
  );
  await expect
    .poll(() => goals.filter(([key, goal]) => progress[key] < goal).map(([key]) => key), { timeout: 180_000 })
    .toEqual([]);
}

describeWithEtcd('B2, B3, B8, B11: three replicas on three etcd members', () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await startDeployment();
  });
  afterAll(() => deployment?.close());

  // Before the faults, which kill processes.
  describe('the checks of the chaos run, with a replica that lies', () => checkPlantedViolations(() => deployment));

  it('a short run of faults: no acknowledged write is lost, no event missed or doubled, each compare-and-swap has one winner, and tokens are issued', {
    timeout: 900_000,
  }, async () => {
    const left = [...FAULTS];
    const lines: string[] = [];
    const outcome = await runChaos(deployment, {
      watchers: 6,
      writers: 3,
      tokenClients: 3,
      revocationClients: 2,
      endingClients: 2,
      timeLimits: false,
      pauseMs: 200,
      random: Math.random,
      next: () => left.shift(),
      calm: (progress) => waitForProgress(progress, { writes: 3, reads: 3, tokens: 3, revocations: 1 }),
      during: (kind, progress) =>
        waitForProgress(progress, {
          writes: 4,
          reads: 4,
          tokens: 10,
          tokensAfterDeath: kind === 'leading replica killed' ? 20 : 0,
          // Also without a leader.
          ends: kind === 'leading replica killed' ? 1 : 0,
        }),
      report: (line) => lines.push(line),
    });
    const summary = [...lines, summaryOf(outcome)].join('\n');
    const { steps, problems } = await checkTraces(deployment.traces);
    expect([...problemsIn(outcome), ...problems], `${summary}\n${JSON.stringify(steps)}`).toEqual([]);
    expect([...outcome.faults.keys()]).toEqual(FAULTS);
    for (const [what, count] of Object.entries(outcome.checker.checked)) expect(count, what).toBeGreaterThan(0);
  });
});
