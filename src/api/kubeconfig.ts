import { isMap, parseDocument } from 'yaml';

export interface ClusterFields {
  server: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: true;
}

export type UserFields = { exec: ExecConfig } | { token: string };

/** An exec credential plugin. */
export interface ExecConfig {
  apiVersion: 'client.authentication.k8s.io/v1';
  command: string;
  args: string[];
  installHint: string;
  interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  provideClusterInfo: boolean;
}

/** A context with its cluster and its user. */
export interface ContextEntry {
  readonly name: string;
  readonly userName: string;
  readonly cluster: ClusterFields;
  readonly user: UserFields;
  readonly namespace?: string | undefined;
}

/** The first context is the current one. */
export const kubeconfigOf = (entries: readonly [ContextEntry, ...ContextEntry[]]) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
  users: entries.map(({ userName, user }) => ({ name: userName, user })),
  contexts: entries.map(({ name, userName, namespace }) => ({
    name,
    context: { cluster: name, user: userName, ...(namespace === undefined ? {} : { namespace }) },
  })),
  'current-context': entries[0].name,
});

/** `caBundle` is PEM in base64; undefined: the system CAs. */
export const clusterFields = (server: string, caBundle: string | undefined): ClusterFields => ({
  server,
  ...(caBundle === undefined ? {} : { 'certificate-authority-data': caBundle }),
});

export interface PassFacts {
  readonly cluster: string;
  /** The address of the cluster's API. */
  readonly server: string;
  /** PEM in base64. */
  readonly caBundle: string | undefined;
  /** The address of this server, which issues the tokens. */
  readonly baseUrl: string;
  /** `me`: the passes are for the person who uses the kubeconfig. */
  readonly account: { readonly namespace: string; readonly name: string } | 'me';
  /** The only group of the person that the passes have. */
  readonly group?: string | undefined;
  /** The handle of a pass for the account: the plugin redeems it. */
  readonly pass?: string;
  /** The product name in the paths below `baseUrl`, if it is not the default. */
  readonly productName?: string;
  /** The program that kubectl runs for a token. */
  readonly command?: string;
}

/** What the plugin assumes without a login that names another. */
const DEFAULT_PRODUCT_NAME = 'orchestrator';

/** A context of a cluster, named after it. It contains no secret: the plugin fetches tokens. */
export function passContext(facts: PassFacts): ContextEntry & { readonly user: { readonly exec: ExecConfig } } {
  const { cluster, server, caBundle, baseUrl, account, group, productName, pass, command } = facts;
  const [who, subject] =
    account === 'me'
      ? [account, ['--as-me', ...(group === undefined ? [] : ['--group', group])]]
      : [`${account.namespace}:${account.name}`, ['--namespace', account.namespace, '--service-account', account.name]];
  const args = [
    ...['--server', baseUrl, '--cluster', cluster],
    ...(pass === undefined ? subject : ['--pass', pass]),
    ...(productName === undefined || productName === DEFAULT_PRODUCT_NAME ? [] : ['--product-name', productName]),
  ];
  return {
    name: cluster,
    userName: `${who}@${cluster}`,
    cluster: clusterFields(server, caBundle),
    // The plugin asks the cluster whether a cached token is still accepted.
    user: { exec: { ...plugin('gets the token for this cluster', args, command), provideClusterInfo: true } },
    namespace: account === 'me' ? 'default' : account.namespace,
  };
}

/** The plugin that gives the token of a login at the server itself. */
export const loginPlugin = (server: string, command: string, flags: readonly string[] = []): ExecConfig =>
  plugin('gives the token of your login', ['--login', '--server', server, ...flags], command);

const plugin = (does: string, args: readonly string[], command = 'clusterpass'): ExecConfig => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command,
  args: ['credential', ...args],
  installHint: `The program "clusterpass" ${does}. Install it and run "clusterpass login".`,
  // E-07: required. The program never prompts, so it works without a terminal.
  interactiveMode: 'Never',
  provideClusterInfo: false,
});

type Fields = Readonly<Record<string, unknown>>;

/** An entry of one of the three lists of a kubeconfig. */
export interface NamedFields {
  readonly name: string;
  readonly fields: Fields;
}

/** Of one file. The default of the parser is 100, which a file of many contexts with one anchor exceeds. */
export const MAX_ALIASES = { maxAliasCount: 100_000 };

/**
 * Reads a kubeconfig as kubectl does: its first document, and the last of two keys. Undefined for anything else: the
 * message of a parser would quote the text. `withoutUsers`: the part with credentials does not become an object.
 */
export function parseKubeconfig(text: string, { withoutUsers = false } = {}) {
  const document = parseDocument(text, { uniqueKeys: false });
  if (document.errors.some(({ code }) => code !== 'MULTIPLE_DOCS') || !isMap(document.contents)) return undefined;
  if (withoutUsers) while (document.delete('users'));
  let root: Fields;
  try {
    root = document.toJS(MAX_ALIASES) as Fields;
  } catch {
    // Too many aliases, or one of something in `users`.
    return undefined;
  }
  return {
    /** `""` if there is none. */
    current: stringField(root, 'current-context') ?? '',
    contexts: entriesOf(root.contexts, 'context'),
    clusters: entriesOf(root.clusters, 'cluster'),
    users: entriesOf(root.users, 'user'),
  };
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const entriesOf = (list: unknown, kind: string): NamedFields[] =>
  (Array.isArray(list) ? list.filter(isFields) : []).map((item) => {
    const fields = item[kind];
    return { name: stringField(item, 'name') ?? '', fields: isFields(fields) ? fields : {} };
  });

export const entryOf = (entries: readonly NamedFields[], name: string | undefined): Fields | undefined =>
  entries.find((entry) => entry.name === name)?.fields;

/** A text that is not empty. */
export function stringField(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export interface ClusterAddress {
  readonly server: string;
  /** PEM in base64. */
  readonly caBundle: string | undefined;
}

/** Undefined for a cluster without an address. */
export function addressIn(cluster: Fields = {}): ClusterAddress | undefined {
  const server = stringField(cluster, 'server');
  return server === undefined ? undefined : { server, caBundle: stringField(cluster, 'certificate-authority-data') };
}

/** Of the current context. The user is not read: in the kubeconfigs of Cluster API it is an administrator (CP-91). */
export function currentAddress(text: string): ClusterAddress | undefined {
  const config = parseKubeconfig(text, { withoutUsers: true });
  if (config === undefined) return undefined;
  const context = entryOf(config.contexts, config.current) ?? {};
  return addressIn(entryOf(config.clusters, stringField(context, 'cluster')));
}
