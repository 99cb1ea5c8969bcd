import { ApiError } from '../../api/status.ts';
import { truncate, withoutTokenWords } from '../../lib/text.ts';
import { type Answer, type RawAnswer, rawAnswer } from '../response/respond.ts';

/** Error codes of RFC 6749 section 5.2, RFC 8693 section 2.2.2, RFC 7009 section 2.2.1 and RFC 6750 section 3.1. */
type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_token_type'
  | 'temporarily_unavailable'
  | 'server_error';

/** An error of an OAuth endpoint. Its code is also the reason in the audit event. */
export class OAuthError extends ApiError {
  readonly error: OAuthErrorCode;
  /** The scheme of `WWW-Authenticate`. */
  readonly challenge: string | undefined;

  constructor(
    error: OAuthErrorCode,
    text: string,
    { code = 400, challenge }: { code?: number; challenge?: string } = {},
  ) {
    super(code, error, text);
    this.error = error;
    this.challenge = challenge;
  }
}

export const refuse = (error: OAuthErrorCode, text: string): OAuthError => new OAuthError(error, text);

/** Writes an answer of the API as an answer of another protocol. */
export type Render = (answer: Answer) => Answer;

/** RFC 6749 section 5.1, for errors as well. */
const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
} as const;

export const jsonAnswer = (value: object): RawAnswer => rawAnswer(200, HEADERS, JSON.stringify(value));

export const emptyAnswer = (): RawAnswer => rawAnswer(200, HEADERS);

/** What an error of the API means at one endpoint; undefined where the common table says it. */
export type Translate = (error: ApiError) => OAuthError | undefined;

/** Of endpoints whose caller is in the header `Authorization`: what they answer without one, and to one refused. */
export const forCaller = (unknown: OAuthErrorCode, forbidden: () => OAuthError) => {
  const unknownCaller = (): OAuthError =>
    new OAuthError(unknown, 'send your own token as Authorization: Bearer', { code: 401, challenge: 'Bearer' });
  return {
    checkAuthorization(authorization: string | undefined): void {
      if (authorization === undefined) throw unknownCaller();
    },
    errorAnswer: (error: ApiError): RawAnswer =>
      errorAnswer(error, ({ status: { code } }) =>
        code === 401 ? unknownCaller() : code === 403 ? forbidden() : undefined,
      ),
  };
};

/** RFC 6749 section 5.2. */
export function errorAnswer(error: ApiError, translate: Translate = () => undefined): RawAnswer {
  const oauth = error instanceof OAuthError ? error : (translate(error) ?? common(error));
  const retryAfter = error.status.details?.retryAfterSeconds ?? 0;
  const headers = {
    ...HEADERS,
    ...(oauth.challenge === undefined ? {} : { 'WWW-Authenticate': oauth.challenge }),
    ...(retryAfter > 0 ? { 'Retry-After': String(retryAfter) } : {}),
    ...(oauth.status.code === 405 ? { Allow: 'POST' } : {}),
  };
  const value = { error: oauth.error, error_description: description(oauth.message) };
  return rawAnswer(oauth.status.code, headers, JSON.stringify(value));
}

const UNAVAILABLE: ReadonlySet<number> = new Set([429, 503, 504]);

function common({ status: { code }, message }: ApiError): OAuthError {
  if (UNAVAILABLE.has(code)) return new OAuthError('temporarily_unavailable', message, { code });
  if (code >= 500) return new OAuthError('server_error', message, { code });
  // A length, a method, an expectation and a slow body keep their codes: proxies and clients act on them.
  return new OAuthError('invalid_request', message, { code: KEPT.has(code) ? code : 400 });
}

const KEPT: ReadonlySet<number> = new Set([405, 408, 413, 417]);
const MAX_DESCRIPTION = 512;

/** RFC 6749 section 5.2: printable ASCII without `"` and `\`. Text of the request may be a token sent by mistake. */
const description = (text: string): string =>
  truncate(withoutTokenWords(text), MAX_DESCRIPTION)
    .replaceAll('"', "'")
    .replaceAll(/[^\x20-\x5b\x5d-\x7e]/g, '?');
