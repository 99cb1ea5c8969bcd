import { utf8Text } from '../../lib/text.ts';
import { badRequest } from '../status.ts';

/**
 * The text of a body, or of a part of it. Go replaces what is no Unicode by U+FFFD; here it is refused, because the
 * caller would get another name, audience or label than it sent, and two different texts would become equal. A byte
 * order mark stays in the text: JSON does not allow one, and Go does not skip it.
 *
 * @throws ApiError 400
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = utf8Text(bytes);
  if (text === undefined) throw badRequest('the body of the request is not UTF-8');
  return text;
}

/** @throws ApiError 400 when the text has a surrogate without its other half, as `"\ud800"` in JSON and YAML does. */
export function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  throw badRequest('the body of the request has half of a surrogate pair, without the other half');
}
