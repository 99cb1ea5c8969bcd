import { useCallback, useEffect, useMemo, useReducer, useRef, useState, useSyncExternalStore } from 'react';
import { OVERVIEW_PATH } from '../../src/api/overview.ts';
import { reviewSelf } from '../../src/client/index.ts';
import { useWaiting } from './approvals/use-waiting.ts';
import { queryOf } from './fleet/filter-query.ts';
import { type Connection, FleetStore } from './fleet/fleet-store.ts';
import { SharedWatch } from './fleet/shared-watch.ts';
import { useFleetFilter } from './fleet/use-fleet-filter.ts';
import { ConnectedContext, useReconnections } from './hooks/use-connected.tsx';
import { useOnline } from './hooks/use-online.ts';
import { SessionContext, type SessionParts } from './hooks/use-session.ts';
import { navigationFor } from './navigation.ts';
import { Page } from './page.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { RevocationNotice } from './passes/revocation-notice.tsx';
import { RevocationRuns, unrevokedIn } from './passes/revocation-run.ts';
import { PermissionsNotice } from './permissions/permissions-notice.tsx';
import { usePermissions } from './permissions/use-permissions.ts';
import { hrefOf, linkTo, parseRoute, type Route, replaceUrl, useHash } from './router.ts';
import type { SignedIn } from './session/session.ts';
import type { Settings } from './settings.ts';
import { StaleNotice } from './stale-notice.tsx';
import { TopBar } from './top-bar.tsx';

const OFFLINE: Connection = { kind: 'offline' };

interface SignedInAppProps {
  readonly signedIn: SignedIn;
  readonly settings: Settings;
  readonly onSignOut: () => void;
  /** Gets the number of passes that the last revocation left when the session ends. Must be stable. */
  readonly onUnrevoked: (count: number) => void;
}

export function SignedInApp({ signedIn, settings, onSignOut, onUnrevoked }: SignedInAppProps) {
  const { client, user, retryNow } = signedIn;
  const watch = useMemo(
    () => new SharedWatch({ client, user, retryNow, checkSession: () => reviewSelf(client) }),
    [client, user, retryNow],
  );
  const revocations = useMemo(() => new RevocationRuns(client), [client]);
  const fleet = useMemo(() => new FleetStore(watch), [watch]);
  const latest = useSyncExternalStore(fleet.subscribe, fleet.snapshot);
  const online = useOnline();
  const hash = useHash();
  const route = useMemo(() => parseRoute(hash), [hash]);
  const [isWatching, watchFleet] = useReducer(() => true, false);
  // A list of ten thousand clusters is loaded when a page shows it.
  if (!isWatching && route.page !== 'home' && route.page !== 'overview') watchFleet();
  const snapshot = online ? latest : { ...latest, connection: OFFLINE };
  const isConnected = snapshot.connection.kind === 'live' || snapshot.connection.kind === 'connecting';
  const [filter, setFilter] = useFleetFilter(route);
  const fleetScroll = useRef({ view: '', top: 0 });
  const start = useRef<HTMLSpanElement>(null);
  // The form of the sign-in had the focus. Without this the first Tab would go somewhere into the navigation.
  useEffect(() => start.current?.focus(), []);
  // This component is outside of its ConnectedContext.
  const reconnections = useReconnections(isConnected);
  // A new permission often comes with new clusters.
  const membership = snapshot.synced ? snapshot.membership : 0;
  const { permissions, problem } = usePermissions(client, undefined, membership + reconnections);
  const fleetQuery = queryOf(filter);
  const { username = '' } = user;
  const [version, onChanged] = useReducer((old: number) => old + 1, 0);
  const waiting = useWaiting({ client, username, permissions }, reconnections + version);
  const session = useMemo<SessionParts>(() => {
    const requests = { version, onChanged };
    return { client, username, permissions, fleet, watchFleet, fleetQuery, revocations, requests, settings };
  }, [client, username, permissions, fleet, fleetQuery, revocations, version, settings]);
  const navigation = useMemo(
    () => navigationFor({ permissions, hasRequests: waiting !== undefined }, fleetQuery),
    [permissions, waiting, fleetQuery],
  );
  const [removed, setRemoved] = useState('');
  // In place of the page of the cluster: Back does not lead to it.
  const showRemoval = useCallback(
    (name: string) => {
      setRemoved(name);
      replaceUrl(hrefOf({ page: 'fleet', query: fleetQuery }));
    },
    [fleetQuery],
  );
  useEffect(() => {
    if (route.page !== 'fleet') setRemoved('');
  }, [route.page]);
  useEffect(() => {
    if (!isWatching) return undefined;
    const controller = new AbortController();
    void fleet.run(controller.signal);
    return () => controller.abort();
  }, [fleet, isWatching]);
  useEffect(() => {
    if (route.page !== 'home' || (!permissions.isKnown && problem === '')) return;
    replaceUrl(permissions.canGetPath(OVERVIEW_PATH) ? linkTo('overview') : hrefOf({ page: 'fleet', query: '' }));
  }, [route, permissions, problem]);
  // A run would go on with the token after the sign-out.
  useEffect(
    () => () => {
      revocations.stop();
      onUnrevoked(revocations.run === undefined ? 0 : unrevokedIn(revocations.run));
    },
    [revocations, onUnrevoked],
  );
  useFocusOnNewPage('name' in route ? route.name : route.page);
  useEffect(() => {
    document.title = `${titleOf(route)} · Clusterpass`;
  }, [route]);
  return (
    <ConnectedContext value={isConnected}>
      <span ref={start} tabIndex={-1} />
      <button type="button" className="skip-link" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <TopBar
        user={user}
        expiresAt={signedIn.expiresAt}
        refreshes={signedIn.refreshes}
        connection={snapshot.connection}
        navigation={navigation}
        waiting={waiting}
        page={route.page}
        version={settings.version}
        onRetry={() => watch.retryNow()}
        onSignOut={onSignOut}
      />
      <main id="main" tabIndex={-1} className={`page page-${route.page}${isConnected ? '' : ' stale'}`}>
        {!isConnected && <StaleNotice />}
        {isConnected && <PermissionsNotice problem={problem} />}
        <RevocationNotice runs={revocations} />
        {removed !== '' && route.page === 'fleet' && (
          <p className="notice page-notice" role="status">
            {removed} was removed.
          </p>
        )}
        <PageBoundary hash={hash}>
          <SessionContext value={session}>
            <Page
              route={route}
              snapshot={snapshot}
              filter={filter}
              onFilter={setFilter}
              fleetScroll={fleetScroll}
              onRemoved={showRemoval}
            />
          </SessionContext>
        </PageBoundary>
      </main>
    </ConnectedContext>
  );
}

/** The focused element went away with the old page. Screen readers start at the top of the new page. */
function useFocusOnNewPage(pageKey: string): void {
  const lastPageKey = useRef(pageKey);
  useEffect(() => {
    if (lastPageKey.current === pageKey) return;
    lastPageKey.current = pageKey;
    const main = document.getElementById('main');
    main?.focus({ preventScroll: true });
    main?.scrollTo(0, 0);
  }, [pageKey]);
}

/** The others have the name of their page. */
const TITLES: Readonly<Partial<Record<Route['page'], string>>> = {
  home: 'Console',
  fleet: 'Clusters',
  'can-i': 'Can I …?',
  register: 'Register a cluster',
  keys: 'Keys and health',
  'not-found': 'Page not found',
};

const titleOf = (route: Route): string =>
  route.page === 'cluster'
    ? route.name
    : (TITLES[route.page] ?? `${route.page.charAt(0).toUpperCase()}${route.page.slice(1)}`);
