import { type FormEvent, memo, useId, useMemo, useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Section } from '../components/section.tsx';
import { errorMessage } from '../error-message.ts';
import type { FleetStore } from '../fleet/fleet-store.ts';
import { AccessResultCard } from './access-result.tsx';
import { type AccessRequest, type AccessResult, checkAccess, toIssuePass, toViewCluster } from './access-review.ts';

interface CanIPageProps {
  readonly client: Client;
  readonly username: string;
  readonly fleet: FleetStore;
  /** Increases when a cluster is added or removed. */
  readonly membership: number;
  readonly cluster: string;
  /** `namespace/name` */
  readonly account: string;
}

const ACTIONS = [
  ['view', 'see a cluster'],
  ['pass', 'get a pass'],
  ['other', 'do something else'],
] as const;

interface Form {
  readonly action: (typeof ACTIONS)[number][0];
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly verb: string;
  readonly resource: string;
}

interface Check {
  readonly request?: AccessRequest;
  readonly result?: AccessResult;
  readonly problem?: string;
  readonly busy: boolean;
}

const MAX_SUGGESTIONS = 500;

/** `kubectl auth can-i` as a form. Memoized, because the fleet renders up to ten times a second. */
export const CanIPage = memo(function CanIPage(props: CanIPageProps) {
  const { client, username, fleet, membership, cluster, account } = props;
  const id = useId();
  // biome-ignore lint/correctness/useExhaustiveDependencies: membership says when the names in the store change
  const names = useMemo(() => fleet.names(MAX_SUGGESTIONS), [fleet, membership]);
  const [namespace = '', name = ''] = account.split('/', 2);
  const [form, setForm] = useState<Form>({
    action: cluster !== '' && account === '' ? 'view' : 'pass',
    cluster,
    namespace,
    name,
    verb: 'get',
    resource: 'pods',
  });
  const [check, setCheck] = useState<Check>({ busy: false });
  const change = (part: Partial<Form>): void => setForm({ ...form, ...part });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const request = requestOf(form);
    setCheck({ request, busy: true });
    try {
      setCheck({ request, result: await checkAccess(client, request), busy: false });
    } catch (error) {
      setCheck({ problem: errorMessage(error), busy: false });
    }
  };
  return (
    <div className="page-body can-i">
      <h1>Can I …?</h1>
      <p className="muted">
        Checks your own permissions, like <span className="mono no-wrap">kubectl auth can-i</span>. The cluster and the
        resource do not have to exist.
      </p>
      <Section title="Permission">
        <form className="can-i-form" onSubmit={submit}>
          <fieldset className="segments">
            <legend className="visually-hidden">Action</legend>
            {ACTIONS.map(([action, text]) => (
              <label key={action}>
                <input
                  type="radio"
                  name="action"
                  checked={form.action === action}
                  onChange={() => change({ action })}
                />
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
            {form.action === 'other' && (
              <>
                <TextField label="Verb" value={form.verb} onChange={(verb) => change({ verb })} />
                <TextField label="Resource" value={form.resource} onChange={(resource) => change({ resource })} />
              </>
            )}
            {form.action !== 'view' && (
              <>
                <TextField
                  label="Namespace"
                  value={form.namespace}
                  required={form.action === 'pass'}
                  onChange={(text) => change({ namespace: text })}
                />
                <TextField
                  label={form.action === 'pass' ? 'Service account' : 'Name'}
                  value={form.name}
                  required={form.action === 'pass'}
                  onChange={(text) => change({ name: text })}
                />
              </>
            )}
          </div>
          <button type="submit" className="button primary" disabled={check.busy}>
            {check.busy ? 'Checking…' : 'Check'}
          </button>
        </form>
      </Section>
      <div aria-live="polite">
        {check.problem !== undefined && <p className="problem">{check.problem}</p>}
        {check.result !== undefined && check.request !== undefined && (
          <AccessResultCard request={check.request} result={check.result} username={username} />
        )}
      </div>
    </div>
  );
});

function requestOf({ action, cluster, namespace, name, verb, resource }: Form): AccessRequest {
  if (action === 'view') return toViewCluster(cluster);
  if (action === 'pass') return toIssuePass(cluster, namespace, name);
  // The notation of kubectl: `pods`, `deployments.apps`, `serviceaccounts/token`.
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
