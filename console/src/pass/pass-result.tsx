import { useState } from 'react';
import { type Client, createClient, type IssuedToken, isStatus, reviewSelf } from '../../../src/client/index.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import { useNow } from '../parts/clock.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { EyeIcon } from '../parts/icons.tsx';
import { serverRoot } from '../session/settings.ts';
import { type Claims, claimsOf } from './claims.ts';
import { countdown } from './lifetime.ts';

interface PassResultProps {
  readonly client: Client;
  readonly cluster: string;
  readonly facts: ClusterFacts;
  readonly pass: IssuedToken;
  readonly onDone: () => void;
}

/** The pass, once: hidden until the person wants to see it, with what it says and how long it is good. */
export function PassResult({ client, cluster, facts, pass, onDone }: PassResultProps) {
  const [shown, setShown] = useState(false);
  const now = useNow(1_000);
  const endsAt = Date.parse(pass.expirationTimestamp);
  const left = endsAt - now;
  const claims = claimsOf(pass.token) ?? {};
  return (
    <div className="pass">
      <div className="ticket">
        <div className="ticket-head">
          <div>
            <span className="muted">{left > 0 ? 'Good for' : 'Ended'}</span>
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
      <ClaimList claims={claims} />
      <div className="actions">
        <CheckButton
          client={client}
          cluster={cluster}
          token={pass.token}
          opens={audiences(claims).includes(facts.audience)}
        />
        <button type="button" className="button primary" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}

const audiences = ({ aud = [] }: Claims): readonly string[] => (typeof aud === 'string' ? [aud] : aud);

/** In the order in which people look for them. */
const CLAIMS: readonly (readonly [string, string])[] = [
  ['sub', 'Subject'],
  ['aud', 'Audience'],
  ['iss', 'Issuer'],
  ['iat', 'Issued'],
  ['nbf', 'Not before'],
  ['exp', 'Ends'],
  ['jti', 'Identifier'],
];

function ClaimList({ claims }: { claims: Claims }) {
  const known = new Set(CLAIMS.map(([name]) => name));
  const rest = Object.entries(claims).filter(([name]) => !known.has(name));
  return (
    <details className="claims" open>
      <summary>What it says</summary>
      <dl className="facts dense">
        {CLAIMS.map(([name, title]) => (
          <div key={name}>
            <dt>
              {title} <span className="mono muted">{name}</span>
            </dt>
            <dd className="mono breaks">{shownClaim(name, claims[name])}</dd>
          </div>
        ))}
      </dl>
      {rest.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <pre tabIndex={0}>{JSON.stringify(Object.fromEntries(rest), undefined, 2)}</pre>
      )}
    </details>
  );
}

function shownClaim(name: string, value: unknown): string {
  if (typeof value === 'number' && ['iat', 'nbf', 'exp'].includes(name)) {
    return new Date(value * 1000).toISOString().replace('.000Z', 'Z');
  }
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

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
