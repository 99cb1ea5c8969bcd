import type { ApiEndpoints, Cluster } from '../../../src/client/index.ts';
import { CaFingerprints } from '../certificates/ca-fingerprints.tsx';
import { Problem } from '../components/problem.tsx';
import { DetailList, Section } from '../components/section.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { patchObject } from '../write-object.ts';
import { clusterPath } from './cluster-path.ts';
import { confirmation, waitingChange } from './waiting-change.ts';

interface ConfirmSectionProps {
  readonly name: string;
  readonly resourceVersion: string;
  /** The user may confirm it; others see what waits. */
  readonly mayConfirm: boolean;
}

/** A changed address or CA, which clients do not get before it is confirmed. */
export function ConfirmSection({ name, resourceVersion, mayConfirm }: ConfirmSectionProps) {
  const { client } = useSession();
  const path = clusterPath(name);
  const query = useQuery(`${name} ${resourceVersion}`, async () => (await client.request<Cluster>('GET', path)).value);
  const { busy, problem, run } = useAction();
  if (query.status === 'loading') return null;
  if (query.status === 'failed') return <ConfirmNotice text={query.message} />;
  const cluster = query.value;
  const change = waitingChange(cluster, client.productName);
  if (change === undefined)
    return <ConfirmNotice text="You may not see the change: it takes permission to update the cluster." />;
  const confirm = (): Promise<void> =>
    run(async () => {
      const value = await confirmation(cluster, client.productName);
      const annotations = { 'clusterpass.dev/confirmed-endpoint': value };
      // With the version that was shown: the patch fails if the cluster has changed since.
      await patchObject(client, path, { metadata: { resourceVersion: cluster.metadata.resourceVersion, annotations } });
    });
  return (
    <Section title="Changed endpoints wait for confirmation">
      <p>
        Clients connect to the old endpoints until the change is confirmed. Compare the new ones with your cluster
        before you confirm them.
      </p>
      <div className="comparison">
        <EndpointCard title="Until now" endpoints={change.until} />
        <EndpointCard title="After the change" endpoints={change.next} />
      </div>
      {change.credential !== '' && (
        <p className="warning">
          The credential <span className="mono">{change.credential}</span> is sent to the new endpoints.
        </p>
      )}
      <Problem text={problem} />
      {mayConfirm && (
        <ServerControls>
          <button type="button" className="button primary" disabled={busy} onClick={confirm}>
            {busy ? 'Confirming…' : 'Confirm the new endpoints'}
          </button>
        </ServerControls>
      )}
    </Section>
  );
}

const ConfirmNotice = ({ text }: { text: string }) => (
  <Section title="Changed endpoints wait for confirmation">
    <p className="muted">{text}</p>
  </Section>
);

const EndpointCard = ({ title, endpoints }: { title: string; endpoints: ApiEndpoints }) => (
  <div className="comparison-side">
    <h3>{title}</h3>
    <ul className="mono wrap-anywhere">
      {(endpoints.serverEndpoints ?? []).map(({ clientCIDR = '', serverAddress = '' }) => (
        <li key={`${clientCIDR} ${serverAddress}`}>
          {serverAddress} <span className="muted">{clientCIDR}</span>
        </li>
      ))}
    </ul>
    <DetailList details={{ CA: <CaFingerprints caBundle={endpoints.caBundle} /> }} />
  </div>
);
