import { memo, useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import type { ClusterRow } from '../fleet/cluster-row.ts';
import type { Transition } from '../fleet/fleet-store.ts';
import { BackIcon } from '../parts/icons.tsx';
import { Empty } from '../parts/notice.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { PassSection } from '../pass/pass-section.tsx';
import { hrefOf } from '../router.ts';
import { factsOf } from './cluster-facts.ts';
import { ConditionsSection } from './conditions-section.tsx';
import { ConnectionSection, WhySection } from './connection-section.tsx';
import { UseSection } from './use-section.tsx';

interface ClusterPageProps {
  readonly name: string;
  /** Undefined when the person does not see it, or does not see it yet. */
  readonly row: ClusterRow | undefined;
  readonly transitions: readonly Transition[];
  readonly synced: boolean;
  readonly client: Client;
}

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** Drawn again when this cluster changes, not with the fleet. */
export const ClusterPage = memo(function ClusterPage({ name, row, transitions, synced, client }: ClusterPageProps) {
  const [account, setAccount] = useState<Account>({ namespace: '', name: '' });
  if (row === undefined) {
    return (
      <div className="page-body">
        <BackLink />
        {synced ? (
          <Empty title="You do not see a cluster of this name">
            <p>
              There is no <span className="mono">{name}</span>, or you have no right to see it.
            </p>
            <a className="button" href={hrefOf({ page: 'why', cluster: name, account: '' })}>
              What would I need?
            </a>
          </Empty>
        ) : (
          <p className="muted" role="status">
            Loading…
          </p>
        )}
      </div>
    );
  }
  const { cluster } = row;
  const facts = factsOf(cluster);
  return (
    <div className="page-body">
      <BackLink />
      <header className="cluster-head">
        <h1>{name}</h1>
        <StateBadge state={row.state} />
        <p className="muted">{[row.type, row.version].filter(Boolean).join(' ')}</p>
        <ul className="chips" aria-label="Labels">
          {Object.entries(row.labels).map(([key, value]) => (
            <li key={key} className="chip still mono">{`${key}=${value}`}</li>
          ))}
        </ul>
      </header>
      <div className="columns">
        <div className="column">
          <PassSection client={client} cluster={name} facts={facts} account={account} onAccount={setAccount} />
          <UseSection client={client} cluster={name} namespace={account.namespace} account={account.name} />
        </div>
        <div className="column">
          <ConditionsSection
            conditions={cluster.status?.conditions ?? []}
            transitions={transitions}
            createdAt={cluster.metadata.creationTimestamp ?? undefined}
          />
          <ConnectionSection facts={facts} />
          <WhySection client={client} name={name} version={cluster.metadata.resourceVersion ?? ''} />
        </div>
      </div>
    </div>
  );
});

const BackLink = () => (
  <a className="back" href={hrefOf({ page: 'fleet' })}>
    <BackIcon /> Fleet
  </a>
);
