import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, internal, timeout } from '../api/status.ts';
import { Deadlines } from '../lib/deadlines.ts';
import type { Logger } from '../observability/logger.ts';
import { type Arrival, Exchange } from './exchange.ts';
import { type RequestRecord, recordOf } from './records/request-record.ts';
import { acceptsGzip, prettyByAccept, prettyByDefault } from './request/negotiate.ts';
import type { Answer } from './response/answer.ts';
import { respond } from './response/respond.ts';
import type { WatchStream } from './response/watch-response.ts';
import {
  admit,
  assignAuditId,
  authenticate,
  authorize,
  checkContentType,
  checkHeaders,
  checkTimeout,
  findRoute,
  handle,
  negotiate,
  parseTarget,
  receiveBody,
  type StageParts,
  type StageRun,
  servePublicPath,
} from './stages.ts';

/**
 * The way of every request, read downwards. The first stage that throws, or that sets an answer, ends the
 * walk; then the answer is written. The order is a promise: a malformed request is refused before anyone
 * asks who sent it, identity comes before permission, permission before existence, and nothing acts on a
 * request before all of it has arrived.
 */
const STAGES: readonly { readonly name: string; readonly run: StageRun }[] = [
  { name: 'audit id', run: assignAuditId },
  { name: 'wire checks', run: checkHeaders },
  { name: 'target', run: parseTarget },
  { name: 'timeout', run: checkTimeout },
  { name: 'public paths', run: servePublicPath },
  { name: 'authenticate', run: authenticate },
  { name: 'admit', run: admit },
  { name: 'authorize', run: authorize },
  { name: 'route', run: findRoute },
  { name: 'negotiate', run: negotiate },
  { name: 'content type', run: checkContentType },
  { name: 'body', run: receiveBody },
  { name: 'handler', run: handle },
];

/** T-35: non-watch work is bounded. */
const DEADLINE_MS = 34_000;

