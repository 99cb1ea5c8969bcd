import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd } from '../conformance/etcd-process.ts';
import type { FaultKind } from './faults.ts';
import { type Progress, runChaos } from './run.ts';
import { openStage, type Stage } from './stage.ts';
import { problemsIn, summaryOf } from './summary.ts';

/** Each once, whatever the time it takes: `npm run test:chaos` is the long form. */
const FAULTS: readonly FaultKind[] = ['replica killed', 'etcd member killed', 'etcd member hangs', 'replica cut off'];

/** Clients get on with their work, however slow the machine is. */
async function goesOn(progress: Progress, more: Partial<Progress>): Promise<void> {
  const goals = Object.entries(more).map(
    ([key, n]) => [key as keyof Progress, progress[key as keyof Progress] + n] as const,
  );
  await expect
    .poll(() => goals.filter(([key, goal]) => progress[key] < goal).map(([key]) => key), { timeout: 60_000 })
    .toEqual([]);
}

describeWithEtcd('B2, B3, B8, B11: three replicas on three members of etcd, a short run of faults', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.close());

  it('no acknowledged write is lost, no event missed or doubled, each swap has one winner, and tokens go on', {
    timeout: 240_000,
  }, async () => {
    const left = [...FAULTS];
    const lines: string[] = [];
    const outcome = await runChaos(stage, {
      watchers: 12,
      writers: 3,
      tokenClients: 3,
      random: Math.random,
      next: () => left.shift(),
      calm: (progress) => goesOn(progress, { writes: 3, reads: 3, tokens: 3 }),
      during: (kind, progress) =>
        goesOn(progress, { writes: 4, reads: 4, tokens: 10, tokensAfterDeath: kind === 'replica killed' ? 50 : 0 }),
      report: (line) => lines.push(line),
    });
    const summary = [...lines, summaryOf(outcome)].join('\n');
    expect(problemsIn(outcome), summary).toEqual([]);
    expect([...outcome.faults.keys()]).toEqual(FAULTS);
    for (const [what, count] of Object.entries(outcome.ledger.checked)) expect(count, what).toBeGreaterThan(0);
  });
});
