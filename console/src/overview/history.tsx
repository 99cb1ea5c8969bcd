import type { FleetHour } from '../../../src/api/overview.ts';
import { type Part, Parts, sumOf } from '../components/chart.tsx';

export interface HistoryProps {
  readonly title: string;
  readonly hours: readonly FleetHour[];
  /** How many hours each of the columns up to now has. */
  readonly hoursEach: number;
  readonly columns: number;
  /** By color, where the number is in an hour; the lowest first. */
  readonly numbers: Readonly<Record<string, number>>;
  /** What the sums of the numbers say, each with the page that lists what is counted. */
  readonly texts: readonly (readonly [text: (sums: readonly number[]) => string, href: string])[];
}

/** A column for each hour, or for several. Where the server did not run, it is low or empty. */
export function History({ title, hours, hoursEach, columns, numbers, texts }: HistoryProps) {
  const now = Math.floor(Date.now() / 3_600_000);
  const partsOf = (last: number, count: number): readonly Part[] => {
    const rows = hours.filter(([hour]) => hour <= last && hour > last - count);
    return Object.entries(numbers).map(([fill, at]) => [fill, rows.reduce((sum, row) => sum + (row[at] ?? 0), 0)]);
  };
  const sums = partsOf(now, columns * hoursEach).map(([, sum]) => sum);
  const shown = Array.from({ length: columns }, (_, index) => now - (columns - 1 - index) * hoursEach).map((last) => ({
    last,
    parts: partsOf(last, hoursEach),
  }));
  const most = Math.max(1, ...shown.map(({ parts }) => sumOf(parts)));
  return (
    <div>
      <p className="history-texts">
        {title}
        {texts.map(([text, href]) => (
          <a key={href} href={href}>
            {text(sums)}
          </a>
        ))}
      </p>
      <div className="hours" aria-hidden="true">
        {shown.map(({ last, parts }) => (
          <span key={last} className="hour">
            <Parts parts={[...parts, ['', most - sumOf(parts)]]} />
          </span>
        ))}
      </div>
    </div>
  );
}
