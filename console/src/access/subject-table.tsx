import type { GrantedSubject } from '../../../src/api/kinds/grant-reviews.ts';
import type { ResourceAccessReviewStatus } from '../../../src/client/access-reviews.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { type Column, ListTable } from '../components/list-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { bindingText } from '../grants/grant-changes.tsx';
import type { Query } from '../hooks/use-query.ts';
import { linkTo } from '../router.ts';

const COLUMNS: readonly Column<GrantedSubject>[] = [
  { title: 'Subject', isHeader: true, cell: (subject) => <Subject {...subject} /> },
  {
    title: 'Granted as',
    className: 'muted wrap-anywhere',
    cell: (subject) => (subject.binding === undefined ? 'needs no binding' : bindingText(subject)),
  },
];

/** Who may do something, with the binding and the role behind each. */
export const SubjectTable = ({ query }: { readonly query: Query<ResourceAccessReviewStatus | undefined> }) => (
  <Loaded query={query}>
    {(review) => (
      <>
        <ListTable columns={COLUMNS} rows={review?.subjects ?? []} keyOf={keyOf} />
        {review?.evaluationError && <p className="muted hint">This list is incomplete: {review.evaluationError}.</p>}
      </>
    )}
  </Loaded>
);

const keyOf = ({ kind, namespace, name, binding }: GrantedSubject): string =>
  JSON.stringify([kind, namespace, name, binding]);

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
