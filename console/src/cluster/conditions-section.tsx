import type { ClusterCondition } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Section } from '../components/section.tsx';
import { Age } from '../components/time.tsx';
import { type Readiness, readinessOf } from '../fleet/cluster-row.ts';
import type { Transition } from '../fleet/fleet-store.ts';
import { ReadinessIcon } from '../fleet/readiness-badge.tsx';

interface TimelineEntry {
  readonly at: number;
  readonly title: string;
  readonly detail: string;
  /** Undefined for entries that are not about a condition. */
  readonly readiness: Readiness | undefined;
}

/** The last transition of each condition and the transitions that the page has seen; the newest first. */
export function timelineOf(
  conditions: readonly ClusterCondition[],
  transitions: readonly Transition[],
  createdAt: string | undefined,
): TimelineEntry[] {
  const entries: TimelineEntry[] = transitions.map(({ type, from, to, reason, at }) => ({
    at,
    title: `${type}: ${from} → ${to}`,
    detail: reason,
    readiness: readinessOf({ type, status: to }),
  }));
  for (const condition of conditions) {
    const { type = '', status = '', reason = '', lastTransitionTime } = condition;
    const at = Date.parse(lastTransitionTime ?? '');
    const isListed = transitions.some((seen) => seen.type === type && seen.to === status && seen.at === at);
    if (Number.isNaN(at) || isListed) continue;
    entries.push({ at, title: `${type}: ${status}`, detail: reason, readiness: readinessOf(condition) });
  }
  const created = Date.parse(createdAt ?? '');
  if (!Number.isNaN(created)) entries.push({ at: created, title: 'Registered', detail: '', readiness: undefined });
  return entries.sort((a, b) => b.at - a.at);
}

interface ConditionsSectionProps {
  readonly conditions: readonly ClusterCondition[];
  readonly transitions: readonly Transition[];
  readonly createdAt: string | undefined;
}

export function ConditionsSection({ conditions, transitions, createdAt }: ConditionsSectionProps) {
  return (
    <Section title="Conditions">
      {conditions.length === 0 ? (
        <p className="muted">No conditions reported yet.</p>
      ) : (
        <ul className="conditions">
          {conditions.map((condition) => (
            <li key={condition.type}>
              <ReadinessIcon readiness={readinessOf(condition)} />
              <div className="wrap-anywhere">
                <p>
                  <strong>{visibleName(condition.type ?? '')}</strong> {condition.status}
                  {condition.reason && <span className="mono"> {visibleName(condition.reason)}</span>}
                </p>
                <p className="muted">{visibleName(condition.message ?? '')}</p>
              </div>
              <p className="muted end">
                {condition.lastHeartbeatTime === undefined ? 'no heartbeat' : 'last heartbeat '}
                {condition.lastHeartbeatTime !== undefined && <Age at={condition.lastHeartbeatTime} />}
              </p>
            </li>
          ))}
        </ul>
      )}
      <h3>Timeline</h3>
      <ol className="timeline">
        {timelineOf(conditions, transitions, createdAt).map((entry) => (
          <li key={`${entry.at} ${entry.title}`}>
            {entry.readiness === undefined ? (
              <span className="timeline-dot" aria-hidden="true" />
            ) : (
              <ReadinessIcon readiness={entry.readiness} />
            )}
            <span className="wrap-anywhere">
              {visibleName(entry.title)}
              {entry.detail !== '' && <span className="mono muted"> {visibleName(entry.detail)}</span>}
            </span>
            <span className="muted">
              <Age at={entry.at} />
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
