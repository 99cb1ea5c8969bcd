import { memo, useEffect, useId, useRef } from 'react';
import { CloseIcon, SearchIcon } from '../parts/icons.tsx';
import { StateDot } from '../parts/state-badge.tsx';
import { STATE_NAMES, STATES, type State } from './cluster-row.ts';
import type { StateCounts } from './fleet-selection.ts';
import type { LabelCount } from './fleet-totals.ts';
import type { FleetFilter } from './select-rows.ts';

interface StateTilesProps {
  /** Undefined while nothing is known yet. */
  readonly counts: StateCounts | undefined;
  readonly state: State | undefined;
  readonly onState: (state: State | undefined) => void;
}

/** How many there are in each state; pressing one shows only those. */
export function StateTiles({ counts, state, onState }: StateTilesProps) {
  const total = STATES.reduce((sum, each) => sum + (counts?.[each] ?? 0), 0);
  const shown = (count: number | undefined): string => (counts === undefined ? '–' : (count ?? 0).toLocaleString());
  return (
    <fieldset className="tiles">
      <legend className="unseen">Show by readiness</legend>
      <button type="button" className="tile" aria-pressed={state === undefined} onClick={() => onState(undefined)}>
        <span className="tile-number">{shown(total)}</span>
        <span className="tile-name">All clusters</span>
      </button>
      {STATES.map((each) => (
        <button
          key={each}
          type="button"
          className="tile"
          aria-pressed={state === each}
          onClick={() => onState(state === each ? undefined : each)}
        >
          <span className="tile-number">{shown(counts?.[each])}</span>
          <span className="tile-name">
            <StateDot state={each} />
            {STATE_NAMES[each]}
          </span>
        </button>
      ))}
    </fieldset>
  );
}

interface SearchBarProps {
  readonly filter: FleetFilter;
  readonly labels: readonly LabelCount[];
  readonly shown: number;
  readonly total: number;
  readonly loading: boolean;
  readonly onSearch: (text: string) => void;
  readonly onToggleLabel: (label: string) => void;
}

/** Search, labels as chips, and how many are left. */
export const SearchBar = memo(function SearchBar(props: SearchBarProps) {
  const { filter, labels, shown, total, loading, onSearch, onToggleLabel } = props;
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // As in many consoles: a slash goes to the search, unless somebody is typing one.
    const focus = (event: KeyboardEvent): void => {
      const typing = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  const left = labels.filter(({ label }) => !filter.labels.includes(label));
  return (
    <search className="search-bar">
      <div className="search">
        <SearchIcon />
        <label className="unseen" htmlFor={`${id}search`}>
          Search clusters
        </label>
        <input
          ref={field}
          id={`${id}search`}
          type="search"
          placeholder="Search name, label, version, endpoint"
          spellCheck={false}
          autoComplete="off"
          value={filter.search}
          onChange={(event) => onSearch(event.target.value)}
        />
        <kbd title="Press / to search">/</kbd>
      </div>
      <div className="label-choice">
        <label className="unseen" htmlFor={`${id}label`}>
          Add a label
        </label>
        <select
          id={`${id}label`}
          value=""
          disabled={left.length === 0}
          onChange={(event) => onToggleLabel(event.target.value)}
        >
          <option value="" disabled>
            Add label…
          </option>
          {left.map(({ label, count }) => (
            <option key={label} value={label}>
              {`${label} (${count.toLocaleString()})`}
            </option>
          ))}
        </select>
      </div>
      <ul className="chips" aria-label="Chosen labels">
        {filter.labels.map((label) => (
          <li key={label}>
            <button type="button" className="chip" onClick={() => onToggleLabel(label)}>
              <span className="mono">{label}</span>
              <CloseIcon />
              <span className="unseen">remove</span>
            </button>
          </li>
        ))}
      </ul>
      <p className="shown muted" role="status">
        {loading
          ? 'Loading…'
          : shown === total
            ? `${total.toLocaleString()} ${total === 1 ? 'cluster' : 'clusters'}`
            : `${shown.toLocaleString()} of ${total.toLocaleString()}`}
      </p>
    </search>
  );
});
