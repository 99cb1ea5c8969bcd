import { holds, type Row } from './compare.ts';
import { short } from './numbers.ts';

/** A single figure with bounds. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** At most this; without one it only informs. */
  readonly limit?: number;
  readonly least?: number;
}

/** Costs along one axis. */
export interface Curve {
  readonly name: string;
  readonly axis: string;
  readonly unit: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** The last may be at most so many times the first. */
  readonly limit?: number;
}

export interface Report {
  readonly rows?: readonly Row[];
  readonly figures?: readonly Figure[];
  readonly curves?: readonly Curve[];
}

function table(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

const goalText = ({ goal }: Row): string => {
  if ('rateShare' in goal) return `rate >= ${goal.rateShare}`;
  return 'share' in goal ? `cpu >= ${goal.share}` : `cpu <= ${goal.times}x`;
};

const isGood = ({ value, limit = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY }: Figure): boolean =>
  value <= limit && value >= least;

const growth = ({ points }: Curve): number => (points.at(-1)?.y ?? Number.NaN) / (points[0]?.y ?? Number.NaN);

export function print({ rows = [], figures = [], curves = [] }: Report): void {
  if (rows.length > 0) {
    const head = ['work', 'figure', 'floor', 'ratio', 'spread', 'CPU/unit', 'floor', 'ratio', 'spread', 'goal', ''];
    const lines = rows.map((row) => [
      row.name,
      `${short(row.rate)} ${row.unit}/s`,
      short(row.floorRate),
      short(row.ratio[0]),
      `${short(row.ratio[1])}-${short(row.ratio[2])}`,
      `${short(row.cpu)} us`,
      `${short(row.floorCpu)} us`,
      short(row.cpuRatio[0]),
      `${short(row.cpuRatio[1])}-${short(row.cpuRatio[2])}`,
      goalText(row),
      holds(row) ? 'holds' : 'MISSED',
    ]);
    console.log(table([head, ...lines]));
    for (const { name, note } of rows) if (note !== undefined) console.log(`  ${name}: ${note}`);
  }
  for (const figure of figures) {
    const { name, value, unit, limit, least } = figure;
    const bound = limit !== undefined ? `at most ${limit}` : least !== undefined ? `at least ${least}` : undefined;
    const verdict = bound === undefined ? '' : `  ${bound}: ${isGood(figure) ? 'holds' : 'MISSED'}`;
    console.log(`${name}: ${short(value)} ${unit}${verdict}`);
  }
  for (const curve of curves) {
    const points = curve.points.map(({ x, y }) => `${x}: ${short(y)}`).join('  ');
    const times = growth(curve);
    const verdict =
      curve.limit === undefined ? '' : ` at most ${curve.limit}: ${times <= curve.limit ? 'holds' : 'MISSED'}`;
    console.log(`${curve.name} (${curve.unit} by ${curve.axis})  ${points}  -> ${short(times)} times${verdict}`);
  }
}

/** Everything that has a goal holds. */
export const allHold = ({ rows = [], figures = [], curves = [] }: Report): boolean =>
  rows.every(holds) &&
  figures.every(isGood) &&
  curves.every((curve) => curve.limit === undefined || growth(curve) <= curve.limit);
