import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Section } from '../components/section.tsx';
import { TextField } from '../components/text-field.tsx';
import { useQuery, useRefresh } from '../hooks/use-query.ts';

interface Issuer {
  readonly cluster: string;
  readonly issuer: string;
  readonly jwks_uri: string;
}

/** More rows than a person reads. */
const MAX_SHOWN = 50;

/** What relying parties see: the issuer of each cluster and the address of the key set. */
export function IssuersSection({ client }: { client: Client }) {
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
          <table className="list">
            <thead>
              <tr>
                <th scope="col">Cluster</th>
                <th scope="col">Issuer</th>
                <th scope="col">
                  <span className="visually-hidden">Copy</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, MAX_SHOWN).map(({ cluster, issuer, jwks_uri: keySet }) => (
                <tr key={cluster}>
                  <th scope="row" data-label="Cluster">
                    {cluster}
                  </th>
                  <td data-label="Issuer" className="mono wrap-anywhere">
                    <a href={keySet}>{issuer}</a>
                  </td>
                  <td className="end">
                    <CopyButton text={issuer} label={`the issuer of ${cluster}`} compact />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {found.length > MAX_SHOWN && (
            <p className="muted">{(found.length - MAX_SHOWN).toLocaleString()} more: search for the cluster.</p>
          )}
        </>
      )}
    </Section>
  );
}
