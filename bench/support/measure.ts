import type { Driver, Work } from './driver.ts';
import type { ServerProcess } from './processes.ts';

export interface Settings {
  readonly rounds: number;
  /** About how long one round of one side takes. */
  readonly seconds: number;
  /** A study measures only what has this word in its name. */
  readonly rows: string;
  /** Is called after each round, because a run takes minutes. */
  readonly progress: (line: string) => void;
}

/** What a benchmark measures. Without `limit` and `least` it has no goal. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The lowest and the highest round. */
  readonly range?: readonly [lowest: number, highest: number];
  /** The goal: at most this. */
  readonly limit?: number | undefined;
  /** The goal: at least this. */
  readonly least?: number | undefined;
  /** Further figures, which have no goal. */
  readonly note?: string;
}

/** Explains all lines that follow. */
export const HEADER = [
  'Floor: the least that any Node server could do for the same work, in a separate process over the same TLS.',
  'Share by CPU: CPU time of the floor for one unit of work, divided by that of Clusterpass, over all threads. At 0.50',
  'Clusterpass costs twice as much.',
  'Each share is the median of the rounds, with the lowest and the highest round in brackets.',
].join('\n');

/** The value below which this share of the values lies: 0.99 is the 99th percentile, 1 the largest value. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The number with three significant digits. */
const threeDigits = (value: number): string =>
  value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);

/** The median of the rounds, and their range. */
export const spread = (values: readonly number[]): Pick<Figure, 'value' | 'range'> => ({
  value: median(values),
  range: [Math.min(...values), Math.max(...values)],
});

export const holds = ({ value, limit = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY }: Figure): boolean =>
  value <= limit && value >= least;

export function lineOf(figure: Figure): string {
  const { name, value, unit, range, limit, least, note } = figure;
  const rounds = range === undefined ? '' : ` (${range.map(threeDigits).join('-')})`;
  const goal = limit !== undefined ? `at most ${limit}` : least !== undefined ? `at least ${threeDigits(least)}` : '';
  const parts = [`${name}: ${threeDigits(value)}${rounds} ${unit}`.trimEnd()];
  if (note !== undefined) parts.push(note);
  if (goal !== '') parts.push(`goal ${goal}: ${holds(figure) ? 'holds' : 'MISSED'}`);
  return parts.join('; ');
}

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
  { rounds, progress }: Pick<Settings, 'rounds' | 'progress'>,
  ours: (round: number) => Promise<Round>,
  floor: (round: number) => Promise<Round>,
): Promise<Rounds> {
  const results = { ours: [] as Round[], floor: [] as Round[] };
  for (let round = 0; round < rounds; round++) {
    const order = [['ours', ours] as const, ['floor', floor] as const];
    if (round % 2 === 1) order.reverse();
    for (const [side, run] of order) {
      const result = await run(round);
      results[side].push(result);
      const [rate, cpu] = [threeDigits(result.rate), threeDigits(result.cpuPerUnit)];
      progress(`round ${round + 1}, ${side}: ${rate}/s, ${cpu} us of CPU each`);
    }
  }
  return results;
}

/** Round by round: a value of ours, divided by that of the floor. */
export const ratios = ({ ours, floor }: Rounds, of: (round: Round) => number): number[] =>
  ours.map((mine, index) => of(mine) / of(floor[index] as Round));

/** The medians of both sides. */
export const medians = (rounds: Rounds, of: (round: Round) => number): string =>
  [rounds.ours, rounds.floor].map((side) => threeDigits(median(side.map(of)))).join(' and ');

export const cpuOfRound = ({ cpuPerUnit }: Round): number => cpuPerUnit;

/** Clusterpass beside a floor. The goal: the median of the share by CPU is at least `least`. */
export const compared = (name: string, least: number, rounds: Rounds): Figure => ({
  name: `${name}, share by CPU`,
  ...spread(ratios({ ours: rounds.floor, floor: rounds.ours }, cpuOfRound)),
  unit: '',
  least,
  note: `${medians(rounds, cpuOfRound)} us each`,
});

interface Comparison {
  readonly driver: Driver;
  readonly server: ServerProcess;
  readonly floor: ServerProcess;
  readonly work: Work;
  readonly settings: Settings;
  /**
   * Both sides handle twice as many units before the measurement. V8 compiles for thousands of requests, in threads
   * whose CPU time counts.
   */
  readonly warmUp: number;
}

/** Sends the same requests to Clusterpass and to the floor, in alternation. */
export async function compareRequests(name: string, cpuShare: number, comparison: Comparison): Promise<Figure> {
  const { driver, server, floor, work, settings, warmUp } = comparison;
  await driver.run(floor, { ...work, total: 2 * warmUp });
  await driver.run(server, { ...work, total: warmUp });
  // As many units as take about the time of a round.
  const { rate } = await driver.run(server, { ...work, total: warmUp });
  const total = Math.max(work.connections, Math.round(rate * settings.seconds));
  const run = (side: ServerProcess) => (): Promise<Round> => driver.run(side, { ...work, total });
  return compared(name, cpuShare, await alternate(settings, run(server), run(floor)));
}

/** So many units warm up, and so many are one round. */
export type SizedWork = Work & { readonly total: number; readonly warmUp: number };

interface Side {
  readonly server: ServerProcess;
  readonly work: SizedWork;
}

/** The same request in a large and in a small fleet: by CPU, it costs at most half more. */
export async function grown(
  name: string,
  [large, small]: readonly [large: Side, small: Side],
  driver: Driver,
  settings: Settings,
): Promise<Figure> {
  const send = ({ server, work }: Side): Promise<Round> => driver.run(server, work);
  for (const { server, work } of [large, small]) await driver.run(server, { ...work, total: work.warmUp });
  const rounds = await alternate(
    settings,
    () => send(large),
    () => send(small),
  );
  const costs = `${medians(rounds, cpuOfRound)} us`;
  return { name, ...spread(ratios(rounds, cpuOfRound)), unit: 'times', limit: 1.5, note: costs };
}
