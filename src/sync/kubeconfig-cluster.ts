import { isMap, parseDocument } from 'yaml';

export interface KubeconfigCluster {
  readonly server: string;
  /** PEM in base64. */
  readonly caBundle: string | undefined;
}

interface Kubeconfig {
  readonly 'current-context'?: unknown;
  readonly contexts?: readonly { readonly name?: unknown; readonly context?: { readonly cluster?: unknown } }[];
  readonly clusters?: readonly {
    readonly name?: unknown;
    readonly cluster?: { readonly server?: unknown; readonly 'certificate-authority-data'?: unknown };
  }[];
}

/**
 * CP-91: address and CA of the current context. `users` is not read: the credential there is an administrator's.
 * Undefined if they cannot be found; a parser's message would quote the text.
 */
export function clusterOfKubeconfig(text: string): KubeconfigCluster | undefined {
  const config = withoutUsers(text);
  const { contexts, clusters } = config ?? {};
  if (!Array.isArray(contexts) || !Array.isArray(clusters)) return undefined;
  const context = (contexts as NonNullable<Kubeconfig['contexts']>).find(
    (each) => each?.name === config?.['current-context'],
  );
  return clusterIn(
    (clusters as NonNullable<Kubeconfig['clusters']>).find((each) => each?.name === context?.context?.cluster),
  );
}

/**
 * Address and CA in the ConfigMap `cluster-info` of the namespace `kube-public`, which kubeadm writes for clients that
 * join the cluster: a kubeconfig with one cluster, and without contexts.
 */
export function clusterOfClusterInfo(text: string): KubeconfigCluster | undefined {
  const { clusters } = withoutUsers(text) ?? {};
  if (!Array.isArray(clusters) || clusters.length !== 1) return undefined;
  return clusterIn((clusters as NonNullable<Kubeconfig['clusters']>)[0]);
}

function clusterIn(entry: NonNullable<Kubeconfig['clusters']>[number] | undefined): KubeconfigCluster | undefined {
  const { server, 'certificate-authority-data': caBundle } = entry?.cluster ?? {};
  if (typeof server !== 'string' || server === '') return undefined;
  return { server, caBundle: typeof caBundle === 'string' && caBundle !== '' ? caBundle : undefined };
}

/** The part with credentials does not become an object. */
function withoutUsers(text: string): Kubeconfig | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0 || !isMap(document.contents)) return undefined;
  document.delete('users');
  try {
    return document.toJS() as Kubeconfig;
  } catch {
    // An alias of something in `users`.
    return undefined;
  }
}
