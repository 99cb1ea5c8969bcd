import { holds, type Spread, type TableRow } from './compare.ts';
import { threeDigits } from './numbers.ts';

/** A single figure. Without `limit` and `least` it has no goal. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The goal: at most this. */
  readonly limit?: number;
  /** The goal: at least this. */
  readonly least?: number;
}

/** How CPU time grows along one axis. */
export interface Curve {
  readonly name: string;
  readonly axis: string;
  readonly unit: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** The goal: the last point is at most so many times the first. */
  readonly limit?: number;
}

export interface Report {
  readonly rows?: readonly TableRow[];
  readonly figures?: readonly Figure[];
  readonly curves?: readonly Curve[];
}

/** Explains the columns of all tables that follow. */
export const HEADER = [
  'Floor: the least that any Node server could do for the same work, in a separate process over the same TLS.',
  'Share by CPU: CPU time of the floor for one unit of work, divided by that of Clusterpass. At 1.00 Clusterpass costs',
  'as much as the floor, at 0.50 twice as much. It counts all threads of the server process. Other load on the machine',
  'changes it far less than the rate.',
  'Share by rate: units a second of Clusterpass, divided by those of the floor.',
  'Each share is the median of the rounds, with the lowest and the highest round in brackets.',
].join('\n');

/** Columns are aligned to the right, except the first. */
export function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

export const share = ([median, lowest, highest]: Spread): string =>
  `${threeDigits(median)} (${threeDigits(lowest)}-${threeDigits(highest)})`;

const goalText = ({ goal }: TableRow): string =>
  'rateShare' in goal ? `rate >= ${threeDigits(goal.rateShare)}` : `CPU >= ${threeDigits(goal.cpuShare)}`;

const verdict = (good: boolean): string => (good ? 'holds' : 'MISSED');

const isGood = ({ value, limit = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY }: Figure): boolean =>
  value <= limit && value >= least;

const growth = ({ points }: Curve): number => (points.at(-1)?.y ?? Number.NaN) / (points[0]?.y ?? Number.NaN);

const curveHolds = (curve: Curve): boolean => curve.limit === undefined || growth(curve) <= curve.limit;

function printRows(rows: readonly TableRow[]): void {
  const head = ['work', 'Clusterpass', 'floor', 'share by rate', 'CPU each', 'floor', 'share by CPU', 'goal', 'result'];
  const lines = rows.map((row) => [
    row.name,
    `${threeDigits(row.rate)} ${row.unit}/s`,
    `${threeDigits(row.floorRate)}/s`,
    share(row.rateShare),
    `${threeDigits(row.cpu)} us`,
    `${threeDigits(row.floorCpu)} us`,
    share(row.cpuShare),
    goalText(row),
    verdict(holds(row)),
  ]);
  console.log(table([head, ...lines]));
  for (const { name, about } of rows) console.log(`  ${name}: ${about}`);
}

function printFigure(figure: Figure): void {
  const { name, value, unit, limit, least } = figure;
  const goal = limit !== undefined ? `at most ${limit}` : least !== undefined ? `at least ${least}` : undefined;
  const result = goal === undefined ? '' : `; goal ${goal}: ${verdict(isGood(figure))}`;
  console.log(`${name}: ${threeDigits(value)} ${unit}${result}`);
}

function printCurve(curve: Curve): void {
  const { name, unit, axis, limit, points } = curve;
  const text = points.map(({ x, y }) => `${x.toLocaleString('en')}: ${threeDigits(y)}`).join(', ');
  const result = limit === undefined ? '' : `; goal at most ${limit}: ${verdict(curveHolds(curve))}`;
  const times = threeDigits(growth(curve));
  console.log(`CPU time of ${name}, ${unit} by ${axis}: ${text}; the last is ${times} times the first${result}`);
}

export function print({ rows = [], figures = [], curves = [] }: Report): void {
  if (rows.length > 0) printRows(rows);
  for (const figure of figures) printFigure(figure);
  for (const curve of curves) printCurve(curve);
}

/** True when every goal of the report is reached. */
export const allHold = ({ rows = [], figures = [], curves = [] }: Report): boolean =>
  rows.every(holds) && figures.every(isGood) && curves.every(curveHolds);
