import { useEffect, useRef } from 'react';
import type { UserInfo } from '../../src/client/index.ts';
import { Logo, MoonIcon, SunIcon } from './components/icons.tsx';
import { formatTime } from './components/time.tsx';
import type { Connection } from './fleet/fleet-store.ts';
import { eventsOf } from './hooks/browser-events.ts';
import { useNow } from './hooks/use-now.ts';
import { useTheme } from './hooks/use-theme.ts';
import type { NavigationEntry } from './navigation.ts';
import { hrefOf, type Route } from './router.ts';

interface TopBarProps {
  readonly user: UserInfo;
  readonly expiresAt: number | undefined;
  readonly refreshes: boolean;
  readonly connection: Connection;
  readonly navigation: readonly NavigationEntry[];
  /** So many requests wait for the user. */
  readonly waiting: number | undefined;
  readonly page: Route['page'];
  readonly version: string;
  readonly onRetry: () => void;
  readonly onSignOut: () => void;
}

export function TopBar({ connection, navigation, waiting = 0, page, version, onRetry, ...userMenu }: TopBarProps) {
  const { theme, toggle } = useTheme();
  return (
    <header className="top">
      <a className="brand" href={hrefOf({ page: 'home' })} title={`Clusterpass ${version}`}>
        <Logo />
        <span>Clusterpass</span>
      </a>
      <nav aria-label="Main">
        {navigation.map(({ title, href, pages }) => (
          <a key={title} href={href} {...(pages.includes(page) ? { 'aria-current': 'page' as const } : {})}>
            {title}
            {waiting > 0 && pages.includes('requests') && (
              <span className="badge">
                {waiting}
                <span className="visually-hidden"> waiting</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <ConnectionStatus connection={connection} onRetry={onRetry} />
      <button type="button" className="button quiet square" onClick={toggle}>
        {theme === 'dark' ? <SunIcon /> : <MoonIcon />}
        <span className="visually-hidden">{theme === 'dark' ? 'Switch to light theme' : 'Switch to dark theme'}</span>
      </button>
      <UserMenu {...userMenu} />
    </header>
  );
}

type UserMenuProps = Pick<TopBarProps, 'user' | 'expiresAt' | 'refreshes' | 'onSignOut'>;

function UserMenu({ user, expiresAt, refreshes, onSignOut }: UserMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // `details` does not close by itself. Menus close on Escape, on a click outside and when the focus leaves them.
    const close = (event: Event): void => {
      const element = menu.current;
      if (element === null || !element.open) return;
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key !== 'Escape' : element.contains(event.target as Node)) return;
      element.open = false;
      if (isKey) element.querySelector('summary')?.focus();
    };
    return eventsOf(document, 'keydown', 'pointerdown', 'focusin')(close);
  }, []);
  return (
    <details className="menu" ref={menu}>
      <summary>
        <span className="user-name">{user.username ?? 'unknown'}</span>
      </summary>
      <div className="menu-panel">
        <dl>
          <dt>Signed in as</dt>
          <dd className="mono">{user.username ?? 'unknown'}</dd>
          <dt>Groups</dt>
          <dd className="mono">{(user.groups ?? []).join(', ') || 'none'}</dd>
          {(expiresAt !== undefined || refreshes) && (
            <>
              <dt>Session expires</dt>
              <dd>{refreshes ? 'when you sign out or close the page' : formatTime(expiresAt ?? 0)}</dd>
            </>
          )}
        </dl>
        <button type="button" className="button wide" onClick={onSignOut}>
          Sign out
        </button>
      </div>
    </details>
  );
}

const CONNECTION_NAMES: Readonly<Record<Connection['kind'], string>> = {
  connecting: '',
  live: 'Live',
  lost: 'Connection lost',
  offline: 'Offline',
  failed: 'Stopped',
};

function ConnectionStatus({ connection, onRetry }: { connection: Connection; onRetry: () => void }) {
  const now = useNow(1_000);
  const reason = connection.kind === 'lost' || connection.kind === 'failed' ? connection.reason : undefined;
  if (connection.kind === 'connecting') return null;
  return (
    <div className={`connection connection-${connection.kind}`} title={reason}>
      <span className="connection-dot" aria-hidden="true" />
      <span role="status">{CONNECTION_NAMES[connection.kind]}</span>
      {connection.kind === 'lost' && (
        <>
          <span className="connection-retry">
            {connection.retryAt > now ? `retry in ${Math.ceil((connection.retryAt - now) / 1000)} s` : 'retrying…'}
          </span>
          <button type="button" className="button quiet small" onClick={onRetry}>
            Retry now
          </button>
        </>
      )}
    </div>
  );
}
