import type { ConnectorStatus } from '../../../src/api/kinds/connector.ts';
import { DetailList, Section } from '../components/section.tsx';
import { Age, Time } from '../components/time.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

/** What the connector of the cluster says of itself, and what its owner lets it issue. Nothing without one. */
export function ConnectorSection({ name }: { name: string }) {
  const { client } = useSession();
  const query = useQuery(name, async () => {
    const fieldSelector = `metadata.name=${name}`;
    const options = { expects: 'items', query: { fieldSelector } } as const;
    const path = '/apis/clusterpass.dev/v1alpha1/connectors';
    return (await client.request<{ items: { status?: ConnectorStatus }[] }>('GET', path, options)).value.items[0];
  });
  if (query.status !== 'loaded' || query.value === undefined) return null;
  const { version, connectedSince, lastOrderTime, revocable, people = [], allow = [] } = query.value.status ?? {};
  const issued = allow.map(({ namespace, accounts = [] }) => `${namespace}/${accounts.join(',')}`);
  return (
    <Section title="Connector">
      <DetailList
        details={{
          Version: version ?? 'unknown',
          'Connected since': <Time at={connectedSince ?? ''} />,
          'Last order': <Age at={lastOrderTime ?? ''} />,
          Issues: [...issued, ...people.map((group) => `people of ${group}`)].join(', ') || 'nothing',
          Revocation: revocable ? 'within ten seconds' : 'none',
        }}
      />
    </Section>
  );
}
