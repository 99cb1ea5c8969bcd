import { useSyncExternalStore } from 'react';
import { detailsOf } from '../cluster/cluster-details.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { FirstRows } from '../components/first-rows.tsx';
import type { Column } from '../components/list-table.tsx';

import { Section } from '../components/section.tsx';
import { NO_FILTER } from '../fleet/fleet-filter.ts';
import { useSession } from '../hooks/use-session.ts';

interface Issuer {
  readonly cluster: string;
  /** Empty if the cluster issues its passes itself. */
  readonly issuer: string;
}

const COLUMNS: readonly Column<Issuer>[] = [
  { title: 'Cluster', isHeader: true, className: 'wrap-anywhere', cell: ({ cluster }) => cluster },
  {
    title: 'Issuer',
    className: 'mono wrap-anywhere',
    cell: ({ issuer }) => <a href={`${issuer}/.well-known/openid-configuration`}>{issuer}</a>,
  },
  {
    title: 'Copy',
    head: null,
    className: 'end',
    cell: ({ cluster, issuer }) => <CopyButton text={issuer} label={`the issuer of ${cluster}`} compact />,
  },
];

/** What relying parties see: the issuer of each cluster, whose document names the key set. */
export function IssuersSection() {
  const { fleet } = useSession();
  useSyncExternalStore(fleet.subscribe, fleet.snapshot);
  const issuers = fleet.select(NO_FILTER).rows.map(({ name, cluster }) => ({ cluster: name, ...detailsOf(cluster) }));
  return (
    <Section title="What relying parties see">
      <p className="muted">
        Each cluster has an issuer. All of them publish the same key set, which clusters and services fetch to verify
        passes.
      </p>
      <FirstRows
        search="Search issuers"
        columns={COLUMNS}
        rows={issuers.filter(({ issuer }) => issuer !== '')}
        keyOf={({ cluster }) => cluster}
      />
    </Section>
  );
}
