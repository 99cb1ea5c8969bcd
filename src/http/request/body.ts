import type { IncomingMessage } from 'node:http';
import { ApiError, tooLarge } from '../../api/status.ts';

/** D-10: exactly this much is still accepted. */
const MAX_BODY_BYTES = 3_145_728;

const EMPTY = new Uint8Array();

/** The length that the header says; undefined for a chunked body. Throws 413. */
export function bodyLength({ headers }: IncomingMessage): number | undefined {
  const declared = headers['content-length'];
  if (declared === undefined) return headers['transfer-encoding'] === undefined ? 0 : undefined;
  const length = Number(declared);
  if (length > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return length;
}

/**
 * Whether all of a request has arrived, so that the connection can be used for the next one. `complete` is set one tick
 * after the last byte has arrived.
 */
export function hasArrived({ complete, headers, readableLength }: IncomingMessage): boolean {
  if (complete) return true;
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === readableLength;
}

/** The body, if all of it has arrived; undefined otherwise. Throws 413. */
export function arrivedBody(req: IncomingMessage, length: number | undefined): Uint8Array | undefined {
  if (length === 0) return EMPTY;
  // `complete` is set one tick after the last byte has arrived; by its length a body is known to be whole before.
  if (!req.complete && req.readableLength !== length) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for (let chunk: Buffer | null = req.read(); chunk !== null; chunk = req.read()) {
    size += chunk.length;
    chunks.push(chunk);
  }
  if (size > MAX_BODY_BYTES) throw tooLarge(MAX_BODY_BYTES);
  return wholeOf(chunks);
}

/**
 * Waits for the rest of the body, or throws 413. Nothing acts on a request before this has ended: a body that turns out
 * malformed half-way (chunking, length) must not have had an effect. It never settles when the client leaves first (the
 * exchange is then collected with its connection), nor after `stop`, which drops what came and reads no further.
 */
export function readBody(req: IncomingMessage, offerStop: (stop: () => void) => void): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const take = (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) {
        chunks.push(chunk);
        return;
      }
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
      req.pause();
    });
  });
}

const wholeOf = (chunks: readonly Buffer[]): Uint8Array =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

/** A compressed body makes a small request large (the class of CVE-2019-11253), and no client needs one here. */
export function refuseContentEncoding(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new ApiError(
    415,
    'UnsupportedMediaType',
    'the body of the request has a content encoding - the only one accepted is identity',
  );
}
