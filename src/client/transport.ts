import type { Timing } from '../lib/backoff.ts';
import { type Expected, wrongTypeIn } from './answer-types.ts';
import { ConnectionError, redirected, requestFailed, responseFailed, StatusError, statusFrom } from './errors.ts';

export type Fetch = typeof globalThis.fetch;

/**
 * Returns the bearer token. `refused` is the token that the server has just refused, if any. `signal` is that of the
 * request: the token is not needed after it.
 */
export type TokenProvider = (refused?: string, signal?: AbortSignal) => string | Promise<string>;

export interface TransportOptions {
  /** The base URL of the server, e.g. `https://clusterpass.example.com`. */
  readonly server: string;
  /** Where address and credential come from, for their errors: `context "hub" of /home/jane/.kube/config`. */
  readonly configSource?: string;
  /** Where the credential comes from and how to replace it, for the error that the server refuses it. */
  readonly credentialSource?: string | undefined;
  readonly tokenProvider: TokenProvider | undefined;
  readonly fetch: Fetch;
  readonly userAgent: string | undefined;
  readonly onWarning: ((text: string) => void) | undefined;
  readonly timing: Timing;
}

interface SentOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface RequestOptions extends SentOptions {
  /** The parts that the answer must have; `unchecked` if the caller checks the types of its fields, too. */
  readonly expects?: Expected | 'unchecked';
}

export interface Reply<T> {
  readonly code: number;
  readonly value: T;
  readonly headers: Headers;
  readonly warnings: readonly string[];
}

/** How often a request is repeated after a response with Retry-After. */
const MAX_RETRIES = 3;
const MAX_RETRY_AFTER_SECONDS = 30;
const RESPONSE_TIMEOUT_MS = 30_000;
/** Of a response that is read as a whole. Lists come in pages, and watches are not read as a whole. */
const MAX_RESPONSE_MIB = 128;
/** A Status is short. */
const MAX_ERROR_MIB = 1;

