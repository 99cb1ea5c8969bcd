import { serverRoot } from '../settings.ts';

const KEY = 'clusterpass.token';

/**
 * Stores the token until the tab is closed, if the user wants that. Not in localStorage: every tab and every later user
 * of the browser could read it there. Browsers write sessionStorage to disk, too, to restore tabs after a crash: the
 * sign-in page says so.
 */
export const tokenStorage = {
  load: (): string | undefined => attempt(() => sessionStorage.getItem(KEY)) ?? undefined,
  save: (token: string): void => void attempt(() => sessionStorage.setItem(KEY, token)),
  clear: (): void => void attempt(() => sessionStorage.removeItem(KEY)),
};

/**
 * By which a new tab asks those that are open for their session: nothing outlives the tabs. Every page of the origin
 * could ask. Below a path other programs share the origin, so there each tab signs in by itself (ADR 52).
 */
export const openTabs = (): BroadcastChannel | undefined =>
  serverRoot() === location.origin ? new BroadcastChannel('clusterpass.session') : undefined;

/** Browsers that block storage throw. What was to be stored is then in memory only. */
export function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
