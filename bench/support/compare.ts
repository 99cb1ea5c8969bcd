import type { Work } from './driver-process.ts';
import { median, short } from './numbers.ts';
import type { Driver, Served } from './processes.ts';

/** One line of the table. */
export interface Row {
  readonly name: string;
  readonly unit: string;
  /** Units in a second; medians of the rounds. */
  readonly rate: number;
  readonly floorRate: number;
  /** Of the rates, round by round: the median, the least, the most. */
  readonly ratio: readonly [number, number, number];
  /** Microseconds of CPU for a unit: ours and the floor's, and the share of them round by round. */
  readonly cpu: number;
  readonly floorCpu: number;
  readonly cpuRatio: readonly [number, number, number];
  /** What is wanted of the ratio of CPU time. */
  readonly goal: Goal;
  readonly note?: string;
}

/** `share`: the floor's CPU for a unit is at least this part of ours. `times`: ours is at most so many times the floor's. */
export type Goal = { readonly share: number } | { readonly times: number } | { readonly rateShare: number };

export interface Settings {
  readonly rounds: number;
  /** About how long one round of one side lasts. */
  readonly seconds: number;
  /** Hears of each round: a run takes minutes. */
  readonly progress?: (line: string) => void;
}

const spread = (values: readonly number[]): readonly [number, number, number] => [
  median(values),
  Math.min(...values),
  Math.max(...values),
];

export interface Round {
  readonly rate: number;
  readonly cpuPerUnit: number;
}

/** Rounds in turn, each beginning with the other one: what the machine does meanwhile meets both. */
export async function alternate(
  settings: Settings,
  ours: (round: number) => Promise<Round>,
  floor: (round: number) => Promise<Round>,
): Promise<{ ours: Round[]; floor: Round[] }> {
  const results = { ours: [] as Round[], floor: [] as Round[] };
  for (let round = 0; round < settings.rounds; round++) {
    const order = [['ours', ours] as const, ['floor', floor] as const];
    if (round % 2 === 1) order.reverse();
    for (const [side, run] of order) {
      const result = await run(round);
      results[side].push(result);
      settings.progress?.(`round ${round + 1}, ${side}: ${short(result.rate)}/s, ${short(result.cpuPerUnit)} us`);
    }
  }
  return results;
}

export function rowOf(
  about: Pick<Row, 'name' | 'unit' | 'goal' | 'note'>,
  { ours, floor }: { ours: readonly Round[]; floor: readonly Round[] },
): Row {
  const pairs = ours.map((mine, index) => [mine, floor[index] as Round] as const);
  return {
    ...about,
    rate: median(ours.map(({ rate }) => rate)),
    floorRate: median(floor.map(({ rate }) => rate)),
    ratio: spread(pairs.map(([mine, least]) => mine.rate / least.rate)),
    cpu: median(ours.map(({ cpuPerUnit }) => cpuPerUnit)),
    floorCpu: median(floor.map(({ cpuPerUnit }) => cpuPerUnit)),
    cpuRatio: spread(pairs.map(([mine, least]) => least.cpuPerUnit / mine.cpuPerUnit)),
  };
}

/** As many units as take about the time of a round, after enough of them that the code is compiled. */
export async function calibrate(
  driver: Driver,
  served: Served,
  work: Omit<Work, 'total'>,
  { seconds }: Settings,
  warmUp: number,
): Promise<number> {
  await driver.run(served, { ...work, total: warmUp });
  const probe = await driver.run(served, { ...work, total: warmUp });
  return Math.max(work.connections, Math.round((warmUp / probe.seconds) * seconds));
}

/** The same requests to both, in alternation. */
export async function compareRequests(
  about: Pick<Row, 'name' | 'unit' | 'goal'>,
  parts: { driver: Driver; desk: Served; floor: Served; work: Omit<Work, 'total'>; settings: Settings; warmUp: number },
): Promise<Row> {
  const { driver, desk, floor, work, settings, warmUp } = parts;
  await driver.run(floor, { ...work, total: warmUp });
  const total = await calibrate(driver, desk, work, settings, warmUp);
  const run = (side: Served) => async (): Promise<Round> => {
    const { seconds, cpuPerUnit } = await driver.run(side, { ...work, total });
    return { rate: total / seconds, cpuPerUnit };
  };
  return rowOf(about, await alternate(settings, run(desk), run(floor)));
}

export function holds({ goal, cpuRatio, ratio }: Row): boolean {
  if ('rateShare' in goal) return ratio[0] >= goal.rateShare;
  return 'share' in goal ? cpuRatio[0] >= goal.share : 1 / cpuRatio[0] <= goal.times;
}
