import { memo, useEffect, useId, useRef } from 'react';
import { CloseIcon, SearchIcon } from '../components/icons.tsx';
import { linkTo } from '../router.ts';
import { READINESS, READINESS_NAMES, type Readiness } from './cluster-row.ts';
import type { ReadinessCounts } from './filtered-rows.ts';
import type { FleetFilter } from './fleet-filter.ts';
import type { LabelCount } from './fleet-totals.ts';
import { ReadinessIcon } from './readiness-badge.tsx';

interface ReadinessTilesProps {
  /** Undefined while loading. */
  readonly counts: ReadinessCounts | undefined;
  readonly readiness: Readiness | undefined;
  readonly onReadiness: (readiness: Readiness | undefined) => void;
}

/** The number of clusters by readiness. A click filters the table. */
export function ReadinessTiles({ counts, readiness, onReadiness }: ReadinessTilesProps) {
  const total = READINESS.reduce((sum, each) => sum + (counts?.[each] ?? 0), 0);
  const format = (count: number | undefined): string => (counts === undefined ? '–' : (count ?? 0).toLocaleString());
  return (
    <fieldset className="tiles">
      <legend className="visually-hidden">Filter by readiness</legend>
      <button
        type="button"
        className="tile"
        aria-pressed={readiness === undefined}
        onClick={() => onReadiness(undefined)}
      >
        <span className="tile-number">{format(total)}</span>
        <span className="tile-name">All</span>
      </button>
      {READINESS.map((each) => (
        <button
          key={each}
          type="button"
          className="tile"
          aria-pressed={readiness === each}
          onClick={() => onReadiness(readiness === each ? undefined : each)}
        >
          <span className="tile-number">{format(counts?.[each])}</span>
          <span className="tile-name">
            <ReadinessIcon readiness={each} />
            {READINESS_NAMES[each]}
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
  readonly mayRegister: boolean;
  readonly onSearch: (text: string) => void;
  readonly onToggleLabel: (label: string) => void;
}

/** Search, label filters and the number of clusters that match. */
export const SearchBar = memo(function SearchBar(props: SearchBarProps) {
  const { filter, labels, shown, total, loading, mayRegister, onSearch, onToggleLabel } = props;
  const id = useId();
  const searchField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focusSearch = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      searchField.current?.focus();
    };
    addEventListener('keydown', focusSearch);
    return () => removeEventListener('keydown', focusSearch);
  }, []);
  const offered = labels.filter(({ label }) => !filter.labels.includes(label));
  return (
    <search className="search-bar">
      <div className="search">
        <SearchIcon />
        <label className="visually-hidden" htmlFor={`${id}search`}>
          Search clusters
        </label>
        <input
          ref={searchField}
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
      <div className="label-filter">
        <label className="visually-hidden" htmlFor={`${id}label`}>
          Filter by label
        </label>
        <select
          id={`${id}label`}
          value=""
          disabled={offered.length === 0}
          onChange={(event) => onToggleLabel(event.target.value)}
        >
          <option value="" disabled>
            Filter by label
          </option>
          {offered.map(({ label, count }) => (
            <option key={label} value={label}>
              {`${label} (${count.toLocaleString()})`}
            </option>
          ))}
        </select>
      </div>
      <ul className="chips" aria-label="Label filters">
        {filter.labels.map((label) => (
          <li key={label}>
            <button
              type="button"
              className="chip"
              aria-label={`Remove filter ${label}`}
              onClick={() => onToggleLabel(label)}
            >
              <span className="mono">{label}</span>
              <CloseIcon />
            </button>
          </li>
        ))}
      </ul>
      <p className="result-count muted" role="status">
        {loading
          ? 'Loading…'
          : shown === total
            ? `${total.toLocaleString()} ${total === 1 ? 'cluster' : 'clusters'}`
            : `${shown.toLocaleString()} of ${total.toLocaleString()} clusters`}
      </p>
      {mayRegister && (
        <a className="button" href={linkTo('register')}>
          Register a cluster
        </a>
      )}
    </search>
  );
});
