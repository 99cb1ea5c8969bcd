import { type Decoded, decodeBody, type FieldValidation } from '../../api/codec/decode.ts';
import type { ApiRequest, RequestBody } from '../../api/exchange.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { remembering } from '../../api/remember.ts';
import { bodyOf } from '../write/body.ts';

const JSON_TYPE = 'application/json';
/** What is remembered is no longer than this. */
const SMALL_BYTES = 256;

const decode = (body: RequestBody, mode: FieldValidation): Decoded<TokenRequest> =>
  decodeBody<TokenRequest>(body, tokenRequestType, mode);

const remembered = (mode: FieldValidation) =>
  remembering((latin1) => decode({ bytes: Buffer.from(latin1, 'latin1'), mediaType: JSON_TYPE }, mode), {
    length: SMALL_BYTES,
  });

/** Programs that ask for tokens send the same few bytes each time. */
const SMALL: Readonly<Record<FieldValidation, ReturnType<typeof remembered>>> = {
  Ignore: remembered('Ignore'),
  Warn: remembered('Warn'),
  Strict: remembered('Strict'),
};

/** The body of a token request; what is odd about it goes to the caller as warnings. Shared: it is not to be changed. */
export function readTokenRequest(request: ApiRequest, mode: FieldValidation): TokenRequest {
  const body = bodyOf(request);
  const { buffer, byteOffset, length } = body.bytes;
  const { value, violations } =
    body.mediaType === JSON_TYPE && length <= SMALL_BYTES
      ? SMALL[mode](Buffer.from(buffer, byteOffset, length).toString('latin1'))
      : decode(body, mode);
  for (const violation of violations) request.warn(violation);
  return value;
}
