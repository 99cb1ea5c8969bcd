import { useState } from 'react';
import type { AccessRequestSpec } from '../../../src/api/kinds/access-request-spec.ts';
import { checkAccess, toAskForAccess } from '../access/access-review.ts';
import { Form, restOf } from '../components/form.tsx';
import { Problem } from '../components/problem.tsx';
import { Section } from '../components/section.tsx';
import { Segments, SelectField, TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import { useDebouncedQuery } from '../hooks/use-debounced-query.ts';
import type { Fields } from '../hooks/use-fields.ts';
import { useSession } from '../hooks/use-session.ts';
import { durationsUpTo } from '../pass/lifetime.ts';
import { hrefOf } from '../router.ts';
import { createRequest } from './approvals.ts';

interface RequestFormProps {
  /** `cluster` and `account` of the URL fill in the form. */
  readonly fields: Fields;
  readonly onCreated: () => void;
}

const FIELDS = ['spec.cluster', 'spec.serviceAccount', 'spec.reason'];

/** A binding can allow it in some clusters, and a namespace, only. */
function useIsDenied(cluster: string, namespace: string): boolean {
  const { client } = useSession();
  const content = cluster === '' ? '' : `${cluster}/${namespace}`;
  const { isCurrent, query } = useDebouncedQuery(content, () =>
    checkAccess(client, toAskForAccess(cluster, namespace)),
  );
  return isCurrent && query.status === 'loaded' && query.value?.allowed === false;
}

const PASSES = { account: 'Passes of a service account', me: 'Passes as me', none: 'No passes' };

/** Asks to see a cluster, and for passes of it. */
export function RequestForm({ fields, onCreated }: RequestFormProps) {
  const { client, username, settings } = useSession();
  const [cluster, setCluster] = useState(fields.get('cluster'));
  const [account, setAccount] = useState(fields.get('account'));
  const [passes, setPasses] = useState<keyof typeof PASSES>(account === '' ? 'none' : 'account');
  const [reason, setReason] = useState('');
  const [seconds, setSeconds] = useState(String(Math.min(3_600, settings.maxRequestSeconds)));
  const { busy, failure, run } = useAction();
  const [created, setCreated] = useState('');
  const [namespace = '', name = ''] = passes === 'account' ? account.split('/', 2) : [];
  const isDenied = useIsDenied(cluster, namespace);
  const submit = async (): Promise<void> => {
    const spec: AccessRequestSpec = {
      cluster,
      ...(passes === 'account' && { serviceAccount: { namespace, name } }),
      ...(passes === 'me' && { userpass: true }),
      reason: reason.trim(),
      durationSeconds: Number(seconds),
    };
    await run(async () => {
      setCreated('');
      setCreated(await createRequest(client, username, spec));
      setReason('');
      onCreated();
    });
  };
  return (
    <Section title="Ask for access">
      <Form failure={failure} busy={busy} onSubmit={submit}>
        <TextField
          label="Cluster"
          field="spec.cluster"
          value={cluster}
          suggestions={useClusterNames()}
          required
          onChange={setCluster}
        />
        <Segments legend="And passes" value={passes} options={PASSES} onChange={setPasses} />
        {passes === 'account' && (
          <TextField
            label="Service account"
            field="spec.serviceAccount"
            value={account}
            placeholder="namespace/name"
            required
            onChange={setAccount}
          />
        )}
        <SelectField
          label="For"
          value={seconds}
          options={durationsUpTo(settings.maxRequestSeconds)}
          onChange={setSeconds}
        />
        <TextField
          label="Reason"
          field="spec.reason"
          value={reason}
          rows={2}
          keepsSpaces
          required
          placeholder="What for? Approvers read it."
          onChange={setReason}
        />
        {isDenied && (
          <p className="problem" role="status">
            Your roles do not allow you to ask for access in {cluster}.
          </p>
        )}
        <Problem text={restOf(failure, FIELDS)} />
        {created !== '' && (
          <p className="allowed" role="status">
            Requested. Approvers see it now, and at this address:{' '}
            <a href={hrefOf({ page: 'request', name: created })}>{created}</a>
          </p>
        )}
        <div className="actions">
          <button type="submit" className="button primary" disabled={busy || isDenied}>
            {busy ? 'Requesting…' : 'Request access'}
          </button>
        </div>
      </Form>
    </Section>
  );
}
