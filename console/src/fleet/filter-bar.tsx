import { memo, useId, useState, useSyncExternalStore } from 'react';
import { countOf } from '../components/count.ts';
import { CloseIcon, SearchIcon } from '../components/icons.tsx';
import { NO_HELP } from '../components/text-field.tsx';
import { useSession } from '../hooks/use-session.ts';
import { linkTo } from '../router.ts';
import { READINESS, READINESS_NAMES, type Readiness } from './cluster-row.ts';
import type { ReadinessCounts } from './filtered-rows.ts';
import type { FleetFilter } from './fleet-filter.ts';
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
      {[undefined, ...READINESS].map((each) => (
        <button
          key={each ?? 'all'}
          type="button"
          className="tile"
          aria-pressed={readiness === each}
          onClick={() => onReadiness(readiness === each ? undefined : each)}
        >
          <span className="tile-number">{format(each === undefined ? total : counts?.[each])}</span>
          <span className="tile-name">
            {each !== undefined && <ReadinessIcon readiness={each} />}
            {each === undefined ? 'All' : READINESS_NAMES[each]}
          </span>
        </button>
      ))}
    </fieldset>
  );
}

interface SearchBarProps {
  readonly filter: FleetFilter;
  readonly shown: number;
  readonly total: number;
  readonly loading: boolean;
  readonly mayRegister: boolean;
  readonly isExporting: boolean;
  readonly onExport: (isExporting: boolean) => void;
  readonly onSearch: (text: string) => void;
  readonly onToggleLabel: (label: string) => void;
}

/** Search, label filters and the number of clusters that match. */
export const SearchBar = memo(function SearchBar(props: SearchBarProps) {
  const { filter, shown, total, loading, mayRegister, isExporting, onExport, onSearch, onToggleLabel } = props;
  const id = useId();
  return (
    <search className="search-bar">
      <div className="search">
        <SearchIcon />
        <label className="visually-hidden" htmlFor={`${id}search`}>
          Search clusters
        </label>
        <input
          id={`${id}search`}
          type="search"
          placeholder="Search name, label, version, endpoint"
          {...NO_HELP}
          value={filter.search}
          onChange={(event) => onSearch(event.target.value)}
        />
      </div>
      <LabelFilter chosen={filter.labels} onLabel={onToggleLabel} />
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
            ? countOf(total, 'cluster')
            : `${shown.toLocaleString()} of ${total.toLocaleString()} clusters`}
      </p>
      <button type="button" className="button" aria-expanded={isExporting} onClick={() => onExport(!isExporting)}>
        Kubeconfig…
      </button>
      {mayRegister && (
        <a className="button" href={linkTo('register')}>
          Register a cluster
        </a>
      )}
    </search>
  );
});

/** More than a person chooses from; typing finds the others. */
const MAX_LABELS = 100;

interface LabelFilterProps {
  readonly chosen: readonly string[];
  readonly onLabel: (label: string) => void;
}

function LabelFilter({ chosen, onLabel }: LabelFilterProps) {
  const id = useId();
  const { fleet } = useSession();
  const [typed, setTyped] = useState('');
  const labels = useSyncExternalStore(fleet.subscribe, () => fleet.totals.commonLabels(MAX_LABELS, typed));
  const add = (label: string): void => {
    setTyped('');
    if (!chosen.includes(label)) onLabel(label);
  };
  return (
    <form
      className="label-filter"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.includes('=')) add(typed);
      }}
    >
      <input
        aria-label="Filter by label"
        placeholder="Filter by label"
        list={`${id}labels`}
        {...NO_HELP}
        value={typed}
        onChange={({ target: { value }, nativeEvent }) => {
          // The user has chosen it from the list.
          const isWhole = (nativeEvent as InputEvent).inputType === 'insertReplacementText';
          if (isWhole) add(value);
          else setTyped(value.trim());
        }}
      />
      <datalist id={`${id}labels`}>
        {labels.map(({ label, count }) => (
          <option key={label} value={label}>
            {count.toLocaleString()}
          </option>
        ))}
      </datalist>
    </form>
  );
}
