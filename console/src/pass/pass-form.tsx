import { useState } from 'react';
import type { IssuedToken } from '../../../src/client/index.ts';
import type { ClusterDetails } from '../cluster/cluster-details.ts';
import { Form } from '../components/form.tsx';
import { Preview } from '../components/preview.tsx';
import { SelectField, TextField } from '../components/text-field.tsx';
import { Time } from '../components/time.tsx';
import { useCheckedForm } from '../hooks/use-checked-form.ts';
import { useSession } from '../hooks/use-session.ts';
import { linkTo } from '../router.ts';
import { AccountFields } from './account-fields.tsx';
import { BoundFields } from './bound-fields.tsx';
import { durationsUpTo, formatDuration } from './lifetime.ts';
import { type AccountRef, missingInput, NEW_DRAFT, type PassDraft, requestFor } from './pass-request.ts';

interface PassFormProps {
  readonly cluster: string;
  readonly details: ClusterDetails;
  /** The user may ask for access to the cluster. */
  readonly mayAsk: boolean;
  readonly accounts: readonly AccountRef[];
  /** The generation of the list of accounts. A new one repeats the dry run. */
  readonly generation: number;
  readonly onRefresh: () => void;
  readonly account: AccountRef;
  readonly onAccount: (account: AccountRef) => void;
  readonly onEnterName: (() => void) | undefined;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

const FIELDS = ['spec.audiences', 'spec.boundObjectRef'];

export function PassForm(props: PassFormProps) {
  const { cluster, details, mayAsk, accounts, generation, onRefresh, account, onAccount, onEnterName } = props;
  const { client } = useSession();
  const accountText = `${account.namespace}/${account.name}`;
  // Clusterpass keeps no record of passes that a cluster signs itself.
  const canTrack = details.issuer !== '';
  const [draft, setDraft] = useState({
    ...NEW_DRAFT,
    seconds: Math.min(NEW_DRAFT.seconds, details.maxSeconds),
    tracked: NEW_DRAFT.tracked && canTrack,
  });
  const change = (part: Partial<PassDraft>): void => setDraft((old) => ({ ...old, ...part }));
  const missing = missingInput(account, draft);
  const request = requestFor(cluster, account, draft);
  const form = useCheckedForm({
    content: missing === '' ? JSON.stringify(request) : '',
    dryRun: (signal) => client.createToken({ ...request, dryRun: true, signal }),
    fields: FIELDS,
    generation,
  });
  const { busy, query } = form;
  const submit = async (): Promise<void> => {
    if (missing !== '') return;
    await form.run(async () => props.onIssued(await client.createToken(request), draft.tracked));
  };

  return (
    <Form className="pass-form" failure={form.failure} busy={busy} onSubmit={submit}>
      <AccountFields
        accounts={accounts}
        account={account}
        onFocus={onRefresh}
        onAccount={onAccount}
        onEnterName={onEnterName}
      />
      <TextField
        label="Audience"
        field="spec.audiences"
        value={draft.audiences}
        placeholder="Default audience, or a comma-separated list"
        keepsSpaces
        onChange={(audiences) => change({ audiences })}
      />
      <SelectField
        label="Lifetime"
        value={String(draft.seconds)}
        options={durationsUpTo(details.maxSeconds)}
        onChange={(seconds) => change({ seconds: Number(seconds) })}
      />
      <BoundFields cluster={cluster} account={account} draft={draft} onChange={change} />
      <label className="check">
        <input
          type="checkbox"
          checked={draft.tracked}
          disabled={!canTrack}
          onChange={(event) => change({ tracked: event.target.checked })}
        />
        <span>
          Keep a record of this pass
          <span className="muted hint">
            {canTrack
              ? 'You can list and revoke a tracked pass. The record does not contain the pass.'
              : 'This cluster signs its passes itself: they cannot be recorded or revoked here.'}
          </span>
        </span>
      </label>
      <Preview
        title="Preview"
        refusal={form.refusal}
        help={
          <p className="actions">
            {mayAsk && <a href={linkTo('requests', { cluster, account: accountText })}>Ask for access</a>}
            <a href={linkTo('can-i', { cluster, account: accountText })}>Check my permissions</a>
          </p>
        }
        missing={missing}
        warnings={form.warnings}
        isLoading={!form.isAccepted}
      >
        {query.status === 'loaded' && query.value !== undefined && <PreviewedPass pass={query.value} />}
      </Preview>
      <button
        type="submit"
        className="button primary wide"
        disabled={busy || missing !== '' || query.status === 'failed'}
      >
        {busy ? 'Issuing…' : 'Issue pass'}
      </button>
    </Form>
  );
}

/** Its height does not depend on the pass, so that the form does not move. */
function PreviewedPass({ pass }: { pass: IssuedToken }) {
  const { spec } = pass.tokenRequest;
  const seconds = Math.round((Date.parse(pass.expirationTimestamp) - pass.issuedAt) / 1000);
  return (
    <>
      <p>
        Valid for {formatDuration(spec?.expirationSeconds ?? seconds)}, until <Time at={pass.expirationTimestamp} />
      </p>
      <p>
        Audience <span className="mono wrap-anywhere">{spec?.audiences?.join(', ')}</span>
      </p>
    </>
  );
}
