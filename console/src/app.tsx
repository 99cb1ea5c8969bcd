import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { ClusterPage } from './cluster/cluster-page.tsx';
import { FleetPage } from './fleet/fleet-page.tsx';
import { type Connection, FleetStore } from './fleet/fleet-store.ts';
import { NO_FILTER } from './fleet/select-rows.ts';
import { Empty } from './parts/notice.tsx';
import { useOnline } from './parts/online.ts';
import { TopBar } from './parts/top-bar.tsx';
import { parseRoute, useHash } from './router.ts';
import { arriveFromProvider, isBackFromProvider } from './session/provider-sign-in.ts';
import { Session, type SignedIn } from './session/session.ts';
import { loadSettings, type Settings, serverRoot } from './session/settings.ts';
import { SignInPage } from './session/sign-in-page.tsx';
import { tokenStorage } from './session/token-storage.ts';
import { WhyPage } from './why/why-page.tsx';

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
        <Empty title="The server does not answer">
          <p>{settings.message}</p>
          <button type="button" className="button" onClick={load}>
            Try again
          </button>
        </Empty>
      </main>
    );
  }
  return <WithSession settings={settings} />;
}

/** Empty on purpose: what takes a moment should not flash. */
const Starting = () => <main className="sign-in" aria-busy="true" />;

function WithSession({ settings }: { settings: Settings }) {
  const session = useMemo(
    () => new Session({ server: serverRoot(), productName: settings.productName, storage: tokenStorage }),
    [settings],
  );
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const { provider } = settings;
  useEffect(() => {
    if (provider !== undefined && isBackFromProvider()) void session.arrive(provider, arriveFromProvider(provider));
    else void session.restore();
  }, [session, provider]);
  if (state.phase === 'restoring') return <Starting />;
  if (state.phase === 'signed-out') return <SignInPage session={session} provider={provider} {...state} />;
  return <Desk signedIn={state} settings={settings} onSignOut={() => session.signOut()} />;
}

const OFFLINE: Connection = { kind: 'offline' };

function Desk({ signedIn, settings, onSignOut }: { signedIn: SignedIn; settings: Settings; onSignOut: () => void }) {
  const { client } = signedIn;
  const fleet = useMemo(() => new FleetStore(client), [client]);
  const drawn = useSyncExternalStore(fleet.subscribe, fleet.snapshot);
  const online = useOnline();
  const snapshot = online ? drawn : { ...drawn, connection: OFFLINE };
  const route = parseRoute(useHash());
  const [filter, setFilter] = useState(NO_FILTER);
  useEffect(() => {
    const ended = new AbortController();
    void fleet.run(ended.signal);
    return () => ended.abort();
  }, [fleet]);
  const place = route.page === 'cluster' ? route.name : route.page;
  const lastPlace = useRef(place);
  useEffect(() => {
    if (lastPlace.current === place) return;
    lastPlace.current = place;
    // Another page: what had the focus is gone, and reading starts at its top.
    const main = document.getElementById('main');
    main?.focus({ preventScroll: true });
    main?.scrollTo(0, 0);
  }, [place]);
  const title = route.page === 'cluster' ? route.name : route.page === 'why' ? 'Can I …?' : 'Fleet';
  useEffect(() => {
    document.title = `${title} · Clusterpass`;
  }, [title]);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <TopBar
        user={signedIn.user}
        endsAt={signedIn.endsAt}
        renews={signedIn.renews}
        connection={snapshot.connection}
        page={route.page}
        version={settings.version}
        onRetry={signedIn.wake}
        onSignOut={onSignOut}
      />
      <main id="main" tabIndex={-1} className={`page page-${route.page}`}>
        {route.page === 'fleet' && <FleetPage fleet={fleet} snapshot={snapshot} filter={filter} onFilter={setFilter} />}
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
        {route.page === 'why' && (
          <WhyPage
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
