import { type FormEvent, memo, useId, useMemo, useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Section } from '../cluster/section.tsx';
import type { FleetStore } from '../fleet/fleet-store.ts';
import { ask, issuing, type Question, seeing, type Verdict } from './explain.ts';
import { VerdictCard } from './verdict-card.tsx';

interface WhyPageProps {
  readonly client: Client;
  readonly username: string;
  readonly fleet: FleetStore;
  /** Another number when the fleet has other clusters. */
  readonly membership: number;
  readonly cluster: string;
  /** `namespace/name` */
  readonly account: string;
}

/** What people ask about. `other` is for those who know the words of RBAC. */
type Wish = 'see' | 'pass' | 'other';

interface Form {
  readonly wish: Wish;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly verb: string;
  readonly resource: string;
}

const MOST_SUGGESTED = 500;

export const WhyPage = memo(function WhyPage(props: WhyPageProps) {
  const { client, username, fleet, membership, cluster, account } = props;
  const id = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it stands for what the store says
  const names = useMemo(() => fleet.names(MOST_SUGGESTED), [fleet, membership]);
  const [namespace = '', name = ''] = account.split('/', 2);
  const [form, setForm] = useState<Form>({
    wish: cluster !== '' && account === '' ? 'see' : 'pass',
    cluster,
    namespace,
    name,
    verb: 'get',
    resource: 'pods',
  });
  const [state, setState] = useState<{ question?: Question; verdict?: Verdict; problem?: string; busy: boolean }>({
    busy: false,
  });
  const change = (part: Partial<Form>): void => setForm({ ...form, ...part });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const question = questionOf(form);
    setState({ question, busy: true });
    try {
      setState({ question, verdict: await ask(client, question), busy: false });
    } catch (error) {
      setState({ problem: error instanceof Error ? error.message : String(error), busy: false });
    }
  };
  const needsAccount = form.wish !== 'see';
  return (
    <div className="page-body why">
      <h1>Can I …?</h1>
      <p className="muted">Ask about anything, whether it exists or not. The answer is about your rights only.</p>
      <Section title="Question">
        <form className="why-form" onSubmit={submit}>
          <fieldset className="segments">
            <legend className="unseen">What</legend>
            {(
              [
                ['see', 'see a cluster'],
                ['pass', 'get a pass'],
                ['other', 'something else'],
              ] as const
            ).map(([wish, text]) => (
              <label key={wish}>
                <input type="radio" name="wish" checked={form.wish === wish} onChange={() => change({ wish })} />
                <span>{text}</span>
              </label>
            ))}
          </fieldset>
          <div className="field-row">
            <div className="field">
              <label htmlFor={`${id}cluster`}>Cluster</label>
              <input
                id={`${id}cluster`}
                value={form.cluster}
                list={`${id}clusters`}
                required
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => change({ cluster: event.target.value.trim() })}
              />
              <datalist id={`${id}clusters`}>
                {names.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            </div>
            {form.wish === 'other' && (
              <>
                <TextField label="Verb" value={form.verb} onChange={(verb) => change({ verb })} />
                <TextField label="Resource" value={form.resource} onChange={(resource) => change({ resource })} />
              </>
            )}
            {needsAccount && (
              <>
                <TextField
                  label="Namespace"
                  value={form.namespace}
                  required={form.wish === 'pass'}
                  onChange={(text) => change({ namespace: text })}
                />
                <TextField
                  label={form.wish === 'pass' ? 'Service account' : 'Name'}
                  value={form.name}
                  required={form.wish === 'pass'}
                  onChange={(text) => change({ name: text })}
                />
              </>
            )}
          </div>
          <button type="submit" className="button primary" disabled={state.busy}>
            {state.busy ? 'Asking…' : 'Ask'}
          </button>
        </form>
      </Section>
      <div aria-live="polite">
        {state.problem !== undefined && <p className="problem">{state.problem}</p>}
        {state.verdict !== undefined && state.question !== undefined && (
          <VerdictCard verdict={state.verdict} question={state.question} username={username} />
        )}
      </div>
    </div>
  );
});

function questionOf({ wish, cluster, namespace, name, verb, resource }: Form): Question {
  if (wish === 'see') return seeing(cluster);
  if (wish === 'pass') return issuing(cluster, namespace, name);
  // As kubectl writes it: `pods`, `deployments.apps`, `serviceaccounts/token`.
  const [qualified = '', subresource] = resource.split('/', 2);
  const dot = qualified.indexOf('.');
  return {
    cluster,
    verb,
    group: dot < 0 ? '' : qualified.slice(dot + 1),
    resource: dot < 0 ? qualified : qualified.slice(0, dot),
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
  };
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly required?: boolean;
  readonly onChange: (value: string) => void;
}

function TextField({ label, value, required = true, onChange }: TextFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        required={required}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value.trim())}
      />
    </div>
  );
}
