import { memo } from 'react';
import { ChartRow } from '../components/chart.tsx';
import { READINESS, READINESS_NAMES } from './cluster-row.ts';
import type { EnvironmentCount } from './fleet-totals.ts';

/** A stacked bar for each environment: its length is the number of clusters, its colors their readiness. */
export const ReadinessChart = memo(({ environments }: { readonly environments: readonly EnvironmentCount[] }) => {
  const largest = Math.max(1, ...environments.map(({ total }) => total));
  return (
    <section className="chart" aria-label="Readiness by environment">
      {environments.map(({ name, counts }) => {
        const present = READINESS.filter((readiness) => counts[readiness] > 0);
        const summary = present.map((each) => `${counts[each]} ${READINESS_NAMES[each].toLowerCase()}`).join(', ');
        return (
          <div key={name} className="chart-row" title={summary}>
            <ChartRow
              name={name === '' ? 'no environment' : name}
              parts={present.map((readiness) => [readiness, counts[readiness]])}
              largest={largest}
            />
            <span className="visually-hidden">: {summary}</span>
          </div>
        );
      })}
    </section>
  );
});
