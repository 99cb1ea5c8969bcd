import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { isStatus } from '../../../src/client/index.ts';
import { Logo } from '../components/icons.tsx';
import { useAction } from '../hooks/use-action.ts';
import type { Provider } from './oidc-client.ts';
import { startSignIn } from './oidc-sign-in.ts';
import type { Session } from './session.ts';

interface SignInPageProps {
  readonly session: Session;
  readonly provider: Provider | undefined;
  /** Whether the previous session has expired. */
  readonly expired: boolean;
  /** How many passes the last revocation of the previous session left. */
  readonly unrevoked: number;
  /** The error of a sign-in with the provider or with a stored token. */
  readonly problem: string;
}

export function SignInPage({ session, provider, expired, unrevoked, problem: initialProblem }: SignInPageProps) {
  const id = useId();
  const tokenField = useRef<HTMLInputElement>(null);
  const providerButton = useRef<HTMLButtonElement>(null);
  const [keepForTab, setKeepForTab] = useState(false);
  const { busy, problem, run } = useAction(initialProblem);
  // With a provider, Enter is enough to sign in.
  useEffect(() => (providerButton.current ?? tokenField.current)?.focus(), []);

  const submitToken = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const text = tokenField.current?.value ?? '';
    await run(async () => {
      if (text.trim() === '') throw new Error('Paste a token.');
      await session.signIn(text, { keepForTab }).catch((error: unknown) => {
        throw isStatus(error, 401) ? new Error('The server rejected this token: unknown or expired.') : error;
      });
    });
    tokenField.current?.focus();
    tokenField.current?.select();
  };

  const redirectToProvider = (to: Provider): Promise<void> => run(() => startSignIn(to, { keepForTab }));

  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={submitToken} aria-busy={busy}>
        <header>
          <Logo size={40} />
          <h1>Clusterpass</h1>
          <p className="muted">See your clusters and get passes for them.</p>
        </header>
        {expired && problem === '' && (
          <div className="notice" role="status">
            <strong>Your session has expired</strong>
            <p>Sign in again to continue.</p>
          </div>
        )}
        {unrevoked > 0 && (
          <div className="notice" role="status">
            <strong>The revocation of passes is not complete</strong>
            <p>{`Up to ${unrevoked.toLocaleString()} of the selected passes were not revoked.`}</p>
          </div>
        )}
        {provider !== undefined && (
          <>
            <button
              ref={providerButton}
              type="button"
              className="button primary wide"
              disabled={busy}
              onClick={() => redirectToProvider(provider)}
            >
              Continue with {new URL(provider.issuer).host}
            </button>
            <p className="divider muted">or with a token</p>
          </>
        )}
        <div className="field">
          <label htmlFor={`${id}token`}>Token</label>
          <input
            ref={tokenField}
            id={`${id}token`}
            name="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="Paste your bearer token"
            aria-describedby={`${id}help`}
            aria-invalid={problem !== ''}
          />
          {/* Hint and error share one element, so that an error does not move the form. */}
          <p className="hint sign-in-help" id={`${id}help`} aria-live="assertive">
            {problem === '' ? (
              <span className="muted">
                {keepForTab
                  ? 'The token is sent only to this server. Your browser stores it, also on disk.'
                  : 'The token is sent only to this server and stays in the memory of this page.'}
              </span>
            ) : (
              <span className="problem">{problem}</span>
            )}
          </p>
        </div>
        <label className="check">
          <input type="checkbox" checked={keepForTab} onChange={(event) => setKeepForTab(event.target.checked)} />
          <span>Keep me signed in until this tab is closed, also if I reload it</span>
        </label>
        <button
          type="submit"
          className={provider === undefined ? 'button primary wide' : 'button wide'}
          disabled={busy}
        >
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}
