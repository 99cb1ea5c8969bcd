import { clustersText } from '../../../src/api/clusters-field.ts';
import { givesPassesOf } from '../../../src/api/reach.ts';
import { reviewReach } from '../../../src/client/access-reviews.ts';
import { countOf } from '../components/count.ts';
import { First } from '../components/first-rows.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { clustersOfDraft, type GrantDraft } from './grant-manifest.ts';

const NAMES_AT_ONCE = 12;

/** What a grant changes: the clusters that the subject does not reach yet. */
export function GrantEffect({ draft }: { readonly draft: GrantDraft }) {
  const { client, fleet } = useSession();
  const { subjectKind, subject } = draft;
  const asked = subjectKind === 'User' ? { user: subject, groups: [] } : { groups: [subject] };
  const clusters = clustersOfDraft(draft);
  const query = useQuery(JSON.stringify([asked, clusters]), async () => {
    const { clusters: reached } = await reviewReach(client, undefined, asked);
    const seen =
      clusters.selector === undefined
        ? fleet.names(Number.POSITIVE_INFINITY)
        : (await client.listClusters({ labelSelector: clustersText(clusters) })).items.map(
            (item) => item.metadata.name,
          );
    const selected = seen.filter((name) => clusters.names?.includes(name) !== false);
    const givenIn = reached.map(({ name, subjects }) => [name, subjects.flatMap(({ gives = [] }) => gives)] as const);
    return { given: new Map(givenIn), selected };
  });
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  if (query.status === 'failed') return <p className="muted">What this changes cannot be shown: {query.message}</p>;
  const { given, selected } = query.value;
  const account = { namespace: draft.namespace, name: draft.action === 'account' ? draft.account : '' };
  const isReached = (name: string): boolean =>
    given
      .get(name)
      ?.some((each) =>
        draft.action === 'view'
          ? each.action === 'See'
          : each.action === 'AccountPasses' && givesPassesOf(account, each),
      ) === true;
  const { already = [], next = [] } = Object.groupBy(selected, (name) => (isReached(name) ? 'already' : 'next'));
  const gains = {
    view: 'sees',
    account: `gets passes for ${draft.namespace}/${draft.account} in`,
    namespace: `gets passes for every account of the namespace ${draft.namespace} in`,
  }[draft.action];
  return (
    <>
      <p>
        {selected.length === 0
          ? 'No cluster is selected now; clusters that are registered later may be.'
          : next.length === 0
            ? `${subject} has this already in all ${selected.length} selected clusters.`
            : `${subject} newly ${gains} ${countOf(next.length, 'cluster')}:`}
      </p>
      {next.length > 0 && (
        <First all={next} atOnce={NAMES_AT_ONCE}>
          {(shown) => <p className="mono wrap-anywhere">{shown.join(', ')}</p>}
        </First>
      )}
      {already.length > 0 && next.length > 0 && (
        <p className="muted hint">{countOf(already.length, 'cluster is', 'clusters are')} reached already.</p>
      )}
    </>
  );
}
