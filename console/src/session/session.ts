import { type Client, createClient, reviewSelf, type UserInfo } from '../../../src/client/index.ts';
import { claimsOf } from '../pass/claims.ts';
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

/** Who is signed in. The token is in the closure of its client and, if the person wants that, kept for the tab. */
export class Session {
  readonly #options: SessionOptions;
  readonly #listeners = new Set<() => void>();
  #state: SessionState = SIGNED_OUT;

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
    const signedIn = await this.#open(token);
    if (keepForTab) this.#options.storage.save(token);
    else this.#options.storage.clear();
    this.#set({ phase: 'signed-in', ...signedIn });
  }

  /** Goes on with what was kept for this tab. */
  async restore(): Promise<void> {
    const token = this.#options.storage.load();
    if (token === undefined) return;
    this.#set({ phase: 'restoring' });
    try {
      this.#set({ phase: 'signed-in', ...(await this.#open(token)) });
    } catch {
      this.expire();
    }
  }

  /** Goes on with a token that is still on its way; what goes wrong is shown where people sign in. */
  async arrive(coming: Promise<{ readonly token: string; readonly keepForTab: boolean }>): Promise<void> {
    this.#set({ phase: 'restoring' });
    try {
      const { token, keepForTab } = await coming;
      await this.signIn(token, keepForTab);
    } catch (error) {
      this.#set({ ...SIGNED_OUT, problem: error instanceof Error ? error.message : String(error) });
    }
  }

  signOut(): void {
    this.#end(undefined);
  }

  /** The server no longer takes the token. */
  expire(): void {
    this.#end('expired');
  }

  #end(notice: 'expired' | undefined): void {
    this.#options.storage.clear();
    this.#set({ ...SIGNED_OUT, notice });
  }

  async #open(token: string): Promise<SignedIn> {
    const { server, productName } = this.#options;
    const timing: WakeableTiming = createWakeableTiming();
    let isIn = false;
    const client = createClient({
      server,
      productName,
      token,
      timing,
      fetch: async (input, init) => {
        // Nothing but the header says who is asking, and nothing is kept in a cache of the disk.
        const response = await fetch(input, { ...init, credentials: 'omit', cache: 'no-store' });
        if (response.status === 401 && isIn) this.expire();
        return response;
      },
    });
    const { status } = await reviewSelf(client);
    isIn = true;
    const { exp } = claimsOf(token) ?? {};
    return {
      client,
      wake: timing.wake,
      user: status?.userInfo ?? {},
      endsAt: typeof exp === 'number' ? exp * 1000 : undefined,
    };
  }

  #set(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
