import type { GrantedSubject } from '../../../src/api/kinds/grant-reviews.ts';
import type { ResourceAccessReviewStatus } from '../../../src/client/access-reviews.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { bindingText } from '../grants/grant-changes.tsx';
import type { Query } from '../hooks/use-query.ts';
import { linkTo } from '../router.ts';

/** Who may do something, with the binding and the role behind each. */
export function SubjectTable({ query }: { readonly query: Query<ResourceAccessReviewStatus | undefined> }) {
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  if (query.status === 'failed') return <p className="problem">{query.message}</p>;
  const { subjects = [], evaluationError = '' } = query.value ?? {};
  return (
    <>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Subject</th>
            <th scope="col">Granted as</th>
          </tr>
        </thead>
        <tbody>
          {subjects.map((subject) => (
            <tr key={keyOf(subject)}>
              <th scope="row" data-label="Subject">
                <Subject {...subject} />
              </th>
              <td data-label="Granted as" className="muted wrap-anywhere">
                {subject.binding === undefined ? 'needs no binding' : bindingText(subject)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {evaluationError !== '' && <p className="muted hint">This list is incomplete: {evaluationError}.</p>}
    </>
  );
}

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
