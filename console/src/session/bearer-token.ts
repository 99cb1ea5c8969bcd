import { ConnectionError } from '../../../src/client/index.ts';
import { refreshAfter } from '../../../src/client/token-source.ts';
import { errorMessage } from '../error-message.ts';
import { decodeClaims } from '../jwt.ts';
import { ProviderRejection, type ProviderTokens } from './oidc-client.ts';

/** The token that authenticates the requests of a session. */
export interface BearerToken {
  /** Whether a refresh token replaces it before it expires. */
  readonly refreshes: boolean;
  /** The `exp` claim in epoch milliseconds. */
  readonly expiresAt: number | undefined;
  /**
   * The token for a request. `rejected` is a token that the server answered with 401. Throws ConnectionError if the
   * token has expired and the provider cannot be reached.
   */
  get(rejected?: string): Promise<string>;
  /** Whether a 401 for this token ends the session. If not, `get` supplies another token. */
  endsSession(rejected: string): boolean;
}

const expiryOf = (token: string): number | undefined => {
  const { exp } = decodeClaims(token) ?? {};
  return typeof exp === 'number' ? exp * 1000 : undefined;
};

/** A token that the user pasted or that was stored for the tab. */
export const staticToken = (token: string): BearerToken => ({
  refreshes: false,
  expiresAt: expiryOf(token),
  get: async () => token,
  endsSession: () => true,
});

interface RefreshOptions {
  readonly first: ProviderTokens;
  /** Throws ProviderRejection if the refresh token is not valid any more. */
  readonly refresh: (current: ProviderTokens) => Promise<ProviderTokens>;
  readonly now: () => number;
  readonly onRefreshed: (tokens: ProviderTokens) => void;
  /** The token has expired and the provider issues no other. */
  readonly onExpired: () => void;
}

/** Pause after a failed refresh while the old token is still valid. */
const RETRY_MS = 10_000;

/** An ID token with a refresh token. Concurrent requests share one refresh, so each refresh token is used once. */
export function refreshedToken({ first, refresh, now, onRefreshed, onExpired }: RefreshOptions): BearerToken {
  let current = first;
  let schedule = scheduleOf(first.idToken, now());
  let running: Promise<string> | undefined;
  let retryAt = 0;
  /** The server rejected the token before the current one. If it rejects the current one too, the session ends. */
  let replacesRejected = false;

  async function replace(): Promise<string> {
    try {
      current = await refresh(current);
      schedule = scheduleOf(current.idToken, now());
      onRefreshed(current);
      return current.idToken;
    } catch (error) {
      retryAt = now() + RETRY_MS;
      if (error instanceof ProviderRejection) {
        // The ID token stays in use until the server rejects it.
        current = { ...current, refreshToken: undefined };
        if (now() >= schedule.expiresAt) onExpired();
        return current.idToken;
      }
      if (now() < schedule.expiresAt) return current.idToken;
      throw new ConnectionError(errorMessage(error), { cause: error });
    } finally {
      running = undefined;
    }
  }

  return {
    get refreshes() {
      return current.refreshToken !== undefined;
    },
    get expiresAt() {
      return expiryOf(current.idToken);
    },
    async get(rejected) {
      if (current.refreshToken === undefined) return current.idToken;
      const isRejected = rejected === current.idToken;
      const isDue = now() >= schedule.refreshAt && (now() >= retryAt || now() >= schedule.expiresAt);
      if (!isRejected && !isDue && running === undefined) return current.idToken;
      if (running === undefined) {
        replacesRejected = isRejected;
        running = replace();
      }
      return running;
    },
    endsSession: (rejected) => rejected === current.idToken && (current.refreshToken === undefined || replacesRejected),
  };
}

/** Counts the lifetime from the arrival of the token, because the clocks of provider and browser can differ. */
function scheduleOf(token: string, arrivedAt: number): { readonly refreshAt: number; readonly expiresAt: number } {
  const { iat, exp } = decodeClaims(token) ?? {};
  if (typeof iat !== 'number' || typeof exp !== 'number') return { refreshAt: Infinity, expiresAt: Infinity };
  const lifetime = Math.max(0, exp - iat) * 1000;
  return { refreshAt: arrivedAt + refreshAfter(lifetime), expiresAt: arrivedAt + lifetime };
}
