import type { IncomingMessage } from 'node:http';
import { ApiError, tooLarge } from '../../api/status.ts';
import { Deadlines, type Timed } from '../../lib/deadlines.ts';

/** D-10: exactly this much is still accepted. */
export const MAX_BODY_BYTES = 3_145_728;

const EMPTY = new Uint8Array();

/** The length that the header says; undefined for a chunked body. Throws 413. */
export function bodyLength({ headers }: IncomingMessage, limit: number): number | undefined {
  const declared = headers['content-length'];
  if (declared === undefined) return headers['transfer-encoding'] === undefined ? 0 : undefined;
  const length = Number(declared);
  if (length > limit) throw tooLarge(limit);
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
export function arrivedBody(req: IncomingMessage, length: number | undefined, limit: number): Uint8Array | undefined {
  if (length === 0) return EMPTY;
  // By its length a body is known to be whole one tick before `complete` is set.
  if (!req.complete && req.readableLength !== length) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for (let chunk: Buffer | null = req.read(); chunk !== null; chunk = req.read()) {
    size += chunk.length;
    chunks.push(chunk);
  }
  if (size > limit) throw tooLarge(limit);
  return wholeOf(chunks);
}

/** What must arrive of a long body in the time that a short one has: 64 KiB a second. */
const MIN_BYTES = 320 * 1024;

interface Reading extends Timed<Reading> {
  readonly chunks: Buffer[];
  size: number;
  /** The size when its time was last extended. */
  sizeBefore: number;
  readonly fail: (error: ApiError) => void;
}

/** Reads bodies that have not arrived with their headers. A body that stops arriving is a 408. */
export class BodyReader {
  readonly #deadlines: Deadlines<Reading>;

  constructor(options: { readonly afterMs: number; readonly now: () => number }) {
    this.#deadlines = new Deadlines({ ...options, expire: (reading) => this.#expire(reading) });
  }

  /**
   * Waits for the rest of the body, or throws 408 or 413. Nothing acts on a request before this has ended: a body that
   * turns out malformed half-way (chunking, length) must not have had an effect. It never settles when the client
   * leaves first, nor after `stop`, which drops the received part and reads no further. The caller must call `stop`.
   * `refuses`: why there is no room for a body of this size.
   */
  read(
    req: IncomingMessage,
    limit: number,
    offerStop: (stop: () => void) => void,
    refuses: (size: number) => ApiError | undefined = () => undefined,
  ): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const reading: Reading = { chunks: [], size: 0, sizeBefore: 0, fail: reject };
      const take = (chunk: Buffer): void => {
        reading.size += chunk.length;
        reading.chunks.push(chunk);
        const refusal = reading.size > limit ? tooLarge(limit) : refuses(reading.size);
        if (refusal !== undefined) this.#stop(reading, refusal);
      };
      const end = (): void => {
        resolve(wholeOf(reading.chunks));
        this.#stop(reading);
      };
      req.on('data', take);
      req.on('end', end);
      this.#deadlines.start(reading);
      offerStop(() => {
        req.off('data', take);
        req.off('end', end);
        this.#stop(reading);
        req.pause();
      });
    });
  }

  #expire(reading: Reading): void {
    if (reading.size - reading.sizeBefore < MIN_BYTES) {
      this.#stop(reading, bodyTooSlow());
      return;
    }
    reading.sizeBefore = reading.size;
    this.#deadlines.start(reading);
  }

  #stop(reading: Reading, error?: ApiError): void {
    this.#deadlines.stop(reading);
    reading.chunks.length = 0;
    if (error !== undefined) reading.fail(error);
  }
}

const bodyTooSlow = (): ApiError =>
  new ApiError(408, 'RequestTimeout', 'the body of the request did not arrive in time');

const wholeOf = (chunks: readonly Buffer[]): Uint8Array =>
  chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);

/** A compressed body makes a small request large (the class of CVE-2019-11253), and no client needs one here. */
export function checkContentEncoding(req: IncomingMessage): void {
  const encoding = req.headers['content-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return;
  throw new ApiError(
    415,
    'UnsupportedMediaType',
    'the body of the request has a content encoding - the only one accepted is identity',
  );
}
