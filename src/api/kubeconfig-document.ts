/** The file by which kubectl and the client libraries find a cluster (`v1` `Config`); the part of it that is written here. */
export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  clusters: { name: string; cluster: { server: string; 'certificate-authority-data'?: string } }[];
  users: { name: string; user: { exec: ExecConfig } }[];
  contexts: { name: string; context: { cluster: string; user: string; namespace: string } }[];
  'current-context': string;
}

/** How a client gets a credential by running a program. */
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
  /** Where tokens come from. */
  readonly baseUrl: string;
  readonly account: { readonly namespace: string; readonly name: string };
  /** The word in the paths below `baseUrl`, where it is another than the usual. */
  readonly productName?: string;
}

const INSTALL_HINT =
  'The program "clusterpass" gets the token for this cluster. Install it and run "clusterpass login".';

/** What the plugin assumes without a login that tells it otherwise. */
const USUAL_PRODUCT_NAME = 'orchestrator';

/** One context, named after the cluster. There is no secret in it: tokens are fetched when they are needed. */
export function kubeconfigFor(facts: KubeconfigFacts): Kubeconfig {
  const { cluster, server, caBundle, account } = facts;
  const user = `${account.namespace}:${account.name}@${cluster}`;
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
    contexts: [{ name: cluster, context: { cluster, user, namespace: account.namespace } }],
    'current-context': cluster,
  };
}

const execConfig = ({ cluster, baseUrl, account, productName }: KubeconfigFacts): ExecConfig => ({
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'clusterpass',
  args: [
    'credential',
    '--server',
    baseUrl,
    '--cluster',
    cluster,
    '--namespace',
    account.namespace,
    '--service-account',
    account.name,
    ...(productName === undefined || productName === USUAL_PRODUCT_NAME ? [] : ['--product-name', productName]),
  ],
  installHint: INSTALL_HINT,
  // E-07: required. The program asks nothing, so it works the same without a terminal.
  interactiveMode: 'Never',
  provideClusterInfo: false,
});
