import { isTokenRequestList } from '../api/authorization.ts';
import { ApiError, internal, timeout } from '../api/status.ts';
import type { WorkQueue } from '../lib/work-queue.ts';
import { asApiError } from '../objects/storage-errors.ts';
import { StorageError } from '../storage/contract.ts';
import { type AnswerOptions, createAnswerOnce } from './answer.ts';
import { Exchange } from './exchange.ts';
import type { Serve } from './listener/listener.ts';
import { passOf } from './records/audit.ts';
import { type RequestRecord, recordOf } from './records/request-record.ts';
import { BodyReader } from './request/body.ts';
import { createRequestDeadlines } from './request-deadline.ts';
import type { Answer } from './response/respond.ts';
import {
  authenticate,
  authenticateActor,
  authenticateAgent,
  authenticateSubject,
  presentsCredential,
  requireFreshState,
  requireLiveCaller,
} from './stages/authentication-stages.ts';
import { authorize, authorizeCalls, impersonateUser } from './stages/authorization-stages.ts';
import { checkBodyLength, checkContentType, checkMessageType, receiveBody } from './stages/body-stages.ts';
import { classify, type PipelineName } from './stages/classify.ts';
import { holdBody, takeAddressSeat, takeCallerSeat } from './stages/flow-control-stages.ts';
import { receiveForm } from './stages/form-stage.ts';
import { checkEndpoint, serveMcp } from './stages/mcp-stage.ts';
import { applyTimeout, findRoute, handle, negotiate, servePath } from './stages/route-stages.ts';
import { runStages, type Stage, type StageParts, where } from './stages/stage.ts';
import { issueTokenList } from './stages/token-list-stage.ts';

interface Pipeline {
  /** For the documentation and its test. */
  readonly names: readonly string[];
  readonly stages: readonly Stage[];
}

const pipeline = (stages: Readonly<Record<string, Stage>>): Pipeline => ({
  names: Object.keys(stages),
  stages: Object.values(stages),
});

/** What may have changed while the client sent the body: it can take half a minute. */
const again = (...stages: readonly Stage[]): Stage => where((x) => x.waitedForBody, ...stages);

/**
 * What happens to a request that is classified, in order. The first stage that throws, or that sets an answer, is the
 * last; then the answer is written. The order is a promise: a malformed request is refused before authentication, a
 * caller is authenticated before it is authorized, it is authorized before anything is looked up, and no handler runs
 * before the whole body has arrived.
 */
export const PIPELINES: Readonly<Record<PipelineName, Pipeline>> = {
  PUBLIC: pipeline({
    timeout: applyTimeout,
    'flow control': takeAddressSeat,
    authentication: where(presentsCredential, requireFreshState, authenticate),
    handler: servePath,
  }),
  FORM: pipeline({
    timeout: applyTimeout,
    'address flow control': takeAddressSeat,
    form: receiveForm,
    'fresh state': requireFreshState,
    authentication: authenticateSubject,
    'actor authentication': authenticateActor,
    'flow control': takeCallerSeat,
    impersonation: impersonateUser,
    authorization: authorize,
    route: findRoute,
    handler: handle,
  }),
  MCP: pipeline({
    timeout: applyTimeout,
    'endpoint checks': checkEndpoint,
    'fresh state': requireFreshState,
    authentication: authenticateAgent,
    'flow control': takeCallerSeat,
    authorization: authorizeCalls,
    'content type': checkMessageType,
    'body length': checkBodyLength,
    'body flow control': holdBody,
    body: receiveBody,
    'check again': again(takeCallerSeat, requireFreshState, requireLiveCaller),
    handler: serveMcp,
  }),
  RESOURCE: pipeline({
    timeout: applyTimeout,
    'fresh state': requireFreshState,
    authentication: authenticate,
    'flow control': takeCallerSeat,
    impersonation: impersonateUser,
    authorization: authorize,
    route: findRoute,
    negotiation: negotiate,
    'content type': checkContentType,
    'body length': checkBodyLength,
    'body flow control': holdBody,
    body: receiveBody,
    'check again': again(takeCallerSeat, requireFreshState, requireLiveCaller, authorize),
    handler: (x, parts) => (isTokenRequestList(x.target) ? issueTokenList : handle)(x, parts),
  }),
};

/** T-35: non-watch work is bounded. */
const SERVING_MS = 34_000;
const UNREAD_MS = 60_000;
const BODY_MS = 5_000;

export interface PipelineOptions
  extends Omit<StageParts, 'beforeRelease' | 'bodies' | 'toApiError' | 'observeSubrequest'>,
    Omit<AnswerOptions, 'observeWatch'> {
  /** Resolves when the audit event is durable; until then nothing of the credential leaves. Throws an ApiError. */
  readonly beforeRelease: (record: RequestRecord) => Promise<void>;
  /** Called as a request arrives, when only its method is known. */
  readonly observeArrival: (method: string | undefined) => void;
  /** Called when the headers of a watch are sent. */
  readonly observeStart: (record: RequestRecord) => void;
  /** Called once per request when its connection and the handler of a write are finished with it, e.g. for logs. */
  readonly observe: (record: RequestRecord) => void;
  /**
   * Called at the end of each subrequest: a token of a TokenRequestList, a request of a tool. `isItem`: it is a part of
   * the audit event of its list.
   */
  readonly observeSubrequest: (record: RequestRecord, isItem: boolean) => void;
  readonly work: WorkQueue;
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
  const { now = performance.now.bind(performance), work } = options;
  const startDeadline = createRequestDeadlines({ servingMs, unreadMs, now });
  const answerOnce = createAnswerOnce({
    ...options,
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
    observeSubrequest(x, code) {
      const record = recordOf(x, now() - x.startedAt, code);
      x.siblings?.push(passOf(record));
      observeSubrequest(record, x.siblings !== undefined);
    },
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

  const serve = async (x: Exchange): Promise<void> => {
    let answer: Answer | undefined;
    try {
      await runStages(PIPELINES[classify(x, parts)].stages, x, parts);
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
    const deadline = startDeadline(res, () => timeOut(x));
    const x = new Exchange(req, res, arrival, deadline, now(), work);
    observeArrival(req.method);
    // A broken connection is seen as `close`. Without a listener an error of the answer would end the process; Node
    // emits an error of the request only where there is a listener.
    res.on('error', ignore);
    res.on('close', () => {
      deadline.end();
      x.closed();
      // The client has left, or got a 504: the record still says what the handler has changed.
      if (x.isWriting) x.onWritten = () => record(x);
      else record(x);
    });
    void serve(x);
  };
}

const isUnreadable = (cause: unknown): boolean => cause instanceof StorageError && cause.code === 'unreadable';

const ignore = (): void => {};
