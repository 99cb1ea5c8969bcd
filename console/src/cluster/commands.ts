export interface CommandFacts {
  /** The root of this server. */
  readonly server: string;
  readonly productName: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
}

export interface Command {
  readonly title: string;
  readonly note: string;
  readonly text: string;
}

/** Lines to copy. The names in them were checked by whoever made them: a name has no character that a shell knows. */
export function commandsFor({ server, productName, cluster, namespace, account }: CommandFacts): Command[] {
  const word = productName === 'orchestrator' ? '' : ` --product-name ${productName}`;
  const path = `${server}/${productName}/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
  return [
    {
      title: 'clusterpass',
      note: 'The program itself. Sign in once, then ask for passes.',
      text: [
        `clusterpass login --token-file ./token \\`,
        `  --server ${server}${word}`,
        `clusterpass create token ${account} \\`,
        `  --namespace ${namespace} --cluster ${cluster}`,
      ].join('\n'),
    },
    {
      title: 'kubectl',
      note: 'With the kubeconfig from above, kubectl fetches a pass whenever it needs one.',
      text: `kubectl --kubeconfig ${kubeconfigName(cluster)} get pods`,
    },
    {
      title: 'curl',
      note: 'Anything that can send a request, with your own token in TOKEN.',
      text: [
        `curl -H "Authorization: Bearer $TOKEN" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"spec":{"audiences":[]}}' \\`,
        `  ${path}`,
      ].join('\n'),
    },
  ];
}

export const kubeconfigName = (cluster: string): string => `${cluster}.kubeconfig.yaml`;
