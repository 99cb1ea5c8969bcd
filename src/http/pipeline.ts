import { ApiError, internal, timeout } from '../api/status.ts';
import { asApiError } from '../objects/storage-errors.ts';
import { StorageError } from '../storage/contract.ts';
import { type AnswerOptions, createAnswerOnce } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { Serve } from './listener/listener.ts';
import { type RequestRecord, recordOf } from './records/request-record.ts';
import { BodyReader } from './request/body.ts';
import { RequestDeadlines } from './request-deadline.ts';
import type { Answer } from './response/respond.ts';
import {
  authenticate,
  authenticateActor,
  authenticateAgain,
  authenticatePublic,
} from './stages/authentication-stages.ts';
import { authorize, authorizeAgain, impersonateUser } from './stages/authorization-stages.ts';
import { checkBodyLength, checkContentType, receiveBody } from './stages/body-stages.ts';
import { takeBodySeat, takeCallerSeat, takePublicSeat, takeSeatAgain } from './stages/flow-control-stages.ts';
import { receiveForm } from './stages/form-stage.ts';
import { requireFreshState, requireFreshStateAgain } from './stages/freshness-stages.ts';
import { findMcp, serveMcp } from './stages/mcp-stage.ts';
import { applyTimeout, assignAuditId, checkHeaders, negotiate, readRequestInfo } from './stages/request-stages.ts';
import { findPublicRoute, findRoute, handle, handlePath } from './stages/route-stages.ts';
import type { StageParts, StageRun } from './stages/stage.ts';
import { issueTokenList } from './stages/token-list-stage.ts';

/**
 * What happens to a request, in order. The first stage that throws, or that sets an answer, is the last; then the
 * answer is written. The order is a promise: a malformed request is refused before authentication, a caller is
 * authenticated before it is authorized, it is authorized before anything is looked up, and no handler runs before the
 * whole body has arrived.
 */
const STAGES: readonly { readonly name: string; readonly run: StageRun }[] = [
  { name: 'audit id', run: assignAuditId },
  { name: 'header checks', run: checkHeaders },
  { name: 'request info', run: readRequestInfo },
  { name: 'public route', run: findPublicRoute },
  { name: 'timeout', run: applyTimeout },
  { name: 'public flow control', run: takePublicSeat },
  { name: 'form', run: receiveForm },
  { name: 'mcp endpoint', run: findMcp },
  { name: 'fresh state', run: requireFreshState },
  { name: 'public authentication', run: authenticatePublic },
  { name: 'public handler', run: handlePath },
  { name: 'authentication', run: authenticate },
  { name: 'actor authentication', run: authenticateActor },
  { name: 'flow control', run: takeCallerSeat },
  { name: 'impersonation', run: impersonateUser },
  { name: 'authorization', run: authorize },
  { name: 'route', run: findRoute },
  { name: 'path handler', run: handlePath },
  { name: 'negotiation', run: negotiate },
  { name: 'content type', run: checkContentType },
  { name: 'body length', run: checkBodyLength },
  { name: 'body flow control', run: takeBodySeat },
  { name: 'body', run: receiveBody },
  { name: 'flow control again', run: takeSeatAgain },
  { name: 'fresh state again', run: requireFreshStateAgain },
  { name: 'authentication again', run: authenticateAgain },
  { name: 'authorization again', run: authorizeAgain },
  { name: 'token list', run: issueTokenList },
  { name: 'mcp', run: serveMcp },
  { name: 'handler', run: handle },
];

/** The names of the stages in order, for the documentation and its test. */
export const STAGE_NAMES: readonly string[] = STAGES.map(({ name }) => name);

/** T-35: non-watch work is bounded. */
const SERVING_MS = 34_000;
const UNREAD_MS = 60_000;
const BODY_MS = 5_000;

