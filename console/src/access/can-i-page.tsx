import { memo, useState } from 'react';
import { allowingObjects } from '../../../src/api/allowing-objects.ts';
import type { Client } from '../../../src/client/index.ts';
import { Form } from '../components/form.tsx';
import { Section } from '../components/section.tsx';
import { Segments, TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import { useFields } from '../hooks/use-fields.ts';
import { useSession } from '../hooks/use-session.ts';
import { AccessResultCard } from './access-result.tsx';
import {
  type AccessRequest,
  type AccessResult,
  checkAccess,
  toAskForAccess,
  toIssuePass,
  toViewCluster,
} from './access-review.ts';
import { manifestText } from './manifest-text.ts';

const ACTIONS = { view: 'see a cluster', pass: 'get a pass', other: 'do something else' };

interface Question {
  readonly action: keyof typeof ACTIONS;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly verb: string;
  readonly resource: string;
}

interface Check {
  readonly request: AccessRequest;
  readonly result: AccessResult;
  /** The objects that would allow what is denied; `""` if it is allowed. */
  readonly manifest: string;
  /** The user may ask for what is denied. */
  readonly mayRequest: boolean;
}

/** `kubectl auth can-i` as a form. Memoized, because the fleet renders up to ten times a second. */
export const CanIPage = memo(({ query }: { readonly query: string }) => <CanIForm key={query} query={query} />);

/** The account of the query is `namespace/name`; of `/` the user still has to enter both. */
function CanIForm({ query }: { readonly query: string }) {
  const { client, username } = useSession();
  const clusterNames = useClusterNames();
  const fields = useFields('can-i', query);
  const [cluster, account] = [fields.get('cluster'), fields.get('account')];
  const [namespace = '', name = ''] = account.split('/', 2);
  const [form, setForm] = useState<Question>({
    action: cluster !== '' && account === '' ? 'view' : 'pass',
    cluster,
    namespace,
    name,
    verb: 'get',
    resource: 'pods',
  });
  const [check, setCheck] = useState<Check>();
  const { busy, problem, run } = useAction();
  const change = (part: Partial<Question>): void => setForm({ ...form, ...part });
  const submit = async (): Promise<void> => {
    setCheck(undefined);
    await run(async () => setCheck(await checkOf(client, username, form)));
  };
  return (
    <div className="page-body stack">
      <header className="page-head">
        <h1>Can I …?</h1>
        <p className="muted">
          Checks your own permissions, like <span className="mono no-wrap">kubectl auth can-i</span>. The cluster and
          the resource do not have to exist.
        </p>
      </header>
      <div className="columns two">
        <Section title="Permission">
          <Form className="can-i-form" onSubmit={submit}>
            <Segments legend="Action" value={form.action} options={ACTIONS} onChange={(action) => change({ action })} />
            <div className="field-row">
              <TextField
                label="Cluster"
                value={form.cluster}
                suggestions={clusterNames}
                required
                onChange={(value) => change({ cluster: value })}
              />
              {form.action === 'other' && (
                <>
                  <TextField label="Verb" value={form.verb} required onChange={(verb) => change({ verb })} />
                  <TextField
                    label="Resource"
                    value={form.resource}
                    required
                    onChange={(resource) => change({ resource })}
                  />
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
            <button type="submit" className="button primary" disabled={busy}>
              {busy ? 'Checking…' : 'Check'}
            </button>
          </Form>
        </Section>
        <div className="column" aria-live="polite">
          {problem !== '' && <p className="problem">{problem}</p>}
          {check !== undefined && <AccessResultCard {...check} />}
        </div>
      </div>
    </div>
  );
}

async function checkOf(client: Client, username: string, form: Question): Promise<Check> {
  const request = requestOf(form);
  const result = await checkAccess(client, request);
  if (result.allowed) return { request, result, manifest: '', mayRequest: false };
  const [mayRequest, manifest] = await Promise.all([
    mayAsk(client, form),
    manifestText(allowingObjects(request, { kind: 'User', name: username })),
  ]);
  return { request, result, manifest, mayRequest };
}

/** In this cluster: a binding can allow it in some clusters only. */
const mayAsk = async (client: Client, { action, cluster, namespace }: Question): Promise<boolean> =>
  (await checkAccess(client, toAskForAccess(cluster, action === 'view' ? '' : namespace))).allowed;

function requestOf({ action, cluster, namespace, name, verb, resource }: Question): AccessRequest {
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
