import type { TrackedToken } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Age, Remaining } from '../components/time.tsx';
import { hrefOf, linkTo } from '../router.ts';

interface PassTableProps {
  readonly passes: readonly TrackedToken[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  /** The user may read recent events. */
  readonly showsEvents: boolean;
}

/** The account of a pass, or the person whose pass it is. */
export const accountOf = ({ spec: { serviceAccount, user } }: TrackedToken): string =>
  serviceAccount === undefined ? (user?.username ?? '') : `${serviceAccount.namespace}/${serviceAccount.name}`;

export function PassTable({ passes, selected, onSelect, showsEvents }: PassTableProps) {
  const isAll = passes.length > 0 && passes.every(({ metadata }) => selected.has(metadata.name));
  const toggle = (name: string): void => {
    const next = new Set(selected);
    if (!next.delete(name)) next.add(name);
    onSelect(next);
  };
  return (
    <table className="list">
      <thead>
        <tr>
          <th scope="col" className="col-check">
            <input
              type="checkbox"
              checked={isAll}
              aria-label="Select all shown passes"
              onChange={() => onSelect(new Set(isAll ? [] : passes.map(({ metadata }) => metadata.name)))}
            />
          </th>
          <th scope="col">Account</th>
          <th scope="col">Cluster</th>
          <th scope="col">Requested by</th>
          <th scope="col">Audience</th>
          <th scope="col">Issued</th>
          <th scope="col">Expires</th>
          <th scope="col">ID</th>
        </tr>
      </thead>
      <tbody>
        {passes.map((pass) => (
          <Row
            key={pass.metadata.name}
            pass={pass}
            isSelected={selected.has(pass.metadata.name)}
            showsEvents={showsEvents}
            onToggle={() => toggle(pass.metadata.name)}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly pass: TrackedToken;
  readonly isSelected: boolean;
  readonly showsEvents: boolean;
  readonly onToggle: () => void;
}

function Row({ pass, isSelected, showsEvents, onToggle }: RowProps) {
  const { metadata, spec } = pass;
  const id = metadata.name;
  return (
    <tr className={isSelected ? 'selected' : undefined}>
      <td className="col-check">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Select the pass ${id} for ${accountOf(pass)} in ${spec.cluster}`}
          onChange={onToggle}
        />
      </td>
      <th scope="row" data-label="Account" className="wrap-anywhere">
        {visibleName(accountOf(pass))}
        {spec.boundObjectRef !== undefined && (
          <span className="muted hint">{` bound to ${spec.boundObjectRef.kind} ${spec.boundObjectRef.name}`}</span>
        )}
      </th>
      <td data-label="Cluster" className="list-cluster wrap-anywhere">
        <a href={hrefOf({ page: 'cluster', name: spec.cluster })}>{spec.cluster}</a>
      </td>
      <td data-label="Requested by" className="wrap-anywhere">
        {visibleName(spec.requestedBy.username)}
      </td>
      <td data-label="Audience" className="list-audience mono muted wrap-anywhere">
        {spec.audiences.join(', ')}
      </td>
      <td data-label="Issued">
        <Age at={spec.issuedTimestamp} />
      </td>
      <td data-label="Expires">
        <Remaining at={spec.expirationTimestamp} />
      </td>
      <td data-label="ID" className="mono">
        {showsEvents ? (
          <a href={linkTo('audit', { pass: id })} title={`Events of ${id}`}>
            {id.slice(0, 8)}
          </a>
        ) : (
          <span title={id}>{id.slice(0, 8)}</span>
        )}
      </td>
    </tr>
  );
}
