import { expect, it } from 'vitest';
import { createRounds } from './rounds.ts';

it('of rounds that fail in a row the first is reported, and one runs at a time', async () => {
  const outcomes = [false, false, true, false];
  const reports: unknown[] = [];
  let runs = 0;
  const round = async (): Promise<void> => {
    if (outcomes[runs++] !== true) throw new Error(`round ${runs}`);
  };
  const rounds = createRounds(round, (error) => reports.push((error as Error).message));
  for (let index = 0; index < outcomes.length; index++) {
    rounds.start();
    rounds.start();
    await rounds.ended();
  }
  expect([runs, reports]).toEqual([4, ['round 1', 'round 4']]);
});
