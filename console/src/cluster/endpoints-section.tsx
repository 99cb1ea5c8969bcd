import { CaFingerprints } from '../certificates/ca-fingerprints.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { DetailList, Section } from '../components/section.tsx';
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
