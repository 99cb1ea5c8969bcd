import { useState } from 'react';
import { recordIdOf } from '../../../src/api/connector.ts';
import { PEOPLE_PATH } from '../../../src/api/pass-audience.ts';
import { createClient, type IssuedToken, isStatus, reviewSelf } from '../../../src/client/index.ts';
import type { ClusterDetails } from '../cluster/cluster-details.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { EyeIcon } from '../components/icons.tsx';
import { Warnings } from '../components/problem.tsx';
import { DetailList } from '../components/section.tsx';
import { formatTime } from '../components/time.tsx';
import { errorMessage } from '../error-message.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useFocusAfterChange } from '../hooks/use-focus-after-change.ts';
import { useNow } from '../hooks/use-now.ts';
import { useSession } from '../hooks/use-session.ts';
import { type Claims, decodeClaims } from '../jwt.ts';
import { describeEffects, revocationEffect } from '../passes/revocation-effect.ts';
import { serverRoot } from '../settings.ts';
import { formatCountdown } from './lifetime.ts';
import { RevokeButton } from './revoke-button.tsx';

interface PassResultProps {
  readonly cluster: string;
  readonly details: ClusterDetails;
  readonly pass: IssuedToken;
  readonly tracked: boolean;
  readonly onDone: () => void;
}

/** An issued pass: countdown, the token behind a click, claims, test and revocation. */
export function PassResult({ cluster, details, pass, tracked, onDone }: PassResultProps) {
  const { fleet } = useSession();
  const [shown, setShown] = useState(false);
  const [revoked, setRevoked] = useState(false);
  const shownPass = useFocusAfterChange<HTMLTextAreaElement>(shown);
  const revocation = useFocusAfterChange<HTMLParagraphElement>(revoked);
  const now = useNow(1_000);
  const expiresAt = Date.parse(pass.expirationTimestamp);
  const remaining = expiresAt - now;
  const claims = decodeClaims(pass.token) ?? {};
  const recordId = recordIdOf(claims);
  const audiences = audiencesOf(claims);
  const isForPerson = audiences.includes(`${details.audience}${PEOPLE_PATH}`);
  const opensCluster = isForPerson || audiences.includes(details.audience);
  const isValid = remaining > 0 && !revoked;
  const effect = revocationEffect({ audiences, expiresAt }, (name) => fleet.find(name)?.cluster);
  return (
    <div className="pass">
      <div className={isValid ? 'pass-card' : 'pass-card pass-invalid'}>
        <div className="pass-head">
          <div>
            <span className="muted">
              {remaining <= 0 ? 'Expired' : revoked ? 'Revoked at Clusterpass, expires in' : 'Expires in'}
            </span>
            <span className="countdown" role="timer">
              {formatCountdown(remaining)}
            </span>
          </div>
          <span className="mono pass-subject wrap-anywhere">{claims.sub ?? ''}</span>
        </div>
        <progress
          max={expiresAt - pass.issuedAt}
          value={Math.max(0, remaining)}
          aria-label="Remaining share of the lifetime"
        />
        <div className="token">
          {shown ? (
            <textarea ref={shownPass} readOnly rows={4} value={pass.token} aria-label="Pass" spellCheck={false} />
          ) : (
            <button type="button" className="token-hidden" onClick={() => setShown(true)}>
              <EyeIcon /> Show pass
            </button>
          )}
          <CopyButton text={pass.token} label="the pass" />
        </div>
        <p className="muted hint">Shown only once. Clusterpass does not store it.</p>
      </div>
      {revoked && remaining > 0 && (
        <p className="warning" role="status" ref={revocation} tabIndex={-1}>
          Clusterpass refuses this pass.{' '}
          {recordId === claims.jti
            ? describeEffects([effect]).join(' ')
            : 'So does the cluster, within about ten seconds.'}
        </p>
      )}
      <Warnings texts={pass.warnings} />
      <div className="actions">
        {isForPerson ? (
          <p className="muted hint">For the API of the cluster only: Clusterpass does not accept it.</p>
        ) : opensCluster ? (
          <ServerControls>
            {/* What a test has said is not true any more. */}
            <TestButton key={String(isValid)} cluster={cluster} token={pass.token} />
          </ServerControls>
        ) : details.audience === '' ? null : (
          <p className="muted hint">Issued for another audience: this cluster does not accept it.</p>
        )}
        {!revoked && typeof recordId === 'string' && (
          <ServerControls>
            <RevokeButton jti={recordId} tracked={tracked} onRevoked={() => setRevoked(true)} />
          </ServerControls>
        )}
        <button type="button" className="button primary" onClick={onDone}>
          Done
        </button>
      </div>
      <ClaimList claims={claims} />
    </div>
  );
}

const audiencesOf = ({ aud = [] }: Claims): readonly string[] => (typeof aud === 'string' ? [aud] : aud);

/** Sends a SelfSubjectReview with the pass to Clusterpass. The cluster may decide otherwise. */
function TestButton({ cluster, token }: { cluster: string; token: string }) {
  const { client } = useSession();
  const [outcome, setOutcome] = useState('');
  const test = async (): Promise<void> => {
    setOutcome('Testing…');
    const passClient = createClient({ server: serverRoot(), productName: client.productName, token });
    try {
      const { status } = await reviewSelf(passClient, cluster);
      setOutcome(`Clusterpass accepts it as ${status?.userInfo?.username ?? 'unknown'}`);
    } catch (error) {
      setOutcome(isStatus(error, 401) ? 'Clusterpass rejects it' : errorMessage(error));
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={test}>
        Test pass
      </button>
      <output className="test-outcome wrap-anywhere">{outcome}</output>
    </>
  );
}

/** RFC 7519 section 4.1. The claims that users look for most come first. */
const REGISTERED_CLAIMS: readonly (readonly [string, string])[] = [
  ['sub', 'Subject'],
  ['aud', 'Audience'],
  ['iss', 'Issuer'],
  ['iat', 'Issued at'],
  ['nbf', 'Not before'],
  ['exp', 'Expires'],
  ['jti', 'JWT ID'],
];

function ClaimList({ claims }: { claims: Claims }) {
  const registered = new Set(REGISTERED_CLAIMS.map(([name]) => name));
  const others = Object.entries(claims).filter(([name]) => !registered.has(name));
  return (
    <div className="claims">
      <h3>Claims</h3>
      <DetailList
        details={Object.fromEntries(
          REGISTERED_CLAIMS.map(([name, title]) => [`${title} ${name}`, formatClaim(name, claims[name])]),
        )}
      />
      {others.length > 0 && (
        <details className="quiet-details">
          <summary>Other claims as JSON</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it */}
          <pre tabIndex={0}>{JSON.stringify(Object.fromEntries(others), undefined, 2)}</pre>
        </details>
      )}
    </div>
  );
}

function formatClaim(name: string, value: unknown): string {
  if (typeof value === 'number' && ['iat', 'nbf', 'exp'].includes(name)) {
    return formatTime(value * 1000);
  }
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}
