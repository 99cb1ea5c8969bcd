import { type Client, createClient, isStatus, reviewSelf, type UserInfo } from '../../../src/client/index.ts';
import { type HeldToken, plainToken, renewedToken } from './held-token.ts';
import type { Provider } from './provider-metadata.ts';
import type { Arrival } from './provider-sign-in.ts';
import { giveBack, type ProviderTokens, renew } from './provider-tokens.ts';
import { createWakeableTiming, type WakeableTiming } from './timing.ts';
import type { tokenStorage } from './token-storage.ts';

/** A person who is signed in. */
export interface SignedIn {
  readonly client: Client;
  /** Ends a wait between two attempts to reach the server. */
  readonly wake: () => void;
  readonly user: UserInfo;
  /** When the token says that it ends; epoch milliseconds. */
  readonly endsAt: number | undefined;
  /** Another token comes when this one ends, until the person signs out. */
  readonly renews: boolean;
}

export type SessionState =
  | { readonly phase: 'signed-out'; readonly notice: 'expired' | undefined; readonly problem: string }
  | { readonly phase: 'restoring' }
  | ({ readonly phase: 'signed-in' } & SignedIn);

export interface SessionOptions {
  readonly server: string;
  readonly productName: string;
  readonly storage: typeof tokenStorage;
}

/** Anything else cannot stand in a header, and would only give a confusing error. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

const SIGNED_OUT: Extract<SessionState, { phase: 'signed-out' }> = {
  phase: 'signed-out',
  notice: undefined,
  problem: '',
};

/**
 * Who is signed in. The token is in the closure of its client and, if the person wants that, kept for the tab; a refresh
 * token is only ever in memory.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #listeners = new Set<() => void>();
  #state: SessionState = SIGNED_OUT;
  /** Undoes at the provider what signing in there did. */
  #giveBack = (): void => {};

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get state(): SessionState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Throws what the server says when it does not take the token. */
  async signIn(text: string, keepForTab: boolean): Promise<void> {
    // People paste what `cat` printed, or a whole header.
    const token = text.trim().replace(/^(?:Authorization:\s*)?Bearer\s+/i, '');
    if (!TOKEN.test(token)) throw new Error('This is not a token: it has spaces or characters that no token has.');
    const signedIn = await this.#open(createWakeableTiming(), plainToken(token));
    this.#keep(token, keepForTab);
    this.#set({ phase: 'signed-in', ...signedIn });
  }

  #keep(token: string, keepForTab: boolean): void {
    if (keepForTab) this.#options.storage.save(token);
    else this.#options.storage.clear();
  }

  /** Goes on with what was kept for this tab. */
  async restore(): Promise<void> {
    const token = this.#options.storage.load();
    if (token === undefined) return;
    this.#set({ phase: 'restoring' });
    try {
      this.#set({ phase: 'signed-in', ...(await this.#open(createWakeableTiming(), plainToken(token))) });
    } catch (error) {
      if (isStatus(error, 401)) this.expire();
      // It may be good still: whoever loads the page again is asked for nothing.
      else this.#set({ ...SIGNED_OUT, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Goes on with tokens that are still on their way; what goes wrong is shown where people sign in. */
  async arrive(provider: Provider, coming: Promise<Arrival>): Promise<void> {
    this.#set({ phase: 'restoring' });
    try {
      const { tokens, keepForTab } = await coming;
      const timing = createWakeableTiming();
      let latest = tokens;
      const held = renewedToken({
        first: tokens,
        renew: (old) => renew(provider, old),
        now: timing.now,
        onRenewed: (renewed: ProviderTokens) => {
          latest = renewed;
          this.#keep(renewed.idToken, keepForTab);
          if (this.#state.phase === 'signed-in') this.#set({ ...this.#state, ...timesOf(held) });
        },
        onEnd: () => this.expire(),
      });
      const signedIn = await this.#open(timing, held);
      this.#keep(latest.idToken, keepForTab);
      this.#giveBack = () => {
        if (latest.refreshToken !== undefined) void giveBack(provider, latest.refreshToken);
      };
      this.#set({ phase: 'signed-in', ...signedIn });
    } catch (error) {
      this.#set({ ...SIGNED_OUT, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  signOut(): void {
    this.#giveBack();
    this.#end(undefined);
  }

  /** The server no longer takes the token. */
  expire(): void {
    this.#end('expired');
  }

  #end(notice: 'expired' | undefined): void {
    this.#options.storage.clear();
    this.#giveBack = () => {};
    this.#set({ ...SIGNED_OUT, notice });
  }

  async #open(timing: WakeableTiming, held: HeldToken): Promise<SignedIn> {
    const { server, productName } = this.#options;
    let isIn = false;
    const client = createClient({
      server,
      productName,
      tokenProvider: (refused) => held.get(refused),
      timing,
      fetch: async (input, init) => {
        // Nothing but the header says who is asking, and nothing is kept in a cache of the disk.
        const response = await fetch(input, { ...init, credentials: 'omit', cache: 'no-store' });
        if (response.status === 401 && isIn && held.isEndOf(bearerIn(init))) this.expire();
        return response;
      },
    });
    const { status } = await reviewSelf(client);
    isIn = true;
    return { client, wake: timing.wake, user: status?.userInfo ?? {}, ...timesOf(held) };
  }

  #set(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

const timesOf = ({ endsAt, renews }: HeldToken): Pick<SignedIn, 'endsAt' | 'renews'> => ({ endsAt, renews });

const bearerIn = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get('Authorization')?.replace(/^Bearer /, '') ?? '';
