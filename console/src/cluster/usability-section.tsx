import { usabilitySteps } from '../../../src/api/clusters/usability.ts';
import type { Cluster } from '../../../src/client/index.ts';
import { usabilityFacts } from '../../../src/client/usability.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { CodeBlock } from '../components/code-block.tsx';
import { DownloadIcon } from '../components/icons.tsx';
import { Problem } from '../components/problem.tsx';
import { Section } from '../components/section.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { saveFile } from '../save-file.ts';
import { detailsOf } from './cluster-details.ts';

/** By `String(done)`. */
const STATES: Readonly<Record<string, readonly [text: string, className: string]>> = {
  true: ['Done', 'allowed'],
  false: ['To do', 'problem'],
  undefined: ['Not known', 'muted'],
};

/** What is left until the cluster can be used, for those who may change it. Absent when everything is done. */
export function UsabilitySection({ cluster }: { readonly cluster: Cluster }) {
  const { client } = useSession();
  const { name, resourceVersion } = cluster.metadata;
  const query = useQuery(name, () => usabilityFacts(client, cluster), Number(resourceVersion));
  const { problem, run } = useAction();
  // What it repeats is on the page: without an answer nothing is lost.
  if (query.status !== 'loaded') return null;
  const steps = usabilitySteps({ ...query.value, cluster });
  if (steps.every(({ done }) => done === true)) return null;
  const { issuer, audience } = detailsOf(cluster);
  const download = (): Promise<void> =>
    run(async () => {
      const { authenticationConfiguration } = await import('../../../src/api/clusters/trust-configuration.ts');
      const reasonForNoCa = `add the CA of Clusterpass here if it is private; clusterpass trust ${name} does`;
      const options = { cluster: name, issuer, audience, certificateAuthority: undefined, reasonForNoCa };
      saveFile(`authentication-${name}.yaml`, authenticationConfiguration({ ...options, allowedNamespaces: [] }));
    });
  return (
    <Section title="Until it can be used">
      <ol className="steps">
        {steps.map(({ id, title, done, note, command }) => {
          const [state, className] = STATES[String(done)] ?? [];
          return (
            <li key={id}>
              <h3>
                {title} <span className={className}>{state}</span>
              </h3>
              {note !== '' && <p className="muted wrap-anywhere">{visibleName(note)}</p>}
              {done !== true && <CodeBlock text={command} label={`the command for “${title}”`} />}
              {id === 'trust' && done === undefined && (
                <button type="button" className="button small" onClick={download}>
                  <DownloadIcon /> Download the file
                </button>
              )}
            </li>
          );
        })}
      </ol>
      <Problem text={problem} />
    </Section>
  );
}