export interface PipelineOptions
  extends Omit<StageParts, 'beforeRelease' | 'bodies' | 'toApiError' | 'observeSubrequest'>,
    Omit<AnswerOptions, 'observeWatch' | 'now'> {
  /** Resolves when the audit event is durable; until then nothing of the credential leaves. Throws an ApiError. */
  readonly beforeRelease: (record: RequestRecord) => Promise<void>;
  /** Called as a request arrives, when only its method is known. */
  readonly observeArrival: (method: string | undefined) => void;
  /** Called when the headers of a watch are sent. */
  readonly observeStart: (record: RequestRecord) => void;
  /** Called once per request when its connection and the handler of a write are finished with it, e.g. for logs. */
  readonly observe: (record: RequestRecord) => void;
  /** Called at the end of each subrequest: a token of a TokenRequestList, a request of a tool. */
  readonly observeSubrequest: (record: RequestRecord) => void;
  readonly servingMs?: number;
  /** How long a short body may take; a longer one must bring a part in that time. */
  readonly bodyMs?: number;
  /** How long the connection of an unread answer may be idle before it is closed. */
  readonly unreadMs?: number;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
}

export function createPipeline(options: PipelineOptions): Serve {
  const { logger, observe, observeSubrequest, observeStart, observeArrival, beforeRelease } = options;
  const { unreadMs = UNREAD_MS, servingMs = SERVING_MS, bodyMs = BODY_MS } = options;
  const { now = performance.now.bind(performance) } = options;
  const deadlines = new RequestDeadlines({ servingMs, unreadMs, now });
  const answerOnce = createAnswerOnce({
    ...options,
    now,
    observeWatch: (x) => observeStart(recordOf(x, now() - x.startedAt)),
  });

  const timeOut = (x: Exchange): void => {
    const error = timeout('request did not complete within requested timeout - context deadline exceeded');
    void answerOnce(x, { type: 'status', error });
    x.abort();
  };

  const toApiError = (error: unknown, { auditId, deadline }: Exchange): ApiError => {
    // Here, so that a fault of the store is a 503 also where a handler does not expect one.
    const thrown = asApiError(error);
    const known = thrown instanceof ApiError ? thrown : internal(error);
    const wasAborted = !deadline.isOpen && error instanceof Error && error.name === 'AbortError';
    // The answer of a 500 says nothing on purpose, so the log has to have the cause.
    if (known.status.code === 500 && !wasAborted) logger.error({ auditId, err: error }, 'request failed');
    else if (isUnreadable(known.cause)) logger.error({ auditId, err: known.cause }, 'the store cannot be read');
    return known;
  };

  const parts: StageParts = {
    ...options,
    bodies: new BodyReader({ afterMs: bodyMs, now }),
    toApiError,
    observeSubrequest: (x, code) => observeSubrequest(recordOf(x, now() - x.startedAt, code)),
    beforeRelease(x, code) {
      if (x.audited?.code === code) return x.audited.durable;
      const durable = beforeRelease(recordOf(x, now() - x.startedAt, code)).then(() => {
        audited.isDurable = true;
      });
      // The handler stage awaits it. If the handler throws first, the rejection is ignored.
      durable.catch(ignore);
      const audited = { code, durable, isDurable: false };
      x.audited = audited;
      return durable;
    },
  };

  const runStages = async (x: Exchange): Promise<void> => {
    let answer: Answer | undefined;
    try {
      for (const stage of STAGES) {
        const pending = stage.run(x, parts);
        // Most stages are done when they return; to await those too would cost a microtask each.
        if (pending !== undefined) await pending;
        if (x.answer !== undefined || !x.deadline.isOpen) break;
      }
      answer = x.answer;
    } catch (error) {
      answer = { type: 'status', error: toApiError(error, x) };
    }
    if (answer !== undefined) await answerOnce(x, answer);
  };

  const record = (x: Exchange): void => {
    try {
      observe(recordOf(x, now() - x.startedAt));
    } catch (error) {
      logger.error({ auditId: x.auditId, err: error }, 'request could not be recorded');
    }
  };

  return (req, res, arrival = {}) => {
    const deadline = deadlines.start(res, () => timeOut(x));
    const x = new Exchange(req, res, arrival, deadline, now());
    observeArrival(req.method);
    // A broken connection is seen as `close`. Without a listener an error of the answer would end the process; Node
    // emits an error of the request only where there is a listener.
    res.on('error', ignore);
    res.on('close', () => {
      deadline.end();
      x.releaseBody();
      x.seat?.release();
      // The client has left, or got a 504: the record still says what the handler has changed.
      if (x.isWriting) x.onWritten = () => record(x);
      else record(x);
    });
    void runStages(x);
  };
}

const isUnreadable = (cause: unknown): boolean => cause instanceof StorageError && cause.code === 'unreadable';

const ignore = (): void => {};
