import { type FormEvent, useState } from 'react';
import type { IssuedToken } from '../../../src/client/index.ts';
import type { ClusterDetails } from '../cluster/cluster-details.ts';
import { Preview } from '../components/preview.tsx';
import { TextField } from '../components/text-field.tsx';
import { Time } from '../components/time.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { useDryRun } from '../hooks/use-dry-run.ts';
import type { Query } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { hrefOf } from '../router.ts';
import { AccountFields } from './account-fields.tsx';
import { BoundFields } from './bound-fields.tsx';
import { formatDuration } from './lifetime.ts';
import { LifetimeSlider } from './lifetime-slider.tsx';
import { type AccountRef, missingInput, NEW_DRAFT, type PassDraft, requestFor } from './pass-request.ts';

interface PassFormProps {
  readonly cluster: string;
  readonly details: ClusterDetails;
  readonly accounts: readonly AccountRef[];
  /** The generation of the list of accounts. A new one repeats the dry run. */
  readonly generation: number;
  readonly onRefresh: () => void;
  readonly account: AccountRef;
  readonly onAccount: (account: AccountRef) => void;
  readonly onEnterName: (() => void) | undefined;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

export function PassForm(props: PassFormProps) {
  const { cluster, details, accounts, generation, onRefresh, account, onAccount, onEnterName, onIssued } = props;
  const { client } = useSession();
  // Clusterpass keeps no record of passes that a cluster signs itself.
  const canTrack = details.issuer !== '';
  const [draft, setDraft] = useState({
    ...NEW_DRAFT,
    seconds: Math.min(NEW_DRAFT.seconds, details.maxSeconds),
    tracked: NEW_DRAFT.tracked && canTrack,
  });
  const { busy, problem, clearProblem, run } = useAction();
  const change = (part: Partial<PassDraft>): void => {
    clearProblem();
    setDraft((old) => ({ ...old, ...part }));
  };
  const missing = missingInput(account, draft);
  const request = requestFor(cluster, account, draft);
  const key = missing === '' ? JSON.stringify(request) : '';
  const dryRun = useDryRun(key, (signal) => client.createToken({ ...request, dryRun: true, signal }), generation);
  const preview: Query<IssuedToken | undefined> = dryRun.isCurrent ? dryRun.query : { status: 'loading' };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (missing !== '') return;
    await run(async () => onIssued(await client.createToken(request), draft.tracked));
  };

  return (
    <form className="pass-form" onSubmit={submit} aria-busy={busy}>
      <ServerControls>
        <AccountFields
          accounts={accounts}
          account={account}
          onFocus={onRefresh}
          onAccount={(next) => {
            clearProblem();
            onAccount(next);
          }}
          onEnterName={onEnterName}
        />
        <TextField
          label="Audience"
          value={draft.audiences}
          placeholder="Default audience, or a comma-separated list"
          keepsSpaces
          onChange={(audiences) => change({ audiences })}
        />
        <LifetimeSlider
          seconds={draft.seconds}
          maxSeconds={details.maxSeconds}
          onSeconds={(seconds) => change({ seconds })}
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
                ? 'You can list and revoke a recorded pass. The record does not contain the pass.'
                : 'This cluster signs its passes itself: they cannot be recorded or revoked here.'}
            </span>
          </span>
        </label>
        <PassPreview preview={preview} missing={missing} problem={problem} cluster={cluster} account={account} />
        <button
          type="submit"
          className="button primary wide"
          disabled={busy || missing !== '' || preview.status === 'failed'}
        >
          {busy ? 'Issuing…' : 'Issue pass'}
        </button>
      </ServerControls>
    </form>
  );
}

interface PassPreviewProps {
  readonly preview: Query<IssuedToken | undefined>;
  readonly missing: string;
  /** The error of the request that was not a dry run. */
  readonly problem: string;
  readonly cluster: string;
  readonly account: AccountRef;
}

/** Its height does not depend on the result, so that the form does not move. */
function PassPreview({ preview, missing, problem, cluster, account }: PassPreviewProps) {
  const refusal = problem !== '' ? problem : preview.status === 'failed' ? preview.message : '';
  const pass = preview.status === 'loaded' ? preview.value : undefined;
  return (
    <Preview
      title="Preview"
      refusal={refusal}
      help={
        <a href={hrefOf({ page: 'can-i', cluster, account: `${account.namespace}/${account.name}` })}>
          Check my permissions
        </a>
      }
      missing={missing}
      isLoading={pass === undefined}
    >
      {pass !== undefined && <PreviewedPass pass={pass} />}
    </Preview>
  );
}

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
      {pass.warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
    </>
  );
}
