import { ConnectionError, isStatus, type StatusCause, StatusError } from '../../src/client/index.ts';

const UNREACHABLE = 'The server does not answer. Check your network connection, or try again in a moment.';

/** A text for people. The errors of `fetch` differ by browser ("Failed to fetch", "Load failed") and say nothing. */
export function errorMessage(error: unknown): string {
  if (isNetworkFailure(error)) return UNREACHABLE;
  // A thrown value need not be an Error.
  return error instanceof Error ? error.message : String(error);
}

/** Why a request failed. */
export interface Failure {
  /** `""` if it did not. */
  readonly message: string;
  /** What the server says about fields of the object. */
  readonly causes: readonly StatusCause[];
}

export const NO_FAILURE: Failure = { message: '', causes: [] };

export const failureOf = (error: unknown): Failure => ({
  message: errorMessage(error),
  causes: error instanceof StatusError ? (error.status.details?.causes ?? []) : [],
});

/** For a `catch`: with one of these codes there is no answer. */
export const unless =
  (...codes: number[]) =>
  (error: unknown): undefined => {
    if (!codes.some((code) => isStatus(error, code))) throw error;
  };

/** `fetch` rejects with a TypeError; the client wraps it. */
function isNetworkFailure(error: unknown): boolean {
  const cause = error instanceof ConnectionError ? error.cause : error;
  return cause instanceof TypeError || (cause instanceof Error && cause.name === 'TimeoutError');
}
