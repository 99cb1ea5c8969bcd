import { type Client, type IssuedToken, StatusError } from '../../../src/client/index.ts';
import { checkAccess, toBePerson } from '../access/access-review.ts';
import { Problem } from '../components/problem.tsx';
import { failureOf } from '../error-message.ts';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface PersonPassProps {
  readonly cluster: string;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

/**
 * The groups of which the pass has one; undefined for all groups of the user. Empty when no pass is offered: a rule may
 * allow it, and the server still refuse it, e.g. to the admin token, as a dry run says.
 */
async function offeredGroups(client: Client, cluster: string): Promise<readonly (string | undefined)[]> {
  if (!(await checkAccess(client, toBePerson(cluster))).allowed) return [];
  return client.createUserpass({ cluster, dryRun: true }).then(
    () => [undefined],
    (error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
      const { message = '' } = failureOf(error).causes.find(({ field }) => field === GROUP_FIELD) ?? {};
      const [, supported = ''] = message.split('supported values: ');
      return [...supported.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([text]) => JSON.parse(text));
    },
  );
}

const GROUP_FIELD = 'metadata.annotations[clusterpass.dev/group]';

/** A pass for the user itself, before those of service accounts. Nothing where it is not permitted. */
export function PersonPass({ cluster, onIssued }: PersonPassProps) {
  const { client } = useSession();
  const { busy, problem, run } = useAction();
  const offered = useQuery(cluster, () => offeredGroups(client, cluster));
  if (offered.status !== 'loaded' || offered.value.length === 0) return null;
  const issue = (group?: string): Promise<void> =>
    run(async () => onIssued(await client.createUserpass({ cluster, group, tracked: true }), true));
  return (
    <div className="pass-person">
      <ServerControls>
        {offered.value.map((group) => (
          <button key={group} type="button" className="button wide" disabled={busy} onClick={() => issue(group)}>
            {busy ? 'Issuing…' : `Issue a pass as me${group === undefined ? '' : ` in ${group}`}`}
          </button>
        ))}
      </ServerControls>
      <p className="muted hint">
        Valid for an hour at most. The cluster knows you by your name and{' '}
        {offered.value[0] === undefined ? 'groups' : 'this group'}.
      </p>
      <Problem text={problem} />
    </div>
  );
}
