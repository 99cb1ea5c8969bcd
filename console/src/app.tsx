import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { EmptyState } from './components/empty-state.tsx';
import { errorMessage } from './error-message.ts';
import { completeSignIn, isRedirectFromProvider } from './session/oidc-sign-in.ts';
import { Session } from './session/session.ts';
import { SignInPage } from './session/sign-in-page.tsx';
import { openTabs, tokenStorage } from './session/token-storage.ts';
import { loadSettings, type Settings, serverRoot } from './settings.ts';
import { SignedInApp } from './signed-in-app.tsx';

export function App() {
  const [settings, setSettings] = useState<Settings | Error | undefined>();
  const load = (): void => {
    setSettings(undefined);
    loadSettings().then(setSettings, setSettings);
  };
  useEffect(load, []);
  if (settings === undefined) return <Starting />;
  if (settings instanceof Error) {
    return (
      <main className="sign-in">
        <EmptyState title="Cannot connect to the server" isPage>
          <p>{errorMessage(settings)}</p>
          <button type="button" className="button" onClick={load}>
            Retry
          </button>
        </EmptyState>
      </main>
    );
  }
  return <WithSession settings={settings} />;
}

/** Empty, because a spinner for a few milliseconds would flicker. */
const Starting = () => <main className="sign-in" aria-busy="true" />;

function WithSession({ settings }: { settings: Settings }) {
  const session = useMemo(
    () => new Session({ ...settings, server: serverRoot(), storage: tokenStorage, tabs: openTabs() }),
    [settings],
  );
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const [unrevoked, setUnrevoked] = useState(0);
  const { provider } = settings;
  useEffect(() => {
    if (provider !== undefined && isRedirectFromProvider()) {
      void session.signInWithProvider(provider, completeSignIn(provider));
    } else {
      void session.restore();
    }
  }, [session, provider]);
  if (state.phase === 'restoring') return <Starting />;
  if (state.phase === 'signed-out') {
    return <SignInPage session={session} provider={provider} unrevoked={unrevoked} {...state} />;
  }
  return (
    <SignedInApp signedIn={state} settings={settings} onSignOut={() => session.signOut()} onUnrevoked={setUnrevoked} />
  );
}
