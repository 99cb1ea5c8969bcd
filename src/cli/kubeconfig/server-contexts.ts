import { clusterFields, loginPlugin } from '../../api/kubeconfig.ts';
import { CliError } from '../command.ts';
import type { NamedServer } from '../connection/all-servers.ts';
import type { WantedContext } from './kubeconfig-file.ts';

const FLEET_CONTEXT = 'clusterpass';

/** Contexts for Clusterpass itself, with the login of the user: the API of the fleet, and that of each cluster. */
export function serverContexts(
  { name: serverName, connection }: NamedServer,
  command: string,
  clusters: readonly string[],
): WantedContext[] {
  const { server, productName, certificateAuthority, insecureSkipTlsVerify } = connection;
  if (!server.startsWith('https://')) {
    throw new CliError(
      `kubectl sends no token over http: log in at an https address of ${server}, or set --as for contexts of clusters`,
    );
  }
  if (insecureSkipTlsVerify) {
    throw new CliError(
      'a context of the server needs a verified certificate: pass its CA with --certificate-authority',
    );
  }
  const ca = certificateAuthority && Buffer.from(certificateAuthority).toString('base64');
  const namesFor = (contextName: string): { contextName: string; userName: string } => ({
    contextName,
    userName: `login@${contextName}`,
  });
  const contextFor = (cluster: string, path: string, suffix: string): WantedContext => ({
    key: { server, cluster, account: '' },
    ...namesFor(`${FLEET_CONTEXT}${suffix}`),
    qualified: namesFor(`${FLEET_CONTEXT}@${serverName}${suffix}`),
    cluster: clusterFields(`${server}${path}`, ca),
    endpoints: '',
    exec: loginPlugin(server, command),
    namespace: 'default',
  });
  return [contextFor('', '', ''), ...clusters.map((name) => contextFor(name, `/${productName}/${name}`, `/${name}`))];
}
