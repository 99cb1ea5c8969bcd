import { STATE_NAMES, type State } from '../fleet/cluster-row.ts';

/** Told by colour, by shape and by word: each alone is enough. */
export function StateDot({ state }: { state: State }) {
  return (
    <svg className={`dot dot-${state}`} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
      {state === 'ready' && <circle cx="5" cy="5" r="4" />}
      {state === 'not-ready' && <path d="M5 .8 9.6 9.2H.4Z" />}
      {state === 'unknown' && <circle cx="5" cy="5" r="3.25" fill="none" strokeWidth="1.5" strokeDasharray="2.5 2" />}
    </svg>
  );
}

export function StateBadge({ state }: { state: State }) {
  return (
    <span className={`state state-${state}`}>
      <StateDot state={state} />
      {STATE_NAMES[state]}
    </span>
  );
}
