import { useState } from 'react';
import { CopyButton } from '../components/copy-button.tsx';
import { type Column, ListTable } from '../components/list-table.tsx';
import { Section } from '../components/section.tsx';
import { TextField } from '../components/text-field.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';

interface Issuer {
  readonly cluster: string;
  readonly issuer: string;
  readonly jwks_uri: string;
}

/** More rows than a person reads. */
const MAX_SHOWN = 50;

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
  const [search, setSearch] = useState('');
  const query = useQuery(
    '',
    async () => (await client.request<{ issuers: readonly Issuer[] }>('GET', '/openid/v1/issuers')).value.issuers,
    generation,
  );
  const found = (query.status === 'loaded' ? query.value : []).filter(({ cluster }) => cluster.includes(search));
  return (
    <Section title="What relying parties see">
      <p className="muted">
        Each cluster has an issuer. All of them publish the same key set, which clusters and services fetch to verify
        passes.
      </p>
      {query.status === 'loading' && <p className="muted">Loading…</p>}
      {query.status === 'failed' && <p className="problem">{query.message}</p>}
      {query.status === 'loaded' && (
        <>
          <TextField label="Search issuers" value={search} onChange={setSearch} />
          <ListTable columns={COLUMNS} rows={found.slice(0, MAX_SHOWN)} keyOf={({ cluster }) => cluster} />
          {found.length > MAX_SHOWN && (
            <p className="muted">{(found.length - MAX_SHOWN).toLocaleString()} more: search for the cluster.</p>
          )}
        </>
      )}
    </Section>
  );
}
