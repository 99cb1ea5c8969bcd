import { type FormEvent, useEffect, useId, useState } from 'react';
import type { Client, IssuedToken } from '../../../src/client/index.ts';
import type { ClusterFacts } from '../cluster/cluster-facts.ts';
import type { Account } from '../cluster/cluster-page.tsx';
import { type Loaded, useLoaded } from '../parts/loaded.ts';
import { AccountFields } from './account-fields.tsx';
import { BoundFields } from './bound-fields.tsx';
import { LifetimeSlider } from './lifetime-slider.tsx';
import { PassPreview } from './pass-preview.tsx';
import { NEW_DRAFT, requestFor } from './pass-request.ts';

interface PassFormProps {
  readonly client: Client;
  readonly cluster: string;
  readonly facts: ClusterFacts;
  readonly accounts: readonly Account[];
  /** Called when the person is about to choose one: there may be others by now. */
  readonly onLook: () => void;
  /** Another number when what may be granted is to be asked again. */
  readonly turn: number;
  readonly account: Account;
  readonly onAccount: (account: Account) => void;
  readonly onTypeInstead: (() => void) | undefined;
  readonly onIssued: (pass: IssuedToken, tracked: boolean) => void;
}

/** The person is still choosing: the server is asked when they pause. */
const PAUSE_MS = 250;

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function PassForm(props: PassFormProps) {
  const { client, cluster, facts, accounts, onLook, turn, account, onAccount, onTypeInstead, onIssued } = props;
  const id = useId();
  const [draft, setDraft] = useState({ ...NEW_DRAFT, seconds: Math.min(NEW_DRAFT.seconds, facts.maxSeconds) });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const request = requestFor(cluster, account, draft);
  const key = request === undefined ? '' : JSON.stringify(request);
  const settled = useSettled(key);
  const loaded = useLoaded(
    settled,
    async (signal) =>
      request === undefined || settled === '' ? undefined : client.createToken({ ...request, dryRun: true, signal }),
    turn,
  );
  const preview: Loaded<IssuedToken | undefined> = settled === key ? loaded : { phase: 'loading' };

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (request === undefined || busy) return;
    setBusy(true);
    setProblem('');
    try {
      onIssued(await client.createToken(request), draft.tracked);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };

  return (
    <form className="pass-form" onSubmit={submit} aria-busy={busy}>
      <AccountFields
        accounts={accounts}
        account={account}
        onLook={onLook}
        onAccount={onAccount}
        onTypeInstead={onTypeInstead}
      />
      <div className="field">
        <label htmlFor={`${id}audience`}>Audience</label>
        <input
          id={`${id}audience`}
          value={draft.audiences}
          placeholder="the cluster's own API"
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setDraft({ ...draft, audiences: event.target.value })}
        />
      </div>
      <LifetimeSlider
        seconds={draft.seconds}
        maxSeconds={facts.maxSeconds}
        onSeconds={(seconds) => setDraft({ ...draft, seconds })}
      />
      <BoundFields
        client={client}
        cluster={cluster}
        namespace={account.namespace}
        account={account.name}
        draft={draft}
        onDraft={setDraft}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={draft.tracked}
          onChange={(event) => setDraft({ ...draft, tracked: event.target.checked })}
        />
        <span>
          Keep a record of it
          <span className="muted hint">With one you can revoke it yourself. The token is not in it.</span>
        </span>
      </label>
      <PassPreview preview={preview} problem={problem} cluster={cluster} account={account} />
      <button
        type="submit"
        className="button primary wide"
        disabled={busy || request === undefined || preview.phase === 'failed'}
      >
        {busy ? 'Issuing…' : 'Issue the pass'}
      </button>
    </form>
  );
}
