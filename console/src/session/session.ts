import { type Client, createClient, isStatus, reviewSelf, type UserInfo } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';
import { type BearerToken, refreshedToken, staticToken } from './bearer-token.ts';
import { type Provider, type ProviderTokens, refreshTokens, revokeRefreshToken } from './oidc-client.ts';
import type { CompletedSignIn } from './oidc-sign-in.ts';
import { createRetryTiming, type RetryTiming } from './retry-timing.ts';
import type { tokenStorage } from './token-storage.ts';

export interface SignedIn {
  readonly client: Client;
  /** Skips the delay before the next attempt to reach the server. */
  readonly retryNow: () => void;
  readonly user: UserInfo;
  /** The `exp` claim of the token in epoch milliseconds. */
  readonly expiresAt: number | undefined;
  /** Whether a refresh token replaces the token before it expires. */
  readonly refreshes: boolean;
}

type SessionState =
  | { readonly phase: 'signed-out'; readonly expired: boolean; readonly problem: string }
  | { readonly phase: 'restoring' }
  | ({ readonly phase: 'signed-in' } & SignedIn);

interface SessionOptions {
  readonly server: string;
  readonly productName: string;
  readonly storage: typeof tokenStorage;
  /** The other tabs of this browser; undefined if they do not share the session. */
  readonly tabs: Pick<BroadcastChannel, 'postMessage' | 'onmessage'> | undefined;
}

/** `id` is that of the tab that asks, and in its answer; of a sign-out the name of the user. */
type TabMessage = { readonly type: 'ask' | 'token' | 'sign-out'; readonly id: string; readonly token: string };

/** An open tab answers sooner. */
const ASK_MS = 150;

