import { useState } from 'react';
import { type Client, createClient, type IssuedToken, isStatus, reviewSelf } from '../../../src/client/index.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { useNow } from '../parts/clock.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { EyeIcon } from '../parts/icons.tsx';
import { serverRoot } from '../session/settings.ts';
import { ClaimList } from './claim-list.tsx';
import { type Claims, claimsOf } from './claims.ts';
import { countdown } from './lifetime.ts';
import { RevokeButton } from './revoke-button.tsx';

interface PassResultProps {
  readonly client: Client;
  readonly cluster: string;
  readonly facts: ClusterFacts;
  readonly pass: IssuedToken;
  readonly tracked: boolean;
  readonly onDone: () => void;
}

/** The pass, once: hidden until the person wants to see it, with what it says and how long it is good. */
export function PassResult({ client, cluster, facts, pass, tracked, onDone }: PassResultProps) {
  const [shown, setShown] = useState(false);
  const [revoked, setRevoked] = useState(false);
  const now = useNow(1_000);
  const endsAt = Date.parse(pass.expirationTimestamp);
  const left = revoked ? 0 : endsAt - now;
  const claims = claimsOf(pass.token) ?? {};
  return (
    <div className="pass">
      <div className={left > 0 ? 'ticket' : 'ticket ticket-ended'}>
        <div className="ticket-head">
          <div>
            <span className="muted">{revoked ? 'Revoked' : left > 0 ? 'Good for' : 'Ended'}</span>
            <span className="countdown" role="timer">
              {countdown(left)}
            </span>
          </div>
          <span className="mono ticket-subject breaks">{claims.sub ?? ''}</span>
        </div>
        <progress
          max={endsAt - pass.issuedAt}
          value={Math.max(0, left)}
          aria-label="Share of the lifetime that is left"
        />
        <div className="token">
          {shown ? (
            <textarea readOnly rows={4} value={pass.token} aria-label="The token" spellCheck={false} />
          ) : (
            <button type="button" className="token-hidden" onClick={() => setShown(true)}>
              <EyeIcon /> Show the token
            </button>
          )}
          <CopyButton text={pass.token} label="the token" />
        </div>
        <p className="muted hint">It is shown this once, and kept nowhere.</p>
      </div>
      {pass.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
      <div className="actions">
        <CheckButton
          client={client}
          cluster={cluster}
          token={pass.token}
          opens={audiences(claims).includes(facts.audience)}
        />
        {!revoked && typeof claims.jti === 'string' && (
          <RevokeButton client={client} jti={claims.jti} tracked={tracked} onRevoked={() => setRevoked(true)} />
        )}
        <button type="button" className="button primary" onClick={onDone}>
          Done
        </button>
      </div>
      <ClaimList claims={claims} />
    </div>
  );
}

const audiences = ({ aud = [] }: Claims): readonly string[] => (typeof aud === 'string' ? [aud] : aud);

interface CheckButtonProps {
  readonly client: Client;
  readonly cluster: string;
  readonly token: string;
  readonly opens: boolean;
}

/** Uses the pass here, to see that it is good. */
function CheckButton({ client, cluster, token, opens }: CheckButtonProps) {
  const [said, setSaid] = useState('');
  const check = async (): Promise<void> => {
    setSaid('Asking…');
    const bearer = createClient({ server: serverRoot(), productName: client.productName, token });
    try {
      const { status } = await reviewSelf(bearer, cluster);
      setSaid(`Accepted as ${status?.userInfo?.username ?? 'somebody'}`);
    } catch (error) {
      setSaid(isStatus(error, 401) ? 'Refused' : error instanceof Error ? error.message : String(error));
    }
  };
  if (!opens) return <p className="muted hint">For another audience than the cluster: it opens nothing here.</p>;
  return (
    <>
      <button type="button" className="button" onClick={check}>
        Check it
      </button>
      <output className="check-said breaks">{said}</output>
    </>
  );
}
