import { memo } from 'react';
import { ChartRow } from '../components/chart.tsx';
import { READINESS, READINESS_NAMES } from './cluster-row.ts';
import type { EnvironmentCount } from './fleet-totals.ts';

interface ReadinessChartProps {
  readonly environments: readonly EnvironmentCount[];
  readonly selectedLabels: readonly string[];
  readonly onToggle: (label: string) => void;
}

/** A stacked bar for each environment: its length is the number of clusters, its colors their readiness. */
export const ReadinessChart = memo(function ReadinessChart(props: ReadinessChartProps) {
  const { environments, selectedLabels, onToggle } = props;
  const largest = Math.max(1, ...environments.map(({ total }) => total));
  return (
    <section className="chart" aria-label="Readiness by environment">
      {environments.map(({ name, counts, label }) => {
        const present = READINESS.filter((readiness) => counts[readiness] > 0);
        const summary = present
          .map((readiness) => `${counts[readiness]} ${READINESS_NAMES[readiness].toLowerCase()}`)
          .join(', ');
        const Row = label === undefined ? 'div' : 'button';
        const button = label !== undefined && {
          type: 'button' as const,
          'aria-pressed': selectedLabels.includes(label),
          title: summary,
          onClick: () => onToggle(label),
        };
        return (
          <Row key={name} className="chart-row" {...button}>
            <ChartRow
              name={name === '' ? 'no environment' : name}
              parts={present.map((readiness) => [readiness, counts[readiness]])}
              largest={largest}
            />
            <span className="visually-hidden">: {summary}</span>
          </Row>
        );
      })}
    </section>
  );
});