/** Other characters are not allowed in a header; the error of `fetch` would not say so. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

const SIGNED_OUT: Extract<SessionState, { phase: 'signed-out' }> = { phase: 'signed-out', expired: false, problem: '' };

/**
 * The session of the user. The token is in the closure of its client and, if the user wants that, in the storage of the
 * tab. A refresh token is only in the memory of the tab that signed in: a provider that rotates it accepts it once.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #listeners = new Set<() => void>();
  #state: SessionState = { phase: 'restoring' };
  /** Aborted when the session ends: responses that arrive later change nothing. */
  #lifetime = new AbortController();
  #token: BearerToken | undefined;
  #asking = '';
  /** The last token from storage or another tab: the same again would be rejected again. */
  #resumed = '';
  /** Revokes the refresh token of the session, if there is one. */
  #revoke = (): void => {};

  constructor(options: SessionOptions) {
    this.#options = options;
    if (options.tabs) options.tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => void this.#hear(data);
  }

  async #hear({ type, id, token }: TabMessage): Promise<void> {
    if (this.#state.phase === 'signed-in') {
      // None without a connection to the provider.
      if (type === 'ask') this.#tell('token', id, (await this.#token?.get().catch(() => '')) ?? '');
      if (type === 'sign-out' && id === this.#state.user.username) this.signOut();
    } else if (type === 'token' && id === this.#asking && !['', this.#resumed].includes(token))
      await this.#resume(token);
  }

  #tell(type: TabMessage['type'], id: string, token = ''): void {
    this.#options.tabs?.postMessage({ type, id, token } satisfies TabMessage);
  }

  /** Asks the other tabs. A late answer still signs in, unless the user has begun to. */
  #ask(otherwise: SessionState): void {
    this.#asking = this.#options.tabs === undefined ? '' : String(Math.random());
    this.#set(this.#asking === '' ? otherwise : { phase: 'restoring' });
    this.#tell('ask', this.#asking);
    setTimeout(() => this.#asking !== '' && this.#set(otherwise), ASK_MS);
  }

  get state(): SessionState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Throws the error of the server if the server rejects the token. */
  async signIn(text: string, { keepForTab }: { readonly keepForTab: boolean }): Promise<void> {
    // People paste the output of `cat` or a whole header.
    const token = text.trim().replace(/^(?:Authorization:\s*)?Bearer\s+/i, '');
    if (!TOKEN.test(token)) {
      throw new Error('Token: expected at most 16,384 printable ASCII characters without spaces.');
    }
    const ended = this.#begin();
    const signedIn = await this.#connect(createRetryTiming(), staticToken(token), ended);
    if (ended.aborted) return;
    this.#store(token, { keepForTab });
    this.#set({ phase: 'signed-in', ...signedIn });
  }

  /** The session before, if there is one, has ended. */
  #begin(): AbortSignal {
    this.#asking = '';
    this.#lifetime.abort();
    this.#lifetime = new AbortController();
    return this.#lifetime.signal;
  }

  #store(token: string, { keepForTab }: { readonly keepForTab: boolean }): void {
    if (keepForTab) this.#options.storage.save(token);
    else this.#options.storage.clear();
  }

  /** Signs in with the token that was stored for this tab, or with that of another tab. */
  async restore(): Promise<void> {
    const token = this.#options.storage.load();
    if (token === undefined) this.#ask(SIGNED_OUT);
    else await this.#resume(token);
  }

  async #resume(token: string): Promise<void> {
    this.#resumed = token;
    const ended = this.#begin();
    this.#set({ phase: 'restoring' });
    try {
      const signedIn = await this.#connect(createRetryTiming(), staticToken(token), ended);
      if (!ended.aborted) this.#set({ phase: 'signed-in', ...signedIn });
    } catch (error) {
      // Another session has begun since.
      if (this.#lifetime.signal !== ended) return;
      if (isStatus(error, 401)) this.expire();
      // The token can still be valid. It stays in storage, so that reloading the page tries again.
      else this.#set({ ...SIGNED_OUT, problem: errorMessage(error) });
    }
  }

  /** Signs in with the tokens of the provider. The sign-in page shows a failure. */
  async signInWithProvider(provider: Provider, completed: Promise<CompletedSignIn>): Promise<void> {
    const ended = this.#begin();
    this.#set({ phase: 'restoring' });
    try {
      const { tokens, keepForTab } = await completed;
      const timing = createRetryTiming();
      let latest = tokens;
      const revoke = (): void => {
        if (latest.refreshToken !== undefined) void revokeRefreshToken(provider, latest.refreshToken);
      };
      const token = refreshedToken({
        first: tokens,
        refresh: (current) => refreshTokens(provider, current),
        now: timing.now,
        onRefreshed: (refreshed: ProviderTokens) => {
          latest = refreshed;
          if (ended.aborted) {
            revoke();
            return;
          }
          this.#store(refreshed.idToken, { keepForTab });
          if (this.#state.phase === 'signed-in') this.#set({ ...this.#state, ...expiryOf(token) });
        },
        onExpired: () => {
          if (!ended.aborted) this.expire();
        },
      });
      if (ended.aborted) return revoke();
      this.#revoke = revoke;
      const signedIn = await this.#connect(timing, token, ended);
      if (ended.aborted) return;
      this.#store(latest.idToken, { keepForTab });
      this.#set({ phase: 'signed-in', ...signedIn });
    } catch (error) {
      if (this.#lifetime.signal === ended) this.#set({ ...SIGNED_OUT, problem: errorMessage(error) });
    }
  }

  /** In every tab of the user. */
  signOut(): void {
    const { state } = this;
    this.#revoke();
    this.#end(false);
    if (state.phase === 'signed-in') this.#tell('sign-out', state.user.username ?? '');
  }

  /** The server rejects the token. */
  expire(): void {
    this.#end(true);
  }

  #end(expired: boolean): void {
    this.#lifetime.abort();
    this.#options.storage.clear();
    this.#revoke = () => {};
    // Another tab may have refreshed the token meanwhile.
    if (expired) this.#ask({ ...SIGNED_OUT, expired });
    else this.#set(SIGNED_OUT);
  }

  async #connect(timing: RetryTiming, token: BearerToken, ended: AbortSignal): Promise<SignedIn> {
    const { server, productName } = this.#options;
    this.#token = token;
    let isSignedIn = false;
    const client = createClient({
      server,
      productName,
      tokenProvider: (rejected) => token.get(rejected),
      timing,
      fetch: async (input, init) => {
        // Only the header authenticates, never a cookie. `no-store` keeps responses out of the disk cache.
        const response = await fetch(input, { ...init, credentials: 'omit', cache: 'no-store' });
        const isRejected = response.status === 401 && isSignedIn && !ended.aborted;
        if (isRejected && token.endsSession(bearerOf(init))) this.expire();
        return response;
      },
    });
    const { status } = await reviewSelf(client);
    isSignedIn = true;
    return { client, retryNow: timing.retryNow, user: status?.userInfo ?? {}, ...expiryOf(token) };
  }

  #set(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

const expiryOf = ({ expiresAt, refreshes }: BearerToken): Pick<SignedIn, 'expiresAt' | 'refreshes'> => ({
  expiresAt,
  refreshes,
});

const bearerOf = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get('Authorization')?.replace(/^Bearer /, '') ?? '';
