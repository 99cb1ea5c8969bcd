import { CopyButton } from '../parts/copy-button.tsx';
import type { Question, Verdict } from './explain.ts';
import { GrantPath } from './grant-path.tsx';
import { missingRule } from './missing-rule.ts';

interface VerdictCardProps {
  readonly verdict: Verdict;
  readonly question: Question;
  readonly username: string;
}

/** Yes and by which rule, or no and what is missing. */
export function VerdictCard({ verdict, question, username }: VerdictCardProps) {
  const asked = sentence(question);
  if (verdict.allowed) {
    return (
      <section className="card verdict verdict-yes" aria-label="Answer">
        <h2>Yes, you may {asked}</h2>
        {verdict.grant === undefined ? <p>{verdict.text}</p> : <GrantPath grant={verdict.grant} />}
      </section>
    );
  }
  const rule = missingRule(question, username);
  return (
    <section className="card verdict verdict-no" aria-label="Answer">
      <h2>No, you may not {asked}</h2>
      <p>
        {verdict.text === ''
          ? 'No binding gives you this right.'
          : `No binding that works gives you this right: ${verdict.text}`}
      </p>
      <p>An administrator could give it to you with this, and nothing more:</p>
      <div className="code">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
        <pre tabIndex={0}>{rule}</pre>
        <CopyButton text={rule} label="the rule" />
      </div>
    </section>
  );
}

function sentence({ cluster, verb, group, resource, subresource, namespace, name }: Question): string {
  if (cluster === undefined) return `see the cluster ${name}`;
  if (resource === 'serviceaccounts' && subresource === 'token' && verb === 'create') {
    return `get a pass for ${namespace}/${name} in ${cluster}`;
  }
  const type = [resource, subresource].filter(Boolean).join('/') + (group === '' ? '' : `.${group}`);
  return [verb, type, name, namespace && `in the namespace ${namespace}`, `in ${cluster}`].filter(Boolean).join(' ');
}
