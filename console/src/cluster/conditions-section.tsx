import { humanAge } from '../../../src/api/codec/go-text/human-duration.ts';
import type { ClusterCondition } from '../../../src/client/index.ts';
import type { State } from '../fleet/cluster-row.ts';
import type { Transition } from '../fleet/fleet-store.ts';
import { useNow } from '../parts/clock.ts';
import { StateDot } from '../parts/state-badge.tsx';
import { Section } from './section.tsx';

export interface TimelineEntry {
  readonly at: number;
  readonly title: string;
  readonly detail: string;
  /** Undefined for what is no state. */
  readonly state: State | undefined;
}

const stateFor = (status: string | undefined): State =>
  status === 'True' ? 'ready' : status === 'False' ? 'not-ready' : 'unknown';

/** What the conditions remember, and what was seen to happen while the page was open; the newest first. */
export function timelineOf(
  conditions: readonly ClusterCondition[],
  transitions: readonly Transition[],
  createdAt: string | undefined,
): TimelineEntry[] {
  const entries: TimelineEntry[] = transitions.map(({ type, from, to, reason, at }) => ({
    at,
    title: `${type}: ${from} → ${to}`,
    detail: reason,
    state: stateFor(to),
  }));
  for (const { type = '', status = '', reason = '', lastTransitionTime } of conditions) {
    const at = Date.parse(lastTransitionTime ?? '');
    const isTold = transitions.some((seen) => seen.type === type && seen.to === status && seen.at === at);
    if (Number.isNaN(at) || isTold) continue;
    entries.push({ at, title: `${type}: ${status}`, detail: reason, state: stateFor(status) });
  }
  const created = Date.parse(createdAt ?? '');
  if (!Number.isNaN(created)) entries.push({ at: created, title: 'Registered', detail: '', state: undefined });
  return entries.sort((a, b) => b.at - a.at);
}

interface ConditionsSectionProps {
  readonly conditions: readonly ClusterCondition[];
  readonly transitions: readonly Transition[];
  readonly createdAt: string | undefined;
}

export function ConditionsSection({ conditions, transitions, createdAt }: ConditionsSectionProps) {
  const now = useNow(10_000);
  const age = (time: string | undefined): string => (time === undefined ? '' : `${humanAge(time, now)} ago`);
  return (
    <Section title="Conditions">
      {conditions.length === 0 ? (
        <p className="muted">Nothing is known about its state yet.</p>
      ) : (
        <ul className="conditions">
          {conditions.map((condition) => (
            <li key={condition.type}>
              <StateDot state={stateFor(condition.status)} />
              <div>
                <p>
                  <strong>{condition.type}</strong> {condition.status}
                  {condition.reason && <span className="mono"> {condition.reason}</span>}
                </p>
                <p className="muted">{condition.message}</p>
              </div>
              <p className="muted end">checked {age(condition.lastHeartbeatTime) || 'never'}</p>
            </li>
          ))}
        </ul>
      )}
      <h3>Timeline</h3>
      <ol className="timeline">
        {timelineOf(conditions, transitions, createdAt).map((entry) => (
          <li key={`${entry.at} ${entry.title}`}>
            {entry.state === undefined ? (
              <span className="stop" aria-hidden="true" />
            ) : (
              <StateDot state={entry.state} />
            )}
            <span>
              {entry.title}
              {entry.detail !== '' && <span className="mono muted"> {entry.detail}</span>}
            </span>
            <time
              className="muted"
              dateTime={new Date(entry.at).toISOString()}
              title={new Date(entry.at).toLocaleString()}
            >
              {humanAge(entry.at, now)} ago
            </time>
          </li>
        ))}
      </ol>
    </Section>
  );
}
