import { useState } from 'react';
import { ClusterReach } from '../access/cluster-reach.tsx';
import { Section } from '../components/section.tsx';

interface WhoSectionProps {
  readonly name: string;
  /** Labels decide which bindings hold, so a new resourceVersion repeats the question. */
  readonly resourceVersion: string;
  readonly account: { readonly namespace: string; readonly name: string };
}

/** Who reaches this cluster, for users who may ask here. */
export function WhoSection({ name, resourceVersion, account }: WhoSectionProps) {
  const [asked, setAsked] = useState('');
  const chosen = account.name === '' ? [] : [`${account.namespace}/${account.name}`];
  return (
    <Section title="Who reaches this cluster?">
      <ClusterReach cluster={name} account={asked} accounts={chosen} onAccount={setAsked} version={resourceVersion} />
    </Section>
  );
}
