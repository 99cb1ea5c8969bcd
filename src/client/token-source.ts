import type { Timing } from '../lib/backoff.ts';
import type { IssuedToken } from './types.ts';

/** A token that is requested when it is first used, and refreshed before it expires. */
export interface TokenSource {
  /** Concurrent calls share one request. */
  get(): Promise<IssuedToken>;
  /** The token of `get`. */
  token(): Promise<string>;
  /** Discards a token that was refused: the next call requests a new one. */
  invalidate(token: string): void;
}

/** A token is refreshed when a fifth of its lifetime remains. */
const REFRESH_SHARE = 0.2;
/** The delay after a failed refresh while the old token is valid. */
const RETRY_MS = 10_000;

interface CurrentToken {
  readonly issued: IssuedToken;
  /** By the local clock: arrival plus lifetime. The server's clock may differ. */
  readonly expiresAt: number;
  readonly refreshAt: number;
}

export function createTokenSource(issue: () => Promise<IssuedToken>, timing: Timing): TokenSource {
  let current: CurrentToken | undefined;
  let running: Promise<IssuedToken> | undefined;
  let retryAt = 0;

  const refresh = async (): Promise<IssuedToken> => {
    try {
      const issued = await issue();
      const now = timing.now();
      const lifetime = Math.max(0, Date.parse(issued.expirationTimestamp) - issued.issuedAt);
      current = { issued, expiresAt: now + lifetime, refreshAt: now + lifetime * (1 - REFRESH_SHARE) };
      return issued;
    } catch (error) {
      retryAt = timing.now() + RETRY_MS;
      if (current !== undefined && timing.now() < current.expiresAt) return current.issued;
      throw error;
    } finally {
      running = undefined;
    }
  };

  const get = async (): Promise<IssuedToken> => {
    const now = timing.now();
    if (current !== undefined && now < current.expiresAt && (now < current.refreshAt || now < retryAt))
      return current.issued;
    running ??= refresh();
    return running;
  };

  return {
    get,
    token: async () => (await get()).token,
    invalidate: (token) => {
      if (current?.issued.token === token) current = undefined;
    },
  };
}
