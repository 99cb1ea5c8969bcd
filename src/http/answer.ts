import { internal } from '../api/status.ts';
import type { MemoryAccount } from '../lib/memory-account.ts';
import type { Logger } from '../observability/logger.ts';
import { bytesOfWatch, type Exchange } from './exchange.ts';
import { hasArrived } from './request/body.ts';
import { acceptsGzip, prettyByAccept, prettyByDefault } from './request/negotiate.ts';
import { CHUNK_BYTES, createResponseBuffers } from './response/body-writer.ts';
import { type Answer, type Envelope, respond } from './response/respond.ts';
import type { WatchStream } from './response/watch-response.ts';

export interface AnswerOptions {
  readonly logger: Logger;
  /** True while the server drains: answers ask clients to open another connection. */
  readonly isDraining: () => boolean;
  readonly trackWatch: (stream: WatchStream) => void;
  /** The value of `Strict-Transport-Security`, where TLS is served. */
  readonly strictTransportSecurity?: string | undefined;
  /** Called when the headers of a watch are sent. */
  readonly observeWatch: (exchange: Exchange) => void;
  readonly memory: MemoryAccount;
}

/** Writes the first answer of a request. Later ones, e.g. after a timeout, are dropped. */
export function createAnswerOnce(options: AnswerOptions): (x: Exchange, answer: Answer) => Promise<void> | undefined {
  const { logger, isDraining, trackWatch, strictTransportSecurity, observeWatch, memory } = options;
  const buffers = createResponseBuffers();

  const answerOnce = (x: Exchange, answer: Answer): Promise<void> | undefined => {
    const isWatch = answer.type === 'watch';
    if (!x.deadline.respond({ isWatch })) return undefined;
    if (answer.type === 'status' && answer.error.status.code === 401) {
      x.refusedBecause = answer.error.cause ?? 'the credential has expired or was revoked';
    }
    x.releaseBody();
    return write(x, answer);
  };

  const write = async (x: Exchange, answer: Answer): Promise<void> => {
    const { req, res } = x;
    const isEarly = !isWhole(x) && !(await isWholeSoon(x));
    // The socket of the request: a pipelined answer has none before the answers ahead of it are sent.
    if (res.destroyed || res.headersSent || !req.socket.writable) return;
    const isError = answer.type === 'status';
    if (isEarly) res.discard(req);
    try {
      const rendered = x.render?.(answer) ?? answer;
      // A revocation of an unknown token is a 404 of the API, and no error of OAuth.
      const isSent = rendered.type !== 'raw' || rendered.code >= 400;
      if (isError && isSent) x.failure = answer.error.status.reason ?? '';
      const written = respond(envelopeOf(x, { isError, isEarly }), rendered);
      // What a fast client takes at once is not held.
      x.hold(memory, written === undefined ? res.writableLength : bytesInPieces(rendered));
      if (answer.type === 'watch') {
        x.started = true;
        x.hold(memory, bytesOfWatch(x));
        observeWatch(x);
      }
      if (written === undefined) return;
      await written;
      x.hold(memory, res.writableLength);
    } catch (error) {
      logger.error({ auditId: x.auditId, err: error }, 'answer could not be written');
      if (!res.headersSent && !isError) return write(x, { type: 'status', error: internal(error) });
      res.destroy();
    } finally {
      // Also without a body. An open watch is work.
      if (answer.type !== 'watch') x.seat?.release();
    }
    return undefined;
  };

  const envelopeOf = (x: Exchange, { isError, isEarly }: { isError: boolean; isEarly: boolean }): Envelope => {
    const { req, res, auditId, warnings, negotiated } = x;
    // The header checks may have failed.
    const { checkedHeaders: headers } = x;
    return {
      res,
      auditId,
      warnings,
      mediaType: negotiated?.mediaType ?? 'application/json',
      pretty:
        (negotiated?.prettyClause ?? (isError && prettyByAccept(headers?.accept))) ||
        prettyByDefault(x.query, req.headers['user-agent']),
      gzip: acceptsGzip(req.headers['accept-encoding']?.toString()),
      headOnly: req.method === 'HEAD',
      // After an `Upgrade` header Node reads no further request, so the client must not send one.
      close: isEarly || isDraining() || req.headers.upgrade !== undefined,
      strictTransportSecurity,
      onFailure: (error) => logger.error({ auditId, err: error }, 'watch failed'),
      trackWatch,
      buffers,
      work: () => x.answerWork(),
      onMade: () => x.seat?.release(),
    };
  };

  return answerOnce;
}

/** What an answer holds while it is written in pieces: two of them, and items that were made for it. */
const bytesInPieces = (answer: Answer): number =>
  2 * CHUNK_BYTES + (answer.type === 'list' && answer.ownsItems === true ? lengthOf(answer.items) : 0);

const lengthOf = (items: readonly Uint8Array[]): number => items.reduce((sum, { length }) => sum + length, 0);

/** Whether the whole request has arrived. */
const isWhole = (x: Exchange): boolean => x.hasWholeBody || hasArrived(x.req);

/** Node hands out a request before it has parsed a body in the same packet, and parses it after this yields. */
async function isWholeSoon(x: Exchange): Promise<boolean> {
  await undefined;
  return isWhole(x);
}
