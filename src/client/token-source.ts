import type { Timing } from './timing.ts';
import type { IssuedToken } from './types.ts';

/** A token that is always good: asked for when first needed, and again before it ends. */
export interface TokenSource {
  /** Many calls at once share one request. */
  get(): Promise<IssuedToken>;
  /** The text alone. */
  token(): Promise<string>;
  /** The token was refused somewhere: the next call gets another. */
  invalidate(token: string): void;
}

/** A new token is due when a fifth of the lifetime is left. */
const LEFT = 0.2;
/** After a refresh that failed, while the old token is still good. */
const RETRY_MS = 10_000;

interface Held {
  readonly issued: IssuedToken;
  /** By our own clock, counted from the arrival: the two clocks may differ, the length of time does not. */
  readonly endsAt: number;
  readonly dueAt: number;
}

/** What lifetime was granted is in the answer; what was asked for plays no part. */
export function createTokenSource(issue: () => Promise<IssuedToken>, timing: Timing): TokenSource {
  let held: Held | undefined;
  let running: Promise<IssuedToken> | undefined;
  let retryAt = 0;

  const refresh = async (): Promise<IssuedToken> => {
    try {
      const issued = await issue();
      const now = timing.now();
      const lifetime = Math.max(0, Date.parse(issued.expirationTimestamp) - issued.issuedAt);
      held = { issued, endsAt: now + lifetime, dueAt: now + lifetime * (1 - LEFT) };
      return issued;
    } catch (error) {
      retryAt = timing.now() + RETRY_MS;
      if (held !== undefined && timing.now() < held.endsAt) return held.issued;
      throw error;
    } finally {
      running = undefined;
    }
  };

  const get = async (): Promise<IssuedToken> => {
    const now = timing.now();
    if (held !== undefined && now < held.endsAt && (now < held.dueAt || now < retryAt)) return held.issued;
    running ??= refresh();
    return running;
  };

  return {
    get,
    token: async () => (await get()).token,
    invalidate: (token) => {
      if (held?.issued.token === token) held = undefined;
    },
  };
}
