import { useState } from 'react';
import type { AccessRequestSpec } from '../../../src/api/kinds/access-request-spec.ts';
import { checkAccess, toAskForAccess } from '../access/access-review.ts';
import { Form, restOf } from '../components/form.tsx';
import { Problem } from '../components/problem.tsx';
import { Section } from '../components/section.tsx';
import { SelectField, TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import { useDebouncedQuery } from '../hooks/use-debounced-query.ts';
import type { Fields } from '../hooks/use-fields.ts';
import { useSession } from '../hooks/use-session.ts';
import { durationsUpTo } from '../pass/lifetime.ts';
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

/** Asks for access to a cluster, or for passes of an account in it. */
export function RequestForm({ fields, onCreated }: RequestFormProps) {
  const { client, username, settings } = useSession();
  const [cluster, setCluster] = useState(fields.get('cluster'));
  const [account, setAccount] = useState(fields.get('account'));
  const [reason, setReason] = useState('');
  const [seconds, setSeconds] = useState(String(Math.min(3_600, settings.maxRequestSeconds)));
  const { busy, failure, run } = useAction();
  const [outcome, setOutcome] = useState('');
  const [namespace = '', name = ''] = account.split('/', 2);
  const isDenied = useIsDenied(cluster, namespace);
  const submit = async (): Promise<void> => {
    const spec: AccessRequestSpec = {
      cluster,
      ...(account === '' ? {} : { serviceAccount: { namespace, name } }),
      reason: reason.trim(),
      durationSeconds: Number(seconds),
    };
    await run(async () => {
      setOutcome('');
      const created = await createRequest(client, username, spec);
      setOutcome(`Requested as ${created}. Approvers see it now.`);
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
        <TextField
          label="Service account"
          field="spec.serviceAccount"
          value={account}
          placeholder="namespace/name; empty to see the cluster"
          onChange={setAccount}
        />
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
        {outcome !== '' && (
          <p className="allowed" role="status">
            {outcome}
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
