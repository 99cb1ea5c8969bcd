import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { CanIPage } from './access/can-i-page.tsx';
import { ClusterPage } from './cluster/cluster-page.tsx';
import { EmptyState } from './components/empty-state.tsx';
import { NO_FILTER } from './fleet/fleet-filter.ts';
import { FleetPage } from './fleet/fleet-page.tsx';
import { type Connection, FleetStore } from './fleet/fleet-store.ts';
import { useOnline } from './hooks/use-online.ts';
import { parseRoute, useHash } from './router.ts';
import { completeSignIn, isRedirectFromProvider } from './session/oidc-sign-in.ts';
import { Session, type SignedIn } from './session/session.ts';
import { SignInPage } from './session/sign-in-page.tsx';
import { tokenStorage } from './session/token-storage.ts';
import { loadSettings, type Settings, serverRoot } from './settings.ts';
import { TopBar } from './top-bar.tsx';

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
        <EmptyState title="Cannot connect to the server">
          <p>{settings.message}</p>
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
    () => new Session({ server: serverRoot(), productName: settings.productName, storage: tokenStorage }),
    [settings],
  );
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const { provider } = settings;
  useEffect(() => {
    if (provider !== undefined && isRedirectFromProvider()) {
      void session.signInWithProvider(provider, completeSignIn(provider));
    } else {
      void session.restore();
    }
  }, [session, provider]);
  if (state.phase === 'restoring') return <Starting />;
  if (state.phase === 'signed-out') return <SignInPage session={session} provider={provider} {...state} />;
  return <SignedInApp signedIn={state} settings={settings} onSignOut={() => session.signOut()} />;
}

const OFFLINE: Connection = { kind: 'offline' };

interface SignedInAppProps {
  readonly signedIn: SignedIn;
  readonly settings: Settings;
  readonly onSignOut: () => void;
}

function SignedInApp({ signedIn, settings, onSignOut }: SignedInAppProps) {
  const { client } = signedIn;
  const fleet = useMemo(() => new FleetStore(client), [client]);
  const latest = useSyncExternalStore(fleet.subscribe, fleet.snapshot);
  const online = useOnline();
  const snapshot = online ? latest : { ...latest, connection: OFFLINE };
  const route = parseRoute(useHash());
  // Filter and scroll position live here, so that they survive a visit to a cluster.
  const [filter, setFilter] = useState(NO_FILTER);
  const fleetScrollTop = useRef(0);
  useEffect(() => {
    const controller = new AbortController();
    void fleet.run(controller.signal);
    return () => controller.abort();
  }, [fleet]);
  const pageKey = route.page === 'cluster' ? route.name : route.page;
  const lastPageKey = useRef(pageKey);
  useEffect(() => {
    if (lastPageKey.current === pageKey) return;
    lastPageKey.current = pageKey;
    // The focused element went away with the old page. Screen readers start at the top of the new page.
    const main = document.getElementById('main');
    main?.focus({ preventScroll: true });
    main?.scrollTo(0, 0);
  }, [pageKey]);
  const title = route.page === 'cluster' ? route.name : route.page === 'can-i' ? 'Can I …?' : 'Clusters';
  useEffect(() => {
    document.title = `${title} · Clusterpass`;
  }, [title]);
  return (
    <>
      <button type="button" className="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <TopBar
        user={signedIn.user}
        expiresAt={signedIn.expiresAt}
        refreshes={signedIn.refreshes}
        connection={snapshot.connection}
        page={route.page}
        version={settings.version}
        onRetry={signedIn.retryNow}
        onSignOut={onSignOut}
      />
      <main id="main" tabIndex={-1} className={`page page-${route.page}`}>
        {route.page === 'fleet' && (
          <FleetPage
            fleet={fleet}
            snapshot={snapshot}
            filter={filter}
            onFilter={setFilter}
            savedScrollTop={fleetScrollTop}
          />
        )}
        {route.page === 'cluster' && (
          <ClusterPage
            key={route.name}
            name={route.name}
            row={fleet.find(route.name)}
            transitions={fleet.transitionsOf(route.name)}
            synced={snapshot.synced}
            client={client}
          />
        )}
        {route.page === 'can-i' && (
          <CanIPage
            key={`${route.cluster} ${route.account}`}
            client={client}
            username={signedIn.user.username ?? ''}
            fleet={fleet}
            membership={snapshot.membership}
            cluster={route.cluster}
            account={route.account}
          />
        )}
      </main>
    </>
  );
}
