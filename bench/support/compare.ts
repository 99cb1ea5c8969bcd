import type { Driver } from './driver.ts';
import type { Work } from './driver-process.ts';
import { median, threeDigits } from './numbers.ts';
import type { ServerProcess } from './processes.ts';

/** A median with the lowest and the highest value. */
export type Spread = readonly [median: number, lowest: number, highest: number];

/** One row of the table: Clusterpass beside a floor. */
export interface TableRow {
  readonly name: string;
  readonly unit: string;
  /** What Clusterpass does in this row, and what the floor does. */
  readonly about: string;
  /** Units a second; medians of the rounds. */
  readonly rate: number;
  readonly floorRate: number;
  /** The rate divided by the floor's, round by round. */
  readonly rateShare: Spread;
  /** Microseconds of CPU time for a unit; medians of the rounds. */
  readonly cpu: number;
  readonly floorCpu: number;
  /** The floor's CPU time for a unit divided by that of Clusterpass, round by round. */
  readonly cpuShare: Spread;
  readonly goal: Goal;
}

/** The median of the share by CPU, or of the share by rate, is at least this. */
export type Goal = { readonly cpuShare: number } | { readonly rateShare: number };

export interface Settings {
  readonly rounds: number;
  /** About how long one round of one side takes. */
  readonly seconds: number;
  /** Is called after each round, because a run takes minutes. */
  readonly progress?: (line: string) => void;
}

export const spreadOf = (values: readonly number[]): Spread => [
  median(values),
  Math.min(...values),
  Math.max(...values),
];

export interface Round {
  readonly rate: number;
  readonly cpuPerUnit: number;
}

export interface Rounds {
  readonly ours: readonly Round[];
  readonly floor: readonly Round[];
}

/** Runs both sides in each round, and changes which side begins: other load on the machine then affects both. */
export async function alternate(
  settings: Settings,
  ours: (round: number) => Promise<Round>,
  floor: (round: number) => Promise<Round>,
): Promise<Rounds> {
  const results = { ours: [] as Round[], floor: [] as Round[] };
  for (let round = 0; round < settings.rounds; round++) {
    const order = [['ours', ours] as const, ['floor', floor] as const];
    if (round % 2 === 1) order.reverse();
    for (const [side, run] of order) {
      const result = await run(round);
      results[side].push(result);
      const [rate, cpu] = [threeDigits(result.rate), threeDigits(result.cpuPerUnit)];
      settings.progress?.(`round ${round + 1}, ${side}: ${rate}/s, ${cpu} us of CPU each`);
    }
  }
  return results;
}

export function rowOf(about: Pick<TableRow, 'name' | 'unit' | 'about' | 'goal'>, { ours, floor }: Rounds): TableRow {
  const pairs = ours.map((mine, index) => [mine, floor[index] as Round] as const);
  return {
    ...about,
    rate: median(ours.map(({ rate }) => rate)),
    floorRate: median(floor.map(({ rate }) => rate)),
    rateShare: spreadOf(pairs.map(([mine, least]) => mine.rate / least.rate)),
    cpu: median(ours.map(({ cpuPerUnit }) => cpuPerUnit)),
    floorCpu: median(floor.map(({ cpuPerUnit }) => cpuPerUnit)),
    cpuShare: spreadOf(pairs.map(([mine, least]) => least.cpuPerUnit / mine.cpuPerUnit)),
  };
}

/** The number of units that takes about the time of a round, measured after a warm-up. */
async function calibrate(
  driver: Driver,
  server: ServerProcess,
  work: Omit<Work, 'total'>,
  { seconds }: Settings,
  warmUp: number,
): Promise<number> {
  await driver.run(server, { ...work, total: warmUp });
  const probe = await driver.run(server, { ...work, total: warmUp });
  return Math.max(work.connections, Math.round((warmUp / probe.seconds) * seconds));
}

export interface Comparison {
  readonly driver: Driver;
  readonly server: ServerProcess;
  readonly floor: ServerProcess;
  readonly work: Omit<Work, 'total'>;
  readonly settings: Settings;
  /**
   * Both sides handle twice as many units before the measurement. V8 compiles for thousands of requests, in threads
   * whose CPU time counts.
   */
  readonly warmUp: number;
}

/** Sends the same requests to Clusterpass and to the floor, in alternation. */
export async function compareRequests(
  about: Pick<TableRow, 'name' | 'unit' | 'about' | 'goal'>,
  { driver, server, floor, work, settings, warmUp }: Comparison,
): Promise<TableRow> {
  // As many as `calibrate` sends to the server.
  await driver.run(floor, { ...work, total: 2 * warmUp });
  const total = await calibrate(driver, server, work, settings, warmUp);
  const run = (side: ServerProcess) => async (): Promise<Round> => {
    const { seconds, cpuPerUnit } = await driver.run(side, { ...work, total });
    return { rate: total / seconds, cpuPerUnit };
  };
  return rowOf(about, await alternate(settings, run(server), run(floor)));
}

export function holds({ goal, cpuShare, rateShare }: TableRow): boolean {
  return 'rateShare' in goal ? rateShare[0] >= goal.rateShare : cpuShare[0] >= goal.cpuShare;
}
