import { type Client, type IssuedToken, StatusError } from '../../../src/client/index.ts';
import { checkAccess, toBePerson } from '../access/access-review.ts';
import { Problem } from '../components/problem.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface PersonPassProps {
  readonly cluster: string;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

/**
 * A rule may allow it, and the server still refuse it, e.g. to the admin token: a dry run says so before it is offered.
 */
async function isOffered(client: Client, cluster: string): Promise<boolean> {
  if (!(await checkAccess(client, toBePerson(cluster))).allowed) return false;
  return client.createUserpass({ cluster, dryRun: true }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof StatusError) return false;
      throw error;
    },
  );
}

/** A pass for the user itself, before those of service accounts. Nothing where it is not permitted. */
export function PersonPass({ cluster, onIssued }: PersonPassProps) {
  const { client } = useSession();
  const { busy, problem, run } = useAction();
  const offered = useQuery(cluster, () => isOffered(client, cluster));
  if (offered.status !== 'loaded' || !offered.value) return null;
  const issue = (): Promise<void> =>
    run(async () => onIssued(await client.createUserpass({ cluster, tracked: true }), true));
  return (
    <div className="pass-person">
      <ServerControls>
        <button type="button" className="button wide" disabled={busy} onClick={issue}>
          {busy ? 'Issuing…' : 'Issue a pass as me'}
        </button>
      </ServerControls>
      <p className="muted hint">Valid for an hour at most. The cluster knows you by your name and groups.</p>
      <Problem text={problem} />
    </div>
  );
}
