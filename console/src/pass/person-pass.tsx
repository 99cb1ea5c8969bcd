import { useState } from 'react';
import type { Client, IssuedToken } from '../../../src/client/index.ts';
import { checkAccess, toBePerson } from '../access/access-review.ts';
import { errorMessage } from '../error-message.ts';
import { useQuery } from '../hooks/use-query.ts';

interface PersonPassProps {
  readonly client: Client;
  readonly cluster: string;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

/** A pass for the user itself, before those of service accounts. Nothing where it is not permitted. */
export function PersonPass({ client, cluster, onIssued }: PersonPassProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const access = useQuery(cluster, () => checkAccess(client, toBePerson(cluster)));
  if (access.status !== 'loaded' || !access.value.allowed) return null;
  const issue = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      onIssued(await client.createUserpass({ cluster, tracked: true }), true);
    } catch (error) {
      setProblem(errorMessage(error));
      setBusy(false);
    }
  };
  return (
    <div className="pass-person">
      <button type="button" className="button primary wide" disabled={busy} onClick={issue}>
        {busy ? 'Issuing…' : 'Issue a pass as me'}
      </button>
      <p className="muted hint">Valid for an hour at most. The cluster knows you by your name and groups.</p>
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
