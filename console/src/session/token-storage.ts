const KEY = 'clusterpass.token';

/**
 * Where a token is kept besides the memory, when the person wants that: for this tab, until it is closed. Never in
 * localStorage, which every tab and every later visitor of this browser would share.
 */
export const tokenStorage = {
  load: (): string | undefined => attempt(() => sessionStorage.getItem(KEY)) ?? undefined,
  save: (token: string): void => void attempt(() => sessionStorage.setItem(KEY, token)),
  clear: (): void => void attempt(() => sessionStorage.removeItem(KEY)),
};

/** A browser that is told to keep nothing throws. Then the memory has to do. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
