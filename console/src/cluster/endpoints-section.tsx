import { CaFingerprints } from '../certificates/ca-fingerprints.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { type Column, ListTable } from '../components/list-table.tsx';
import { DetailList, Section } from '../components/section.tsx';
import { formatDuration } from '../pass/lifetime.ts';
import type { ClusterDetails } from './cluster-details.ts';

type Endpoint = ClusterDetails['endpoints'][number];

const COLUMNS: readonly Column<Endpoint>[] = [
  { title: 'Client CIDR', className: 'mono muted', cell: ({ clientCIDR }) => clientCIDR || 'any' },
  { title: 'Server address', className: 'mono wrap-anywhere', cell: ({ serverAddress }) => serverAddress },
  {
    title: 'Copy',
    head: null,
    className: 'end',
    cell: ({ serverAddress = '' }) => <CopyButton text={serverAddress} label={serverAddress} compact />,
  },
];

const keyOf = ({ clientCIDR, serverAddress }: Endpoint): string => `${clientCIDR} ${serverAddress}`;

export function EndpointsSection({ details }: { details: ClusterDetails }) {
  const { endpoints, caBundle } = details;
  return (
    <Section title="Endpoints">
      {endpoints.length > 0 ? (
        <ListTable className="plain" columns={COLUMNS} rows={endpoints} keyOf={keyOf} />
      ) : (
        <p className="muted">This cluster has no endpoints yet.</p>
      )}
      <DetailList details={{ 'CA fingerprint': <CaFingerprints caBundle={caBundle} /> }} />
    </Section>
  );
}

/** The claims and the lifetime of the passes for this cluster. */
export function PassesSection({ details: { issuer, audience, maxSeconds } }: { details: ClusterDetails }) {
  return (
    <Section title="Passes">
      <DetailList
        details={{
          Issuer: <span className="mono wrap-anywhere">{issuer || 'unknown'}</span>,
          'Default audience': <span className="mono wrap-anywhere">{audience || 'unknown'}</span>,
          'Maximum lifetime': formatDuration(maxSeconds),
        }}
      />
    </Section>
  );
}
