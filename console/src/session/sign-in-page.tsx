import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { isStatus } from '../../../src/client/index.ts';
import { PassMark } from '../parts/icons.tsx';
import { Notice } from '../parts/notice.tsx';
import type { Provider } from './provider-metadata.ts';
import { leaveForProvider } from './provider-sign-in.ts';
import type { Session } from './session.ts';

interface SignInPageProps {
  readonly session: Session;
  readonly provider: Provider | undefined;
  readonly notice: 'expired' | undefined;
  /** What went wrong on the way here. */
  readonly problem: string;
}

export function SignInPage({ session, provider, notice, problem: firstProblem }: SignInPageProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(firstProblem);
  const leaving = useRef<HTMLButtonElement>(null);
  // Where there is a provider, that is one key away.
  useEffect(() => (leaving.current ?? field.current)?.focus(), []);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const text = field.current?.value ?? '';
    if (text.trim() === '') {
      setProblem('Paste a token first.');
      field.current?.focus();
      return;
    }
    setBusy(true);
    setProblem('');
    try {
      await session.signIn(text, keep);
    } catch (error) {
      setBusy(false);
      setProblem(isStatus(error, 401) ? 'The server does not know this token, or it has ended.' : messageOf(error));
      field.current?.select();
    }
  };

  const leave = async (): Promise<void> => {
    if (provider === undefined) return;
    setBusy(true);
    setProblem('');
    try {
      await leaveForProvider(provider, keep);
    } catch (error) {
      setBusy(false);
      setProblem(messageOf(error));
    }
  };

  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={submit} aria-busy={busy}>
        <header>
          <PassMark size={40} />
          <h1>Clusterpass</h1>
          <p className="muted">See your clusters, and get a pass to them.</p>
        </header>
        {notice === 'expired' && problem === '' && (
          <Notice tone="warning" title="Your sign-in has ended">
            Sign in again to go on where you were.
          </Notice>
        )}
        {provider !== undefined && (
          <>
            <button ref={leaving} type="button" className="button primary wide" disabled={busy} onClick={leave}>
              Continue with {new URL(provider.issuer).host}
            </button>
            <p className="or muted">or with a token</p>
          </>
        )}
        <div className="field">
          <label htmlFor={`${id}token`}>Token</label>
          <input
            ref={field}
            id={`${id}token`}
            name="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="Paste your bearer token"
            aria-describedby={`${id}help`}
            aria-invalid={problem !== ''}
          />
          {/* One place for both, so that nothing moves when something is wrong. */}
          <p className="hint sign-in-help" id={`${id}help`} aria-live="assertive">
            {problem === '' ? (
              <span className="muted">It is sent to this server only, and never stored on disk.</span>
            ) : (
              <span className="problem">{problem}</span>
            )}
          </p>
        </div>
        <label className="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
          <span>
            Keep me signed in until this tab is closed
            <span className="muted hint">Otherwise reloading the page forgets the token.</span>
          </span>
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
