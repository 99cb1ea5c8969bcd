import { ConnectionError } from '../../../src/client/index.ts';
import { claimsOf } from '../pass/claims.ts';
import { ProviderRefusal } from './provider-metadata.ts';
import type { ProviderTokens } from './provider-tokens.ts';

/** The token that a person is signed in with, for as long as there is one. */
export interface HeldToken {
  /** Whether another comes when this one ends. */
  readonly renews: boolean;
  /** When it says that it ends; epoch milliseconds. */
  readonly endsAt: number | undefined;
  /** For a request. Rejects with ConnectionError while a new one cannot be had but may be later. */
  get(refused?: string): Promise<string>;
  /** The server refuses this token: whether that is the end, or `get` may know another. */
  isEndOf(refused: string): boolean;
}

const endOf = (token: string): number | undefined => {
  const { exp } = claimsOf(token) ?? {};
  return typeof exp === 'number' ? exp * 1000 : undefined;
};

/** One that was pasted, or was kept for the tab: when it ends, that is the end. */
export const plainToken = (token: string): HeldToken => ({
  renews: false,
  endsAt: endOf(token),
  get: async () => token,
  isEndOf: () => true,
});

export interface RenewalParts {
  readonly first: ProviderTokens;
  /** Rejects with ProviderRefusal when there will be no other. */
  readonly renew: (held: ProviderTokens) => Promise<ProviderTokens>;
  readonly now: () => number;
  readonly onRenewed: (tokens: ProviderTokens) => void;
  readonly onEnd: () => void;
}

/** Another is due when a fifth of the lifetime is left. */
const LEFT = 0.2;
/** After an attempt that failed, while the old one is still good. */
const RETRY_MS = 10_000;

/** One of a provider that gave a refresh token. Each refresh token is used once, however many requests wait for it. */
export function renewedToken({ first, renew, now, onRenewed, onEnd }: RenewalParts): HeldToken {
  let held = first;
  let times = timesOf(first.idToken, now());
  let running: Promise<string> | undefined;
  let retryAt = 0;
  /** The present one was asked for because the server refused the one before. */
  let isLastChance = false;

  async function replace(): Promise<string> {
    try {
      held = await renew(held);
      times = timesOf(held.idToken, now());
      onRenewed(held);
      return held.idToken;
    } catch (error) {
      retryAt = now() + RETRY_MS;
      if (error instanceof ProviderRefusal) {
        // What is still good is used up: the server says when it is not.
        held = { ...held, refreshToken: undefined };
        if (now() >= times.endsAt) onEnd();
        return held.idToken;
      }
      if (now() < times.endsAt) return held.idToken;
      throw new ConnectionError(error instanceof Error ? error.message : String(error), { cause: error });
    } finally {
      running = undefined;
    }
  }

  return {
    get renews() {
      return held.refreshToken !== undefined;
    },
    get endsAt() {
      return endOf(held.idToken);
    },
    async get(refused) {
      if (held.refreshToken === undefined) return held.idToken;
      const isRefused = refused === held.idToken;
      const isDue = now() >= times.dueAt && (now() >= retryAt || now() >= times.endsAt);
      if (!isRefused && !isDue && running === undefined) return held.idToken;
      if (running === undefined) {
        isLastChance = isRefused;
        running = replace();
      }
      return running;
    },
    isEndOf: (refused) => refused === held.idToken && (held.refreshToken === undefined || isLastChance),
  };
}

/** By our own clock, counted from the arrival: the two clocks may differ, the length of time does not. */
function timesOf(token: string, arrivedAt: number): { readonly dueAt: number; readonly endsAt: number } {
  const { iat, exp } = claimsOf(token) ?? {};
  if (typeof iat !== 'number' || typeof exp !== 'number') return { dueAt: Infinity, endsAt: Infinity };
  const lifetime = Math.max(0, exp - iat) * 1000;
  return { dueAt: arrivedAt + lifetime * (1 - LEFT), endsAt: arrivedAt + lifetime };
}
