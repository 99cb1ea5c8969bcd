import { JsonSyntaxError, parseJson } from '../../api/codec/parse-json.ts';
import { toPlain } from '../../api/codec/tree.ts';
import { ApiError } from '../../api/status.ts';

/**
 * JSON that somebody else answered with; undefined when it is none. By the decoder that has limits of depth and
 * number: a mebibyte of the wrong JSON can keep the other one busy for long.
 */
export function readForeignJson(body: Buffer): unknown {
  try {
    return toPlain(parseJson(body));
  } catch (error) {
    // The limits are told as errors of a request, and this is an answer.
    if (error instanceof JsonSyntaxError || error instanceof ApiError) return undefined;
    throw error;
  }
}
