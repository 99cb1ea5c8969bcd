import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { checkAccess, toRevokePass } from '../access/access-review.ts';
import { Problem } from '../components/problem.tsx';
import { unless } from '../error-message.ts';
import { useAction } from '../hooks/use-action.ts';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface RevokeButtonProps {
  readonly jti: string;
  /** The pass has a record. Everyone can revoke their own tracked passes. */
  readonly tracked: boolean;
  readonly onRevoked: () => void;
}

/** The server may keep a record without being asked (`--track-all-tokens`). */
async function hasRecord(client: Client, jti: string): Promise<boolean> {
  const path = `/apis/clusterpass.dev/v1alpha1/issuedtokens/${encodeURIComponent(jti)}`;
  return (await client.request('GET', path).catch(unless(403, 404))) !== undefined;
}

/** Needs a second click, because programs that already use the pass lose access. */
export function RevokeButton({ jti, tracked, onRevoked }: RevokeButtonProps) {
  const { client } = useSession();
  const [isAsked, setAsked] = useState(false);
  const { busy, problem, run } = useAction();
  const step = busy ? 'busy' : isAsked ? 'confirm' : 'idle';
  const button = useFocusAfterChange<HTMLButtonElement>(step);
  const allowed = useQuery(
    jti,
    async () => tracked || (await hasRecord(client, jti)) || (await checkAccess(client, toRevokePass(jti))).allowed,
  );
  const revoke = (): Promise<void> =>
    run(async () => {
      setAsked(false);
      await client.revokeToken(jti);
      onRevoked();
    });
  if (allowed.status === 'loaded' && !allowed.value) {
    return (
      <p className="muted hint">
        You cannot revoke this pass: it has no record, and your roles do not allow revoking other passes.
      </p>
    );
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        className="button danger"
        disabled={allowed.status === 'loading' || busy}
        onClick={isAsked ? revoke : () => setAsked(true)}
      >
        {{ idle: 'Revoke', confirm: 'Revoke now', busy: 'Revoking…' }[step]}
      </button>
      {step === 'confirm' && (
        <button type="button" className="button quiet" onClick={() => setAsked(false)}>
          Cancel
        </button>
      )}
      <Problem text={problem} />
    </>
  );
}
