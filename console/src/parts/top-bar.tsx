import { useEffect, useRef } from 'react';
import type { UserInfo } from '../../../src/client/index.ts';
import type { Connection } from '../fleet/fleet-store.ts';
import { hrefOf, type Route } from '../router.ts';
import { useNow } from './clock.ts';
import { MoonIcon, PassMark, SunIcon } from './icons.tsx';
import { useTheme } from './theme.ts';

interface TopBarProps {
  readonly user: UserInfo;
  readonly endsAt: number | undefined;
  readonly renews: boolean;
  readonly connection: Connection;
  readonly page: Route['page'];
  readonly version: string;
  readonly onRetry: () => void;
  readonly onSignOut: () => void;
}

export function TopBar({ user, endsAt, renews, connection, page, version, onRetry, onSignOut }: TopBarProps) {
  const { theme, toggle } = useTheme();
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // As menus do: Escape closes it, and so does whatever happens elsewhere.
    const close = (event: Event): void => {
      const element = menu.current;
      if (element === null || !element.open) return;
      const isEscape = event instanceof KeyboardEvent;
      if (isEscape ? event.key !== 'Escape' : element.contains(event.target as Node)) return;
      element.open = false;
      if (isEscape) element.querySelector('summary')?.focus();
    };
    const kinds = ['keydown', 'pointerdown', 'focusin'];
    for (const kind of kinds) document.addEventListener(kind, close);
    return () => {
      for (const kind of kinds) document.removeEventListener(kind, close);
    };
  }, []);
  const current = (...pages: Route['page'][]) => (pages.includes(page) ? { 'aria-current': 'page' as const } : {});
  return (
    <header className="top">
      <a className="brand" href={hrefOf({ page: 'fleet' })} title={`Clusterpass ${version}`}>
        <PassMark />
        <span>Clusterpass</span>
      </a>
      <nav aria-label="Main">
        <a href={hrefOf({ page: 'fleet' })} {...current('fleet', 'cluster')}>
          Fleet
        </a>
        <a href={hrefOf({ page: 'why', cluster: '', account: '' })} {...current('why')}>
          Can I …?
        </a>
      </nav>
      <ConnectionPill connection={connection} onRetry={onRetry} />
      <button type="button" className="button quiet square" onClick={toggle}>
        {theme === 'dark' ? <SunIcon /> : <MoonIcon />}
        <span className="unseen">{theme === 'dark' ? 'Light colours' : 'Dark colours'}</span>
      </button>
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
            {(endsAt !== undefined || renews) && (
              <>
                <dt>Sign-in ends</dt>
                <dd>{renews ? 'when you sign out or close the page' : new Date(endsAt ?? 0).toLocaleString()}</dd>
              </>
            )}
          </dl>
          <button type="button" className="button wide" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </details>
    </header>
  );
}

const WORDS: Readonly<Record<Connection['kind'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Connection lost',
  offline: 'Offline',
  ended: 'Stopped',
};

function ConnectionPill({ connection, onRetry }: { connection: Connection; onRetry: () => void }) {
  const now = useNow(1_000);
  const words = WORDS[connection.kind];
  const title = connection.kind === 'lost' || connection.kind === 'ended' ? connection.reason : undefined;
  return (
    <div className={`pill pill-${connection.kind}`} title={title}>
      <span className="pill-dot" aria-hidden="true" />
      <span role="status">{words}</span>
      {connection.kind === 'lost' && (
        <>
          <span className="pill-more">
            {connection.retryAt > now ? `trying again in ${Math.ceil((connection.retryAt - now) / 1000)} s` : 'trying…'}
          </span>
          <button type="button" className="button quiet small" onClick={onRetry}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}
