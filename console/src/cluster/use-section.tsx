import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { DownloadIcon } from '../parts/icons.tsx';
import { serverRoot } from '../session/settings.ts';
import { commandsFor, kubeconfigName } from './commands.ts';
import { Section } from './section.tsx';

interface UseSectionProps {
  readonly client: Client;
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
}

/** The kubeconfig to download and the commands to copy, for the account that was chosen. */
export function UseSection({ client, cluster, namespace, account }: UseSectionProps) {
  const [shown, setShown] = useState(0);
  const [problem, setProblem] = useState('');
  const isChosen = namespace !== '' && account !== '';
  const commands = commandsFor({
    server: serverRoot(),
    productName: client.productName,
    cluster,
    namespace: namespace || 'NAMESPACE',
    account: account || 'ACCOUNT',
  });
  const command = commands[shown];
  const download = async (): Promise<void> => {
    setProblem('');
    try {
      save(kubeconfigName(cluster), await client.kubeconfig({ cluster, namespace, name: account }));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Section
      title="Using it"
      aside={
        <button type="button" className="button small" disabled={!isChosen} onClick={download}>
          <DownloadIcon /> Download kubeconfig
        </button>
      }
    >
      <p className="muted">
        {isChosen ? (
          <>
            As <span className="mono">{`${namespace}/${account}`}</span>. The kubeconfig holds no secret.
          </>
        ) : (
          'Choose an account under “Get a pass”, and the commands are ready to copy.'
        )}
      </p>
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="tabs" role="tablist" aria-label="Commands">
        {commands.map(({ title }, index) => (
          <button
            key={title}
            type="button"
            role="tab"
            id={`tab-${title}`}
            aria-selected={index === shown}
            aria-controls="tab-panel"
            tabIndex={index === shown ? 0 : -1}
            onClick={() => setShown(index)}
            onKeyDown={(event) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
              if (step === undefined) return;
              const next = (index + step + commands.length) % commands.length;
              setShown(next);
              document.getElementById(`tab-${commands[next]?.title}`)?.focus();
            }}
          >
            {title}
          </button>
        ))}
      </div>
      {command !== undefined && (
        <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${command.title}`}>
          <div className="code">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
            <pre tabIndex={0}>{command.text}</pre>
            <CopyButton text={command.text} label={`the ${command.title} commands`} />
          </div>
          <p className="muted hint">{command.note}</p>
        </div>
      )}
    </Section>
  );
}

/** Hands text to the person as a file. */
function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken it by the next turn.
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
