import type { TrackedToken } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { AuditLink } from '../audit/audit-link.tsx';
import { type Column, ListTable } from '../components/list-table.tsx';
import { Age, Remaining } from '../components/time.tsx';
import { hrefOf } from '../router.ts';

interface PassTableProps {
  readonly passes: readonly TrackedToken[];
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
}

/** The account of a pass, or the person whose pass it is. */
export const accountOf = ({ spec: { serviceAccount, user } }: TrackedToken): string =>
  serviceAccount === undefined ? (user?.username ?? '') : `${serviceAccount.namespace}/${serviceAccount.name}`;

const idOf = ({ metadata }: TrackedToken): string => metadata.name;

const COLUMNS: readonly Column<TrackedToken>[] = [
  {
    title: 'Account',
    isHeader: true,
    className: 'wrap-anywhere',
    cell: (pass) => {
      const { boundObjectRef: bound } = pass.spec;
      return (
        <>
          {visibleName(accountOf(pass))}
          {bound !== undefined && <span className="muted hint">{` bound to ${bound.kind} ${bound.name}`}</span>}
        </>
      );
    },
  },
  {
    title: 'Cluster',
    className: 'list-cluster wrap-anywhere',
    cell: ({ spec: { cluster } }) => <a href={hrefOf({ page: 'cluster', name: cluster })}>{cluster}</a>,
  },
  {
    title: 'Requested by',
    className: 'wrap-anywhere',
    cell: ({ spec }) => visibleName(spec.requestedBy.username),
  },
  {
    title: 'Audience',
    className: 'list-audience mono muted wrap-anywhere',
    cell: ({ spec }) => spec.audiences.join(', '),
  },
  { title: 'Issued', cell: ({ spec }) => <Age at={spec.issuedTimestamp} /> },
  { title: 'Expires', cell: ({ spec }) => <Remaining at={spec.expirationTimestamp} /> },
];

export function PassTable({ passes, selected, onSelect }: PassTableProps) {
  const isAll = passes.length > 0 && passes.every((pass) => selected.has(idOf(pass)));
  const isSelected = (pass: TrackedToken): boolean => selected.has(idOf(pass));
  const toggle = (name: string): void => {
    const next = new Set(selected);
    if (!next.delete(name)) next.add(name);
    onSelect(next);
  };
  const checkAll = (
    <input
      type="checkbox"
      checked={isAll}
      aria-label="Select all shown passes"
      onChange={() => onSelect(new Set(isAll ? [] : passes.map(idOf)))}
    />
  );
  const check = (pass: TrackedToken) => (
    <input
      type="checkbox"
      checked={isSelected(pass)}
      aria-label={`Select the pass ${idOf(pass)} for ${accountOf(pass)} in ${pass.spec.cluster}`}
      onChange={() => toggle(idOf(pass))}
    />
  );
  const columns: readonly Column<TrackedToken>[] = [
    { title: 'Select', head: checkAll, className: 'col-check', cell: check },
    ...COLUMNS,
    {
      title: 'ID',
      className: 'mono',
      cell: (pass) => <AuditLink field="pass" value={idOf(pass)} text={idOf(pass).slice(0, 8)} />,
    },
  ];
  return <ListTable columns={columns} rows={passes} keyOf={idOf} isSelected={isSelected} />;
}
