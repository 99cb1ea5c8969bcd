import { memo } from 'react';
import { STATE_NAMES, STATES } from './cluster-row.ts';
import type { EnvironmentCount } from './fleet-totals.ts';

interface ReadinessChartProps {
  readonly environments: readonly EnvironmentCount[];
  readonly chosen: readonly string[];
  readonly onToggle: (label: string) => void;
}

/** A bar for each environment, as long as its share of the fleet, in the colours of the states. */
export const ReadinessChart = memo(function ReadinessChart(props: ReadinessChartProps) {
  const { environments, chosen, onToggle } = props;
  const most = Math.max(1, ...environments.map(({ total }) => total));
  return (
    <section className="chart" aria-label="Readiness by environment">
      {environments.map(({ name, counts, total, label }) => {
        const said = STATES.filter((state) => counts[state] > 0).map(
          (state) => `${counts[state]} ${STATE_NAMES[state].toLowerCase()}`,
        );
        const content = (
          <>
            <span className="chart-name">{name === '' ? 'no environment' : name}</span>
            <span className="chart-track" aria-hidden="true">
              <span className="chart-bar" style={{ width: `${(100 * total) / most}%` }}>
                {STATES.filter((state) => counts[state] > 0).map((state) => (
                  <span key={state} className={`chart-part fill-${state}`} style={{ flexGrow: counts[state] }} />
                ))}
              </span>
            </span>
            <span className="chart-count">{total.toLocaleString()}</span>
            <span className="unseen">: {said.join(', ')}</span>
          </>
        );
        return label === undefined ? (
          <div key={name} className="chart-row">
            {content}
          </div>
        ) : (
          <button
            key={name}
            type="button"
            className="chart-row"
            aria-pressed={chosen.includes(label)}
            title={said.join(', ')}
            onClick={() => onToggle(label)}
          >
            {content}
          </button>
        );
      })}
    </section>
  );
});
