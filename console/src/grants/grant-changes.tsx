import type { ClusterGrant } from '../../../src/api/kinds/grant-reviews.ts';
import type { ClusterGrantReviewStatus } from '../../../src/client/access-reviews.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { countOf } from '../components/count.ts';
import type { Query } from '../hooks/use-query.ts';

interface GrantChangesProps {
  readonly query: Query<ClusterGrantReviewStatus | undefined>;
  /** Of a cluster that does not exist yet, everything begins. */
  readonly isNew?: boolean;
}

/** Who gains and who loses what in a cluster by a change of its labels. */
export function GrantChanges({ query, isNew = false }: GrantChangesProps) {
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  if (query.status === 'failed') {
    return <p className="muted">What this changes for others cannot be shown: {query.message}</p>;
  }
  const { grants = [], incomplete = false, evaluationError = '' } = query.value ?? {};
  const { Begins: begins = [], Ends: ends = [], '': stays = [] } = Object.groupBy(grants, ({ change }) => change);
  return (
    <>
      {begins.length === 0 && ends.length === 0 && (
        <p>{isNew ? 'No binding selects it by label or name.' : 'No access changes.'}</p>
      )}
      <GrantGroup title={isNew ? 'Get access by label or name' : 'Gain access'} grants={begins} kind="gain" />
      <GrantGroup title="Lose access" grants={ends} kind="loss" />
      {stays.length > 0 && (
        <details className="quiet-details">
          <summary>
            {countOf(stays.length, 'binding holds', 'bindings hold')} {isNew ? 'in every cluster' : 'before and after'}
          </summary>
          <GrantGroup title="" grants={stays} kind="same" />
        </details>
      )}
      {incomplete && <p className="muted hint">This list is incomplete: {evaluationError}.</p>}
    </>
  );
}

interface GrantGroupProps {
  readonly title: string;
  readonly grants: readonly ClusterGrant[];
  readonly kind: 'gain' | 'loss' | 'same';
}

function GrantGroup({ title, grants, kind }: GrantGroupProps) {
  if (grants.length === 0) return null;
  return (
    <div className={`grant-group grant-${kind}`}>
      {title !== '' && <h3>{`${title}: ${countOf(grants.length, 'binding')}`}</h3>}
      {/* Keyboard users must be able to scroll a long one. */}
      <ul tabIndex={grants.length > 5 ? 0 : undefined}>
        {grants.map((grant) => (
          <li key={`${grant.binding?.kind} ${grant.binding?.namespace} ${grant.binding?.name}`}>
            <strong className="wrap-anywhere">{grant.subjects.map(subjectText).join(', ')}</strong>{' '}
            <span className="muted wrap-anywhere">{bindingText(grant)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

export interface BoundSubject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** `Group team-shop`, `ServiceAccount ci/builder`. */
export const subjectText = ({ kind, namespace = '', name }: BoundSubject): string =>
  `${kind} ${visibleName(namespace === '' ? name : `${namespace}/${name}`)}`;

/** `ClusterRole clusterpass:viewer by demo-team-shop-view in the namespace shop`. */
export function bindingText({ binding, role }: Pick<ClusterGrant, 'binding' | 'role'>): string {
  if (binding === undefined || role === undefined) return 'by a binding that you may not read';
  const namespace = binding.namespace ?? '';
  return `${role.kind} ${role.name} by ${binding.name}${namespace === '' ? '' : ` in the namespace ${namespace}`}`;
}
