import { useState } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { DownloadIcon } from '../components/icons.tsx';
import { Problem } from '../components/problem.tsx';
import { Section } from '../components/section.tsx';
import { Segments } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useSession } from '../hooks/use-session.ts';
import type { AccountRef } from '../pass/pass-request.ts';
import { saveFile } from '../save-file.ts';
import type { Provider } from '../session/oidc-client.ts';
import { serverRoot } from '../settings.ts';

interface ConnectSectionProps {
  readonly cluster: string;
  readonly account: AccountRef;
}

/** The kubeconfig and the commands for the chosen service account. */
export function ConnectSection({ cluster, account }: ConnectSectionProps) {
  const { client, settings } = useSession();
  const [selected, setSelected] = useState('clusterpass');
  const { problem, run } = useAction();
  const isChosen = account.namespace !== '' && account.name !== '';
  const chosen = { namespace: account.namespace || 'NAMESPACE', name: account.name || 'SERVICE_ACCOUNT' };
  const commands = commandsFor(client.productName, cluster, chosen, settings.provider);
  const command = commands.find(({ title }) => title === selected);
  const download = (): Promise<void> =>
    run(async () => saveFile(kubeconfigName(cluster), await client.kubeconfig({ cluster, ...account })));
  return (
    <Section
      title="Connect"
      action={
        <button type="button" className="button small" disabled={!isChosen} onClick={download}>
          <DownloadIcon /> Download kubeconfig
        </button>
      }
    >
      <p className="muted">
        {isChosen ? (
          <>
            As service account <span className="mono wrap-anywhere">{`${account.namespace}/${account.name}`}</span>. The
            kubeconfig contains no credentials.
          </>
        ) : (
          'Choose a service account under “Get a pass” to complete the commands.'
        )}
      </p>
      <Problem text={problem} />
      <Segments
        legend="Commands"
        value={selected}
        options={commands.map(({ title }) => [title, title] as const)}
        onChange={setSelected}
      />
      {command !== undefined && (
        <>
          <CodeBlock text={command.text} label={`the ${command.title} commands`} />
          <p className="muted hint">{command.note}</p>
        </>
      )}
    </Section>
  );
}

interface Command {
  readonly title: string;
  readonly note: string;
  readonly text: string;
}

const kubeconfigName = (cluster: string): string => `${cluster}.kubeconfig.yaml`;

const PROVIDER_NOTE = ' The login is at the identity provider of this page. If you have a token: --token-file FILE.';

/** Shell commands. The server accepts only names without characters that a shell interprets, so they are not quoted. */
function commandsFor(
  productName: string,
  cluster: string,
  { namespace, name }: AccountRef,
  provider: Provider | undefined,
): Command[] {
  const server = serverRoot();
  const productOption = productName === 'orchestrator' ? '' : ` --product-name ${productName}`;
  const tokenUrl = `${server}/${productName}/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  return [
    {
      title: 'clusterpass',
      note: `The Clusterpass command line. Log in once, then create passes.${provider === undefined ? '' : PROVIDER_NOTE}`,
      text: [
        ...(provider === undefined ? [`clusterpass login --token-file ./token \\`] : [`clusterpass login \\`]),
        `  --server ${server}${productOption}`,
        `clusterpass create token ${name} \\`,
        `  --namespace ${namespace} --cluster ${cluster}`,
      ].join('\n'),
    },
    {
      title: 'kubectl',
      note: 'With the downloaded kubeconfig, kubectl gets a pass whenever it needs one.',
      text: `kubectl --kubeconfig ${kubeconfigName(cluster)} get pods`,
    },
    {
      title: 'curl',
      note: 'Any HTTP client. Set TOKEN to your own token.',
      text: [
        `curl -H "Authorization: Bearer $TOKEN" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"spec":{"audiences":[]}}' \\`,
        `  ${tokenUrl}`,
      ].join('\n'),
    },
  ];
}
