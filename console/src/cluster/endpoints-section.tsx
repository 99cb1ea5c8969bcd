import { CopyButton } from '../components/copy-button.tsx';
import { DetailList, Section } from '../components/section.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { formatDuration } from '../pass/lifetime.ts';
import type { ClusterDetails } from './cluster-details.ts';

export function EndpointsSection({ details }: { details: ClusterDetails }) {
  const { endpoints, caBundle } = details;
  return (
    <Section title="Endpoints">
      {endpoints.length > 0 ? (
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Client CIDR</th>
              <th scope="col">Server address</th>
              <th scope="col">
                <span className="visually-hidden">Copy</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {endpoints.map(({ clientCIDR = '', serverAddress = '' }) => (
              <tr key={`${clientCIDR} ${serverAddress}`}>
                <td className="mono muted">{clientCIDR || 'any'}</td>
                <td className="mono wrap-anywhere">{serverAddress}</td>
                <td className="end">
                  <CopyButton text={serverAddress} label={serverAddress} compact />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p className="muted">This cluster has no endpoints yet.</p>
      )}
      <DetailList details={[{ name: 'CA fingerprint', value: <CaFingerprints caBundle={caBundle} /> }]} />
    </Section>
  );
}

/** The claims and the lifetime of the passes for this cluster. */
export function PassesSection({ details: { issuer, audience, maxSeconds } }: { details: ClusterDetails }) {
  return (
    <Section title="Passes">
      <DetailList
        details={[
          { name: 'Issuer', value: <span className="mono wrap-anywhere">{issuer || 'unknown'}</span> },
          { name: 'Default audience', value: <span className="mono wrap-anywhere">{audience || 'unknown'}</span> },
          { name: 'Maximum lifetime', value: formatDuration(maxSeconds) },
        ]}
      />
    </Section>
  );
}

function CaFingerprints({ caBundle }: { caBundle: string | undefined }) {
  const query = useQuery(caBundle ?? '', () => fingerprintsOf(caBundle ?? ''));
  if (caBundle === undefined) return <span className="muted">No CA bundle: clients use their own trust store</span>;
  if (query.status === 'failed') return <span className="muted">Available only over HTTPS</span>;
  if (query.status === 'loading') {
    // As long as a fingerprint, so that the sections below do not move.
    return (
      <span className="mono wrap-anywhere fingerprint placeholder" aria-hidden="true">
        SHA-256 {'00:'.repeat(31)}00
      </span>
    );
  }
  if (query.value.length === 0) return <span className="muted">The CA bundle contains no certificate</span>;
  return query.value.map((fingerprint) => (
    <span key={fingerprint} className="mono wrap-anywhere fingerprint">
      SHA-256 {fingerprint}
    </span>
  ));
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----/g;

/** The SHA-256 of each certificate. Throws without HTTPS: browsers offer Web Crypto only to secure contexts. */
async function fingerprintsOf(caBundle: string): Promise<string[]> {
  return Promise.all(
    certificatesIn(caBundle).map(async (der) => {
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', der));
      return [...hash].map((byte) => byte.toString(16).padStart(2, '0').toUpperCase()).join(':');
    }),
  );
}

/** The certificates of a CA bundle in DER. */
function certificatesIn(caBundle: string): Uint8Array<ArrayBuffer>[] {
  const decode = (base64: string): Uint8Array<ArrayBuffer> =>
    Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  try {
    const pem = new TextDecoder('latin1').decode(decode(caBundle));
    return [...pem.matchAll(CERTIFICATE)].map(([, body = '']) => decode(body.replaceAll(/\s/g, '')));
  } catch {
    return [];
  }
}
