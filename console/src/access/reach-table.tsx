import { useState } from 'react';
import type { GrantedSubject } from '../../../src/api/kinds/grant-reviews.ts';
import { givesTexts } from '../../../src/api/reach.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { FirstRows } from '../components/first-rows.tsx';
import type { Column } from '../components/list-table.tsx';

import { Remaining } from '../components/time.tsx';
import { bindingText } from '../grants/grant-changes.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useSession } from '../hooks/use-session.ts';
import { hrefOf, linkTo } from '../router.ts';
import { BINDING_GROUPS, type BindingReference, bindingKey, resourceOf } from './bindings.ts';
import { RemoveSubject } from './delete-binding.tsx';

/** What a binding gives to a subject, in a cluster. */
interface ReachRow extends GrantedSubject {
  /** Undefined if all rows are about one cluster. */
  readonly cluster?: string;
}

const COLUMNS: readonly Column<ReachRow>[] = [
  { title: 'Subject', isHeader: true, cell: (row) => <Subject {...row} /> },
  {
    title: 'Reaches',
    className: 'list-reaches',
    cell: (row) => (
      <ul>
        {givesTexts(row).map((text) => (
          <li key={text} className="wrap-anywhere">
            {text}
          </li>
        ))}
      </ul>
    ),
  },
  {
    title: 'Granted as',
    className: 'muted wrap-anywhere',
    cell: (row) => (row.binding === undefined ? 'needs no binding' : bindingText(row)),
  },
  {
    title: 'Ends',
    cell: ({ expiresAt }) =>
      expiresAt === undefined ? <span className="muted">never</span> : <Remaining at={expiresAt} />,
  },
];

const MASTERS = 'system:masters';

const CLUSTER: Column<ReachRow> = {
  title: 'Cluster',
  className: 'list-cluster',
  cell: ({ cluster = '' }) => (
    <a href={hrefOf({ page: 'cluster', name: cluster })} className="wrap-anywhere">
      {cluster}
    </a>
  ),
};

interface ReachTableProps {
  readonly rows: readonly ReachRow[];
  /** How many there are, as a sentence. */
  readonly count: string;
  /** Why rows are left out; `""` if none are. */
  readonly incomplete: string;
  readonly onRemoved: () => void;
}

/** Who reaches what, until when and through which binding, which can be removed there. */
export function ReachTable({ rows, count, incomplete, onRemoved }: ReachTableProps) {
  const { permissions } = useSession();
  const [chosen, setChosen] = useState<ReachRow>();
  const [removals, setRemovals] = useState(0);
  const status = useFocusAfterChange<HTMLParagraphElement>(removals);
  const mayRemove = ({ kind }: BindingReference): boolean =>
    permissions.can('delete', BINDING_GROUPS[kind], resourceOf(kind));
  const actions = (row: ReachRow) =>
    row.binding !== undefined &&
    // It needs no binding, and loses nothing with one.
    row.name !== MASTERS &&
    mayRemove(row.binding) && (
      <button
        type="button"
        className="button small"
        aria-label={`Remove ${row.kind} ${row.name} from ${row.binding.name}`}
        onClick={() => setChosen(row)}
      >
        Remove…
      </button>
    );
  const isOfMany = rows.some(({ cluster }) => cluster !== undefined);
  return (
    <>
      <p className="muted" role="status" ref={status} tabIndex={-1}>
        {count}
      </p>
      {chosen?.binding !== undefined && (
        <RemoveSubject
          key={keyOf(chosen)}
          binding={chosen.binding}
          subject={chosen}
          onCancel={() => setChosen(undefined)}
          onDone={() => {
            setChosen(undefined);
            setRemovals((old) => old + 1);
            onRemoved();
          }}
        />
      )}
      {rows.length > 0 && (
        <FirstRows
          search="Search"
          columns={[...(isOfMany ? [CLUSTER] : []), ...COLUMNS, { title: 'Actions', head: null, cell: actions }]}
          rows={rows}
          keyOf={keyOf}
          textOf={(row) => [row.cluster, row.kind, row.name, ...givesTexts(row), bindingText(row)].join(' ')}
        />
      )}
      {incomplete !== '' && <p className="muted hint">This list is incomplete: {incomplete}.</p>}
    </>
  );
}

const keyOf = ({ cluster, kind, namespace, name, binding }: ReachRow): string =>
  JSON.stringify([cluster, kind, namespace, name, binding && bindingKey(binding)]);

/** Links to what a user or a group reaches. */
export function Subject({ kind, namespace = '', name }: Pick<GrantedSubject, 'kind' | 'namespace' | 'name'>) {
  const text = visibleName(namespace === '' ? name : `${namespace}/${name}`);
  return (
    <span className="wrap-anywhere">
      <span className="muted">{kind}</span>{' '}
      {kind === 'ServiceAccount' ? (
        text
      ) : (
        <a href={linkTo('access', { view: 'person', [kind === 'User' ? 'user' : 'groups']: name })}>{text}</a>
      )}
    </span>
  );
}
