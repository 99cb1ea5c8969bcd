import { useState } from 'react';
import { endpointsInForce } from '../../../src/client/index.ts';
import { countOf } from '../components/count.ts';
import { DownloadIcon } from '../components/icons.tsx';
import { Problem } from '../components/problem.tsx';
import { Segments, TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useSession } from '../hooks/use-session.ts';
import { saveFile } from '../save-file.ts';
import { serverRoot } from '../settings.ts';
import type { ClusterRow } from './cluster-row.ts';

/** A kubeconfig for the clusters that the table shows, without a secret. */
export function FleetKubeconfig({ rows }: { readonly rows: readonly ClusterRow[] }) {
  const { client } = useSession();
  const [as, setAs] = useState<'me' | 'account'>('me');
  const [account, setAccount] = useState('');
  const { problem, run } = useAction();
  const [namespace = '', name = ''] = account.split('/');
  const isComplete = as === 'me' || (namespace !== '' && name !== '');
  const download = (): Promise<void> =>
    run(async () => {
      const { kubeconfigOf, passContext } = await import('../../../src/api/kubeconfig.ts');
      const { productName } = client;
      const shared = { baseUrl: serverRoot(), productName, account: as === 'me' ? as : { namespace, name } };
      const [first, ...others] = rows.flatMap(({ name: cluster, cluster: object }) => {
        const { serverEndpoints = [], caBundle } = endpointsInForce(object);
        // The page does not know the network of its user: the address for all of them, if there is one.
        const open = serverEndpoints.find(({ clientCIDR = '' }) => /^$|\/0$/.test(clientCIDR));
        const { serverAddress: server } = open ?? serverEndpoints[0] ?? {};
        return server === undefined ? [] : [passContext({ cluster, server, caBundle, ...shared })];
      });
      if (first === undefined) throw new Error('None of these clusters has an address.');
      // JSON is YAML.
      saveFile('fleet.kubeconfig.yaml', `${JSON.stringify(kubeconfigOf([first, ...others]), null, 1)}\n`);
    });
  return (
    <div className="fleet-kubeconfig">
      <Segments
        legend="Whose passes kubectl uses"
        value={as}
        options={{ me: 'As me', account: 'As an account' }}
        onChange={setAs}
      />
      {as === 'account' && (
        <TextField label="Service account" value={account} placeholder="namespace/name" onChange={setAccount} />
      )}
      <button type="button" className="button small" disabled={!isComplete || rows.length === 0} onClick={download}>
        <DownloadIcon /> Download for {countOf(rows.length, 'cluster')}
      </button>
      <Problem text={problem} />
    </div>
  );
}
