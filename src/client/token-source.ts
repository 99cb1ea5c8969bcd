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

/** CP-99: how long before its expiry a token is replaced. Requests take time, and clocks differ. */
const MARGIN_SHARE = 0.2;
const MIN_MARGIN_MS = 30_000;
/** Of a token that does not live that long. */
const MAX_MARGIN_SHARE = 0.5;

/** How long after its arrival a token with this lifetime is replaced. */
export const refreshAfter = (lifetimeMs: number): number =>
  lifetimeMs - Math.min(Math.max(lifetimeMs * MARGIN_SHARE, MIN_MARGIN_MS), lifetimeMs * MAX_MARGIN_SHARE);

/** The clock of the server may differ. */
const lifetimeOf = ({ expirationTimestamp, issuedAt }: Pick<IssuedToken, 'expirationTimestamp' | 'issuedAt'>): number =>
  Math.max(0, Date.parse(expirationTimestamp) - issuedAt);

/** When a token that has just arrived is replaced, by the clock of this machine. */
export const refreshTime = (issued: Parameters<typeof lifetimeOf>[0], now: number): number =>
  Math.floor(now + refreshAfter(lifetimeOf(issued)));

/** The delay after a failed refresh while the old token is valid. */
const RETRY_MS = 10_000;

interface CurrentToken {
  readonly issued: IssuedToken;
  /** By the local clock: arrival plus lifetime. */
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
      current = { issued, expiresAt: now + lifetimeOf(issued), refreshAt: refreshTime(issued, now) };
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
