/** A kubeconfig (`v1` `Config`): the fields that are written here. */
interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  clusters: { name: string; cluster: { server: string; 'certificate-authority-data'?: string } }[];
  users: { name: string; user: { exec: ExecConfig } }[];
  contexts: { name: string; context: { cluster: string; user: string; namespace: string } }[];
  'current-context': string;
}

/** An exec credential plugin. */
export interface ExecConfig {
  apiVersion: 'client.authentication.k8s.io/v1';
  command: string;
  args: string[];
  installHint: string;
  interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  provideClusterInfo: boolean;
}

export interface KubeconfigFacts {
  readonly cluster: string;
  /** The address of the cluster's API. */
  readonly server: string;
  /** PEM in base64. */
  readonly caBundle: string | undefined;
  /** The address of this server, which issues the tokens. */
  readonly baseUrl: string;
  /** `me`: the passes are for the person who uses the kubeconfig. */
  readonly account: { readonly namespace: string; readonly name: string } | 'me';
  /** The handle of a pass for the account: the plugin redeems it. */
  readonly pass?: string;
  /** The product name in the paths below `baseUrl`, if it is not the default. */
  readonly productName?: string;
}

const INSTALL_HINT =
  'The program "clusterpass" gets the token for this cluster. Install it and run "clusterpass login".';

/** What the plugin assumes without a login that names another. */
const DEFAULT_PRODUCT_NAME = 'orchestrator';

/** One context, named after the cluster. It contains no secret: the plugin fetches tokens. */
export function kubeconfigFor(facts: KubeconfigFacts): Kubeconfig {
  const { cluster, server, caBundle, account } = facts;
  const user = `${account === 'me' ? account : `${account.namespace}:${account.name}`}@${cluster}`;
  const namespace = account === 'me' ? 'default' : account.namespace;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: cluster,
        cluster: { server, ...(caBundle === undefined ? {} : { 'certificate-authority-data': caBundle }) },
      },
    ],
    users: [{ name: user, user: { exec: execConfig(facts) } }],
    contexts: [{ name: cluster, context: { cluster, user, namespace } }],
    'current-context': cluster,
  };
}

const subjectArguments = (account: KubeconfigFacts['account']): string[] =>
  account === 'me' ? ['--as-me'] : ['--namespace', account.namespace, '--service-account', account.name];

const execConfig = ({ cluster, baseUrl, account, productName, pass }: KubeconfigFacts): ExecConfig => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'clusterpass',
  args: [
    'credential',
    '--server',
    baseUrl,
    '--cluster',
    cluster,
    ...(pass === undefined ? subjectArguments(account) : ['--pass', pass]),
    ...(productName === undefined || productName === DEFAULT_PRODUCT_NAME ? [] : ['--product-name', productName]),
  ],
  installHint: INSTALL_HINT,
  // E-07: required. The program never prompts, so it works without a terminal.
  interactiveMode: 'Never',
  // The plugin asks the cluster whether a cached token is still accepted.
  provideClusterInfo: true,
});
