import type { Client } from '../../../src/client/index.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { useLoaded } from '../parts/loaded.ts';
import { durationWords } from '../pass/lifetime.ts';
import { ask, seeing } from '../why/explain.ts';
import { GrantPath } from '../why/grant-path.tsx';
import { fingerprintsOf } from './certificate.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { FactList, Section } from './section.tsx';

/** How the cluster is reached, and what its passes are like. */
export function ConnectionSection({ facts }: { facts: ClusterFacts }) {
  const { endpoints, caBundle, issuer, audience, maxSeconds } = facts;
  return (
    <Section title="Reaching it">
      {endpoints.length > 0 ? (
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">Endpoint</th>
              <th scope="col">
                <span className="unseen">Copy</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {endpoints.map(({ clientCIDR = '', serverAddress = '' }) => (
              <tr key={`${clientCIDR} ${serverAddress}`}>
                <td className="mono muted">{clientCIDR || 'anywhere'}</td>
                <td className="mono breaks">{serverAddress}</td>
                <td className="end">
                  <CopyButton text={serverAddress} label={serverAddress} compact />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p className="muted">It has no address yet.</p>
      )}
      <FactList
        facts={[
          { name: 'CA fingerprint', value: <Fingerprint caBundle={caBundle} /> },
          { name: 'Issuer of passes', value: <span className="mono breaks">{issuer || 'unknown'}</span> },
          { name: 'Default audience', value: <span className="mono breaks">{audience || 'unknown'}</span> },
          { name: 'Longest lifetime', value: durationWords(maxSeconds) },
        ]}
      />
    </Section>
  );
}

function Fingerprint({ caBundle }: { caBundle: string | undefined }) {
  const loaded = useLoaded(caBundle ?? '', () => fingerprintsOf(caBundle ?? ''));
  if (caBundle === undefined) return <span className="muted">none: the system's authorities count</span>;
  if (loaded.phase === 'failed') return <span className="muted">shown only where the page is served over TLS</span>;
  if (loaded.phase === 'loading') {
    // As long as what is to come, so that nothing below it moves.
    return (
      <span className="mono breaks fingerprint room" aria-hidden="true">
        SHA-256 {'00:'.repeat(31)}00
      </span>
    );
  }
  if (loaded.value.length === 0) return <span className="muted">the bundle holds no certificate</span>;
  return loaded.value.map((fingerprint) => (
    <span key={fingerprint} className="mono breaks fingerprint">
      SHA-256 {fingerprint}
    </span>
  ));
}

/** Which rule lets the person see it. */
export function WhySection({ client, name, version }: { client: Client; name: string; version: string }) {
  const loaded = useLoaded(`${name} ${version}`, () => ask(client, seeing(name)));
  return (
    <Section title="Why you see it">
      {loaded.phase === 'loading' && <p className="muted">Asking…</p>}
      {loaded.phase === 'failed' && <p className="problem">{loaded.message}</p>}
      {loaded.phase === 'loaded' &&
        (loaded.value.allowed && loaded.value.grant !== undefined ? (
          <GrantPath grant={loaded.value.grant} />
        ) : (
          <p>{loaded.value.text || (loaded.value.allowed ? 'It is allowed.' : 'You may list it, but not get it.')}</p>
        ))}
    </Section>
  );
}
