import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { ApiError, badGateway, timeout, tooManyRequests } from '../../api/status.ts';
import type { UpstreamAnswer, UpstreamError } from '../../clusters/upstream/upstream-contract.ts';
import { asJsonObject } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { parseUpstreamJson } from '../../tokens/forwarding/token-response.ts';

/**
 * Errors of a cluster as errors of this API: its headers, and codes that are about our credential, are not passed on.
 */

/** Codes that are about the caller's request. */
const PASSED_ON: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  404: 'NotFound',
  409: 'Conflict',
  422: 'Invalid',
};

const MAX_TEXT = 1024;
const MAX_RETRY_SECONDS = 60;

const named = (cluster: string): string => `cluster ${goQuote(cluster)}`;

/** Whether the cluster refuses our credential. With a 403 it accepts it, and the role of it does not allow enough. */
export const refusesCredential = ({ status }: UpstreamAnswer): boolean => status === 401;

/** `account`: `namespace/name`. `asker`: who has asked. The message of a 403 is not passed on: it names that user. */
export function fromAnswer(
  cluster: string,
  account: string,
  { status, headers, body }: UpstreamAnswer,
  asker = 'the credential of Clusterpass',
): ApiError {
  const foreign = readStatus(body);
  if (status === 401) {
    return badGateway(`${named(cluster)} does not accept ${asker} (it answered 401)`);
  }
  if (status === 403 && !isTerminating(foreign)) {
    return badGateway(
      `${named(cluster)} does not allow ${asker} to create serviceaccounts/token of ` +
        `${goQuote(account)} (it answered 403)`,
    );
  }
  const { message } = foreign;
  const reason = status === 403 ? 'Forbidden' : PASSED_ON[status];
  if (reason !== undefined) {
    const text = typeof message === 'string' ? cleanText(message, MAX_TEXT) : '';
    return new ApiError(status, reason, `${named(cluster)}: ${text === '' ? `it answered ${status}` : text}`);
  }
  if (status === 429) {
    const seconds = Number(headers['retry-after']);
    const wait = Number.isInteger(seconds) && seconds > 0 ? Math.min(seconds, MAX_RETRY_SECONDS) : 1;
    return tooManyRequests(`${named(cluster)} has too many requests to answer, please try again later`, wait);
  }
  return badGateway(`${named(cluster)} did not issue a token (it answered ${status})`);
}

export function fromFailure(cluster: string, error: UpstreamError): ApiError {
  const message = `${named(cluster)} did not issue a token: ${error.message}`;
  return error.reason === 'timeout' ? timeout(message) : badGateway(message, error);
}

interface ForeignStatus {
  readonly message: unknown;
  readonly causes: readonly unknown[];
}

/** The parts of a Status that an arbitrary body has. */
function readStatus(body: Buffer): ForeignStatus {
  const status = asJsonObject(parseUpstreamJson(body));
  const { causes } = asJsonObject(status.details);
  return { message: status.message, causes: Array.isArray(causes) ? causes : [] };
}

/** T-12j: a 403 that is about the namespace, not about the credential. */
const isTerminating = ({ causes }: ForeignStatus): boolean =>
  causes.some((cause) => asJsonObject(cause).reason === 'NamespaceTerminating');
