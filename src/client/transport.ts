import { cutOff, noAnswer } from './connection-problem.ts';
import { ConnectionError, StatusError, statusFrom } from './errors.ts';
import type { Timing } from './timing.ts';
import { warningsIn } from './warning-header.ts';

export type Fetch = typeof globalThis.fetch;

/** Gives the bearer token. Called with the token that the server has just refused, so that it can give another. */
export type TokenProvider = (refused?: string) => string | Promise<string>;

export interface TransportOptions {
  /** The server's root, e.g. `https://desk.example.com`. */
  readonly server: string;
  readonly tokenProvider: TokenProvider | undefined;
  readonly fetch: Fetch;
  readonly userAgent: string | undefined;
  readonly onWarning: ((text: string) => void) | undefined;
  readonly timing: Timing;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

export interface Reply<T> {
  readonly code: number;
  readonly value: T;
  readonly headers: Headers;
  readonly warnings: readonly string[];
}

/** A server that says when to come back is asked so many times more. */
const MAX_RETRIES = 3;
const MAX_RETRY_AFTER_SECONDS = 30;
const ANSWER_TIMEOUT_MS = 30_000;

/** Sends requests: the bearer token, errors as exceptions, another try where the server asks for one. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #root: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    const url = new URL(options.server);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new TypeError('server must be an http(s) URL');
    if (url.username !== '' || url.password !== '') throw new TypeError('server must not contain credentials');
    this.#root = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  }

  /** A JSON answer, read whole. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<Reply<T>> {
    const { value: text, ...reply } = await this.text(method, path, options);
    try {
      return { ...reply, value: JSON.parse(text) as T };
    } catch (error) {
      throw new ConnectionError(`${this.#root} answered with something that is not JSON`, { cause: error });
    }
  }

  /** An answer read whole, as it came. */
  async text(method: string, path: string, options: RequestOptions = {}): Promise<Reply<string>> {
    const timeout = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const response = await this.open(method, path, { ...options, signal });
    const value = await this.#read(response, options.signal);
    return { code: response.status, value, headers: response.headers, warnings: warningsIn(response.headers) };
  }

  /** An answer that went well, its body unread. Throws StatusError for any other. */
  async open(method: string, path: string, options: RequestOptions): Promise<Response> {
    let refused: { readonly token: string; readonly error: StatusError } | undefined;
    for (let retries = 0; ; ) {
      const token = await this.#options.tokenProvider?.(refused?.token);
      // The same token again would be refused again.
      if (refused !== undefined && token === refused.token) throw refused.error;
      const response = await this.#send(method, path, options, token);
      for (const text of warningsIn(response.headers)) this.#options.onWarning?.(text);
      if (response.ok) return response;
      const error = new StatusError(
        statusFrom(response.status, await this.#read(response, options.signal)),
        warningsIn(response.headers),
      );
      if (error.code === 401 && refused === undefined && token !== undefined) {
        refused = { token, error };
        continue;
      }
      const seconds = retryAfter(response);
      if (seconds === undefined || retries++ >= MAX_RETRIES) throw error;
      await this.#options.timing.delay(seconds * 1000, options.signal);
    }
  }

  async #send(method: string, path: string, options: RequestOptions, token: string | undefined): Promise<Response> {
    const { query = {}, body, contentType = 'application/json', accept = 'application/json', signal } = options;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const search = parameters.size === 0 ? '' : `?${parameters}`;
    try {
      return await this.#options.fetch(`${this.#root}${path}${search}`, {
        method,
        headers: {
          Accept: accept,
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'Content-Type': contentType }),
          ...(this.#options.userAgent === undefined ? {} : { 'User-Agent': this.#options.userAgent }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
        // The server never sends its clients elsewhere; somebody in between might, and the token would go with them.
        redirect: 'error',
      });
    } catch (error) {
      throw this.#stopped(options.signal) ?? noAnswer(this.#root, error);
    }
  }

  async #read(response: Response, signal: AbortSignal | undefined): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      throw this.#stopped(signal) ?? cutOff(this.#root, error);
    }
  }

  /** Whoever stops a request gets their own reason back; a limit of time is no wish of theirs. */
  #stopped(signal: AbortSignal | undefined): unknown {
    return signal?.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError' ? signal.reason : undefined;
  }
}

/** Seconds, when the server says that another try may help. */
function retryAfter({ status, headers }: Response): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_RETRY_AFTER_SECONDS ? seconds : undefined;
}