/** Sends requests with the bearer token, throws errors, and retries where the server asks for it. */
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

  /** Reads a JSON response. */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<Reply<T>> {
    const { value: text, ...reply } = await this.text(method, path, options);
    let value: T;
    try {
      value = JSON.parse(text) as T;
    } catch (error) {
      throw this.#withSource(new ConnectionError(`${this.#root} sent a response that is not JSON`, { cause: error }));
    }
    const { expects } = options;
    const problem = expects === 'unchecked' ? undefined : wrongTypeIn(value, expects);
    if (problem !== undefined) throw this.#withSource(new ConnectionError(`${this.#root} sent ${problem}`));
    return { ...reply, value };
  }

  /** Reads a response as text. */
  async text(method: string, path: string, options: SentOptions = {}): Promise<Reply<string>> {
    const timeout = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const deadline = this.#options.timing.now() + RESPONSE_TIMEOUT_MS;
    const response = await this.open(method, path, { ...options, signal }, deadline);
    const value = await this.#read(response, options.signal, MAX_RESPONSE_MIB);
    return { code: response.status, value, headers: response.headers, warnings: warningsIn(response.headers) };
  }

  /**
   * Returns a successful response with its body unread. Throws StatusError for any other.
   * @param deadline in epoch milliseconds: no retry is waited for that comes later
   */
  async open(method: string, path: string, options: SentOptions, deadline = Infinity): Promise<Response> {
    let refused: { readonly token: string; readonly error: StatusError } | undefined;
    for (let retries = 0; ; ) {
      const token = await this.#options.tokenProvider?.(refused?.token, options.signal);
      // The same token again would be refused again.
      if (refused !== undefined && token === refused.token) throw refused.error;
      const response = await this.#send(method, path, options, token);
      for (const text of warningsIn(response.headers)) this.#options.onWarning?.(text);
      if (response.ok) return response;
      const error = new StatusError(
        statusFrom(response.status, await this.#read(response, options.signal, MAX_ERROR_MIB)),
        warningsIn(response.headers),
        response.status === 401 ? (this.#options.credentialSource ?? this.#options.configSource) : undefined,
      );
      if (error.code === 401 && refused === undefined && token !== undefined) {
        refused = { token, error };
        continue;
      }
      const seconds = retryAfter(response);
      if (seconds === undefined || retries++ >= MAX_RETRIES) throw error;
      const delayMs = seconds * 1000;
      if (this.#options.timing.now() + delayMs >= deadline) throw error;
      await this.#options.timing.pause(delayMs, options.signal);
      // The server's answer says more than that the time is over.
      if (options.signal?.aborted) throw abortReason(options.signal) ?? error;
    }
  }

  async #send(method: string, path: string, options: SentOptions, token: string | undefined): Promise<Response> {
    const { query = {}, body, contentType = 'application/json', accept = 'application/json', signal } = options;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
    const search = parameters.size === 0 ? '' : `?${parameters}`;
    let response: Response;
    try {
      response = await this.#options.fetch(`${this.#root}${path}${search}`, {
        method,
        headers: {
          Accept: accept,
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'Content-Type': contentType }),
          ...(this.#options.userAgent === undefined ? {} : { 'User-Agent': this.#options.userAgent }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
        // The server sends no redirects. One from an attacker on the network would get the token.
        redirect: 'manual',
      });
    } catch (error) {
      throw abortReason(options.signal) ?? this.#withSource(requestFailed(this.#root, error));
    }
    if (!isRedirect(response)) return response;
    // Closes the connection.
    await response.body?.cancel().catch(() => undefined);
    throw this.#withSource(redirected(this.#root, response.headers.get('location') ?? ''));
  }

  async #read(response: Response, signal: AbortSignal | undefined, maxMib: number): Promise<string> {
    let text: string | undefined;
    try {
      text = await boundedText(response, maxMib * 1024 * 1024);
    } catch (error) {
      throw abortReason(signal) ?? this.#withSource(responseFailed(this.#root, error));
    }
    if (text !== undefined) return text;
    throw this.#withSource(
      new ConnectionError(`${this.#root} sent a response of more than ${maxMib} MiB, which is not read`),
    );
  }

  /** Never `isUntrusted`: `--certificate-authority` is not for an address that comes from elsewhere. */
  #withSource(error: ConnectionError): ConnectionError {
    const { configSource } = this.#options;
    if (configSource === undefined) return error;
    return new ConnectionError(`${error.message} (${configSource})`, { cause: error.cause });
  }
}

/** The body as text; undefined if it is longer, whatever its Content-Length says. */
export async function boundedText(response: Response, maxBytes: number): Promise<string | undefined> {
  // Then the length bounds what is read. Of a compressed body it says nothing.
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (length <= maxBytes && response.headers.get('content-encoding') === null) return response.text();
  const { body } = response;
  // No content, or a fetch that has read the response within its own bound.
  if (!body) return response.text();
  const decoder = new TextDecoder();
  // Not all browsers support asynchronous iteration of a stream.
  const reader = body.getReader();
  const texts: string[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return texts.concat(decoder.decode()).join('');
    size += value.length;
    if (size > maxBytes) {
      // Closes the connection: the rest is not received.
      await reader.cancel();
      return undefined;
    }
    texts.push(decoder.decode(value, { stream: true }));
  }
}

/** The reason of a caller that aborted its request; undefined for a timeout, which is a ConnectionError. */
const abortReason = (signal: AbortSignal | undefined): unknown =>
  signal?.aborted && (signal.reason as Error | undefined)?.name !== 'TimeoutError' ? signal.reason : undefined;

/** A browser hides the status of a redirect. */
const isRedirect = ({ type, status }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

/** The delay in seconds, if the server asks for a retry. */
function retryAfter({ status, headers }: Response): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_RETRY_AFTER_SECONDS ? seconds : undefined;
}

/** `299 - "text"`, comma-joined when the header occurs more than once; `"` and `\` are escaped in the text. */
const WARNING = /(?:^|,)\s*299 \S+ "((?:[^"\\]|\\.)*)"/g;

const warningsIn = (headers: Headers): string[] =>
  [...(headers.get('warning') ?? '').matchAll(WARNING)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