export interface PipelineOptions extends Omit<StageParts, 'liftDeadline' | 'shortenDeadline' | 'beforeRelease'> {
  readonly logger: Logger;
  /** Resolves when the record is durable; until then nothing of the credential leaves. Throws an ApiError. */
  readonly beforeRelease: (record: RequestRecord) => Promise<void>;
  /** Called as a request arrives, before anything is known of it but its method. */
  readonly observeArrival: (method: string | undefined) => void;
  /** Called when the headers of a watch are out. */
  readonly observeStart: (record: RequestRecord) => void;
  /** Called once per request when its connection is done with it, e.g. for logs and metrics. */
  readonly observe: (record: RequestRecord) => void;
  /** True while the server drains: answers ask clients to reconnect elsewhere. */
  readonly isDraining: () => boolean;
  readonly keepWatch: (stream: WatchStream) => void;
  readonly deadlineMs?: number;
  /** An answer of which nothing leaves for so long is given up, and its connection closed. */
  readonly untakenMs: number;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

export type Serve = (req: IncomingMessage, res: ServerResponse, arrival?: Arrival) => void;

export function createPipeline(options: PipelineOptions): Serve {
  const {
    logger,
    observe,
    observeStart,
    observeArrival,
    beforeRelease,
    isDraining,
    keepWatch,
    untakenMs,
    deadlineMs = DEADLINE_MS,
    now = performance.now.bind(performance),
  } = options;

  const runOut = (x: Exchange): void => {
    const error = timeout('request did not complete within requested timeout - context deadline exceeded');
    void answerOnce(x, { type: 'status', error });
    x.expire();
  };
  /** Of all who are here, until their answer has left; of a watch only once it is refused or has ended. */
  const deadlines = new Deadlines<Exchange>({
    afterMs: deadlineMs,
    now,
    expire(x) {
      if (!x.settled) runOut(x);
      // Nearly every answer leaves at once. From here on Node looks whether this one moves; not before it is its turn.
      else if (x.res.socket !== null) x.res.setTimeout(untakenMs);
      // Where the connection is gone there is nothing to wait for.
      else if (!x.req.socket.destroyed) deadlines.start(x);
    },
  });

  const parts: StageParts = {
    ...options,
    beforeRelease(x, code) {
      if (x.recording?.code === code) return x.recording.done;
      const done = beforeRelease(recordOf(x, now() - x.startedAt, code)).then(() => {
        x.recordedAs = code;
      });
      // Whoever waits for it hears of a failure; if the handler fails first, nobody waits.
      done.catch(ignore);
      x.recording = { code, done };
      return done;
    },
    liftDeadline: (x) => deadlines.stop(x),
    shortenDeadline(x, wishMs) {
      // A wish beyond the server's own limit, or for no time at all, changes nothing (C-07).
      if (wishMs > 0 && wishMs < deadlineMs) x.ownDeadline = setTimeout(runOut, wishMs, x);
    },
  };

  const settle = (x: Exchange): void => {
    x.settled = true;
    if (x.ownDeadline !== undefined) clearTimeout(x.ownDeadline);
    // A slow reader has a connection, but not a place: that is for work. An open watch is work until it ends.
    if (x.answer?.type !== 'watch') x.seat?.leave();
    x.forgetBody();
  };

  const walk = async (x: Exchange): Promise<void> => {
    let answer: Answer | undefined;
    try {
      for (const stage of STAGES) {
        const pending = stage.run(x, parts);
        // Awaited only if there is something to wait for: most stages are done when they return.
        if (pending !== undefined) await pending;
        if (x.answer !== undefined || x.settled) break;
      }
      answer = x.answer;
    } catch (error) {
      answer = { type: 'status', error: toApiError(error, x) };
    }
    if (answer !== undefined) await answerOnce(x, answer);
  };

  const toApiError = (error: unknown, { auditId, settled }: Exchange): ApiError => {
    const answer = error instanceof ApiError ? error : internal(error);
    const wasBrokenOff = settled && error instanceof Error && error.name === 'AbortError';
    // Its answer is bland on purpose, so the log is the only place that can say what went wrong.
    if (answer.status.code === 500 && !wasBrokenOff) logger.error({ auditId, err: error }, 'request failed');
    return answer;
  };

  const answerOnce = async (x: Exchange, answer: Answer): Promise<void> => {
    if (x.settled) return;
    settle(x);
    const { req, res } = x;
    if (answer.type === 'watch') res.once('prefinish', () => deadlines.start(x));
    // That of a watch was lifted, and that of whoever ran out of time is over.
    else if (x.deadline === undefined) deadlines.start(x);
    // The socket is asked of the request: a pipelined answer has none before its turn.
    if (res.destroyed || res.headersSent || !req.socket.writable) return;
    const isError = answer.type === 'status';
    if (isError) x.failure = answer.error.status.reason ?? '';
    try {
      await respond(
        {
          res,
          auditId: x.auditId,
          warnings: x.warnings,
          mediaType: x.accept?.mediaType ?? 'application/json',
          pretty:
            (x.accept?.prettyClause ?? (isError && prettyByAccept(x.wire?.accept))) ||
            prettyByDefault(x.query, req.headers['user-agent']),
          gzip: acceptsGzip(req.headers['accept-encoding']?.toString()),
          headOnly: req.method === 'HEAD',
          // A client that was not told to continue may or may not send the body: only closing is unambiguous.
          // After an offer to upgrade Node reads no further request: the client must know that it was not heard.
          close:
            isDraining() || req.headers.upgrade !== undefined || (x.arrival.expectsContinue === true && !req.complete),
          onFailure: (error) => logger.error({ auditId: x.auditId, err: error }, 'watch failed'),
          keepWatch,
        },
        answer,
      );
      if (answer.type === 'watch') {
        x.started = true;
        observeStart(recordOf(x, now() - x.startedAt));
      }
    } catch (error) {
      logger.error({ auditId: x.auditId, err: error }, 'answer could not be written');
      if (!res.headersSent && !isError) {
        x.settled = false;
        return answerOnce(x, { type: 'status', error: internal(error) });
      }
      res.destroy();
    }
    return undefined;
  };

  return (req, res, arrival = {}) => {
    const x = new Exchange(req, res, arrival, now());
    observeArrival(req.method);
    deadlines.start(x);
    // Broken connections show up as `close`; without a listener errors of an answer would end the process. Those of a request
    // are told to nobody who has not asked.
    res.on('error', ignore);
    res.on('close', () => {
      settle(x);
      deadlines.stop(x);
      x.seat?.leave();
      try {
        observe(recordOf(x, now() - x.startedAt));
      } catch (error) {
        logger.error({ auditId: x.auditId, err: error }, 'request could not be recorded');
      }
    });
    void walk(x);
  };
}

const ignore = (): void => {};

/** The names of the stages in order, for documentation and its test. */
export const STAGE_NAMES: readonly string[] = STAGES.map(({ name }) => name);
