export type Part = readonly [fill: string, count: number];

export const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, [, count]) => sum + count, 0);

/** Parts beside or above each other, as long as their counts. */
export const Parts = ({ parts }: { parts: readonly Part[] }) =>
  parts.map(([fill, count]) => <span key={fill} className={`chart-part fill-${fill}`} style={{ flexGrow: count }} />);

interface ChartRowProps {
  readonly name: string;
  readonly parts: readonly Part[];
  /** The count of the longest bar. */
  readonly largest: number;
}

/** What is in a row of a chart. */
export const ChartRow = ({ name, parts, largest }: ChartRowProps) => (
  <>
    <span className="chart-name" title={name}>
      {name}
    </span>
    <span className="chart-track" aria-hidden="true">
      <span className="chart-bar" style={{ width: `${(100 * sumOf(parts)) / largest}%` }}>
        <Parts parts={parts} />
      </span>
    </span>
    <span className="chart-count">{sumOf(parts).toLocaleString()}</span>
  </>
);
