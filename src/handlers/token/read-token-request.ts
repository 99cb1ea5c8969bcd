import { decodeBody, type FieldValidation } from '../../api/codec/decode.ts';
import type { FieldError } from '../../api/field-error.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, RequestBody } from '../../api/request.ts';
import { remembering } from '../../lib/remember.ts';
import { bodyOf } from '../write/read-body.ts';
import { readTokenRequestAnnotations, type TokenRequestAnnotations } from './token-request-annotations.ts';
import { DEFAULT_SECONDS, foldAudiences, validateSpec } from './validate-spec.ts';

/** What a caller asks for, with all that can be said of it without looking anything up. Shared: it is not to be changed. */
export interface AskedToken {
  readonly sent: TokenRequest;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly wishes: TokenRequestAnnotations;
  /** Annotations that look like a wish and are none. */
  readonly unknown: readonly string[];
  /** Nothing of it comes back whose order the caller has chosen. */
  readonly isBare: boolean;
  /** What is wrong with it. When that is to be said, the handler knows (T-12). */
  readonly errors: readonly FieldError[];
}

const JSON_TYPE = 'application/json';
/** What is remembered is no longer than this. */
const SMALL_BYTES = 256;

interface Read {
  readonly asked: AskedToken;
  /** What is odd about the body. */
  readonly violations: readonly string[];
}

function read(body: RequestBody, mode: FieldValidation): Read {
  const { value: sent, violations } = decodeBody<TokenRequest>(body, tokenRequestType, mode);
  const { wishes, errors, unknown } = readTokenRequestAnnotations(sent.metadata ?? {});
  const asked = {
    sent,
    audiences: foldAudiences(sent.spec?.audiences ?? []),
    expirationSeconds: sent.spec?.expirationSeconds ?? DEFAULT_SECONDS,
    wishes,
    unknown,
    isBare: Object.keys(sent.metadata ?? {}).length === 0 && sent.spec?.boundObjectRef === undefined,
    errors: [...validateSpec(sent.spec), ...errors],
  };
  return { asked, violations };
}

const remembered = (mode: FieldValidation) =>
  remembering((latin1) => read({ bytes: Buffer.from(latin1, 'latin1'), mediaType: JSON_TYPE }, mode), {
    length: SMALL_BYTES,
  });

/** Programs that ask for tokens send the same few bytes each time. */
const SMALL: Readonly<Record<FieldValidation, ReturnType<typeof remembered>>> = {
  Ignore: remembered('Ignore'),
  Warn: remembered('Warn'),
  Strict: remembered('Strict'),
};

const latin1Of = (bytes: Uint8Array): string =>
  (bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).toString('latin1');

/** The body of a token request; what is odd about it goes to the caller as warnings. */
export function readTokenRequest(request: ApiRequest, mode: FieldValidation): AskedToken {
  const body = bodyOf(request);
  const { length } = body.bytes;
  const { asked, violations } =
    body.mediaType === JSON_TYPE && length <= SMALL_BYTES ? SMALL[mode](latin1Of(body.bytes)) : read(body, mode);
  for (const violation of violations) request.warn(violation);
  return asked;
}
