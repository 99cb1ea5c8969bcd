import { CopyButton } from '../components/copy-button.tsx';
import type { Column } from '../components/list-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { SearchList } from '../components/search-list.tsx';
import { Section } from '../components/section.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface Issuer {
  readonly cluster: string;
  readonly issuer: string;
  readonly jwks_uri: string;
}

const COLUMNS: readonly Column<Issuer>[] = [
  { title: 'Cluster', isHeader: true, cell: ({ cluster }) => cluster },
  {
    title: 'Issuer',
    className: 'mono wrap-anywhere',
    cell: ({ issuer, jwks_uri: keySet }) => <a href={keySet}>{issuer}</a>,
  },
  {
    title: 'Copy',
    head: null,
    className: 'end',
    cell: ({ cluster, issuer }) => <CopyButton text={issuer} label={`the issuer of ${cluster}`} compact />,
  },
];

/** What relying parties see: the issuer of each cluster and the address of the key set. */
export function IssuersSection() {
  const { client } = useSession();
  const { generation } = useRefresh();
  const query = useQuery(
    '',
    async () => (await client.request<{ issuers: readonly Issuer[] }>('GET', '/openid/v1/issuers')).value.issuers,
    generation,
  );
  return (
    <Section title="What relying parties see">
      <p className="muted">
        Each cluster has an issuer. All of them publish the same key set, which clusters and services fetch to verify
        passes.
      </p>
      <Loaded query={query}>
        {(issuers) => (
          <SearchList label="Search issuers" columns={COLUMNS} rows={issuers} keyOf={({ cluster }) => cluster} />
        )}
      </Loaded>
    </Section>
  );
}
