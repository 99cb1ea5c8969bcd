import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import { endpointsFingerprint } from '../../api/clusters/confirmed-endpoint.ts';
import { clusterFields, loginPlugin, passContext } from '../../api/kubeconfig.ts';
import { type Cluster, endpointsInForce } from '../../client/types.ts';
import { CliError } from '../command.ts';
import type { NamedServer } from '../connection/all-servers.ts';
import type { Connection } from '../connection/connection.ts';
import type { PassSubject } from '../service-account.ts';
import { endpointFor } from './cluster-endpoint.ts';
import type { ContextNames, WantedContext } from './kubeconfig-file.ts';

export interface ContextSettings {
  /** Of `--context-name`. Undefined: contexts that are in the file keep their names. */
  readonly template: string | undefined;
  /** The program that kubectl runs for a token. */
  readonly command: string;
  /** Of `--group`. */
  readonly group?: string | undefined;
  /** The context that is written becomes the current one. */
  readonly makesCurrent?: boolean;
}

/** Without `--context-name`: for one login, and for several. */
const DEFAULT_TEMPLATES = ['{cluster}', '{server}/{cluster}'] as const;

/** The context of a cluster, or the reason why it has none. */
export function wantedContext(
  { template, command, group }: ContextSettings,
  { name: serverName, connection }: NamedServer,
  subject: PassSubject,
  cluster: Cluster,
  localAddress: string | undefined,
): WantedContext | string {
  const { server: baseUrl, productName } = connection;
  const { name } = cluster.metadata;
  const endpoint = endpointFor(cluster, localAddress);
  if (typeof endpoint === 'string') return endpoint;
  const entry = passContext({ cluster: name, ...endpoint, baseUrl, account: subject, group, productName, command });
  const account = subject === 'me' ? { namespace: 'default', name: subject } : subject;
  const who = subject === 'me' ? subject : `${account.namespace}:${account.name}`;
  const namesBy = (text: string): ContextNames => {
    const values = { cluster: name, namespace: account.namespace, account: account.name, server: serverName };
    const contextName = text.replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key as keyof typeof values] ?? '');
    return { contextName, userName: `${who}@${contextName}` };
  };
  const usual = DEFAULT_TEMPLATES[connection.loginNames.size > 1 ? 1 : 0];
  return {
    key: { server: baseUrl, cluster: name, account: who.replace(':', '/') },
    ...namesBy(template ?? usual),
    ...(template === undefined ? { fallback: namesBy(`${usual}-{account}`) } : {}),
    cluster: entry.cluster,
    endpoints: endpointsFingerprint(endpointsInForce(cluster)),
    isConfirmed: areEndpointsConfirmed(cluster),
    exec: entry.user.exec,
    namespace: account.namespace,
  };
}

/** Of a public view, in which only the server sets the annotation. */
const areEndpointsConfirmed = ({ metadata }: Cluster): boolean =>
  metadata.annotations?.[COMPUTED_ANNOTATIONS.confirmed] === 'true';

/** A context of Clusterpass itself, or of a path below it: kubectl gets the token of the login. */
export function loginContext(
  name: string,
  { server, certificateAuthority, insecureSkipTlsVerify }: Connection,
  path: string,
  command: string,
) {
  const address = `${server}${path}`;
  const ca = certificateAuthority && Buffer.from(certificateAuthority).toString('base64');
  const flags = insecureSkipTlsVerify ? ['--insecure-skip-tls-verify'] : [];
  const unverified = { server: address, 'insecure-skip-tls-verify': true } as const;
  return {
    name,
    userName: `login@${name}`,
    cluster: insecureSkipTlsVerify ? unverified : clusterFields(address, ca),
    user: { exec: loginPlugin(server, command, flags) },
    namespace: 'default',
  };
}

const FLEET_CONTEXT = 'clusterpass';

/** Contexts for Clusterpass itself, with the login of the user: the API of the fleet, and that of each cluster. */
export function serverContexts(
  { name: serverName, connection }: NamedServer,
  command: string,
  clusters: readonly string[],
): WantedContext[] {
  const { server, productName, insecureSkipTlsVerify, loginNames } = connection;
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
  const fleet = loginNames.size > 1 ? `${FLEET_CONTEXT}@${serverName}` : FLEET_CONTEXT;
  const contextFor = (name: string, path: string, suffix: string): WantedContext => {
    const { name: contextName, userName, cluster, user } = loginContext(`${fleet}${suffix}`, connection, path, command);
    return {
      ...{ key: { server, cluster: name, account: '' }, contextName, userName, cluster },
      ...{ endpoints: '', exec: user.exec, namespace: 'default' },
    };
  };
  return [contextFor('', '', ''), ...clusters.map((name) => contextFor(name, `/${productName}/${name}`, `/${name}`))];
}

const PLACEHOLDERS = ['cluster', 'namespace', 'account', 'server'];

export function checkedTemplate(template: string | undefined): string | undefined {
  if (template === undefined) return undefined;
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const unknown = names.find((name) => !PLACEHOLDERS.includes(name));
  if (unknown !== undefined) {
    throw new CliError(
      `--context-name: {${unknown}} is unknown; supported are ${PLACEHOLDERS.map((name) => `{${name}}`).join(', ')}`,
    );
  }
  if (!names.includes('cluster'))
    throw new CliError('--context-name must contain {cluster}, or all contexts would have the same name');
  return template;
}
