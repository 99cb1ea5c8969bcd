import type { IncomingMessage } from 'node:http';
import { ApiError, tooLarge } from '../../api/status.ts';

/** D-10: exactly this much is still accepted. */
const MAX_BODY_BYTES = 3_145_728;

const EMPTY = new Uint8Array();

/** How long the body is, as its header says, or throws 413. Undefined where that is seen only as it comes. */
export function announcedLength({ headers }: IncomingMessage): number | undefined {
  const declared = headers['content-length'];
  if (declared === undefined) return headers['transfer-encoding'] === undefined ? 0 : undefined;
  const length = Number(declared);
  if (length > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return length;
}

/**
 * Reads the whole body, or throws 413. Nothing acts on a request before this has ended: a body that turns
 * out malformed half-way (chunking, length) must not have had an effect. When the client leaves first,
 * this never settles: nobody is there to be answered, and the request is forgotten with its connection. Nor does
 * it when it is stopped: then nothing is kept of what came, and what is yet to come is dropped.
 */
export function readBody(
  req: IncomingMessage,
  length: number | undefined,
  announce: (() => void) | undefined,
  offerStop: (stop: () => void) => void,
): Promise<Uint8Array> | Uint8Array {
  if (length === 0) return EMPTY;
  if (req.complete) return buffered(req);
  announce?.();
  // Node tells of the end of a message only after the turn in which its last byte came: a length says so before.
  if (req.readableLength === length) return buffered(req);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
      // What still arrives is read and dropped (bounded by the request timeout), so that a client
      // that only looks for an answer after sending gets to see it.
      chunks.length = 0;
      reject(tooLarge(MAX_BODY_BYTES));
    };
    const end = (): void => {
      resolve(wholeOf(chunks));
      chunks.length = 0;
    };
    req.on('data', take);
    req.on('end', end);
    offerStop(() => {
      req.off('data', take);
      req.off('end', end);
      chunks.length = 0;
      req.resume();
    });
  });
}

/** All of it came along with the header, as that of nearly every request does: nothing has to be waited for. */
function buffered(req: IncomingMessage): Uint8Array {
  const chunks: Buffer[] = [];
  let size = 0;
  for (let chunk: Buffer | null = req.read(); chunk !== null; chunk = req.read()) {
    size += chunk.length;
    chunks.push(chunk);
  }
  if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return wholeOf(chunks);
}

const wholeOf = (chunks: readonly Buffer[]): Uint8Array =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

/** A compressed body is a way to make a small request large; nobody needs it here (CVE-2019-11253's class). */
export function refuseContentEncoding(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new ApiError(
    415,
    'UnsupportedMediaType',
    'the body of the request has a content encoding - the only one accepted is identity',
  );
}
