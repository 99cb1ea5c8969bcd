import type { IncomingMessage } from 'node:http';
import type { Agent, Caller } from '../api/caller.ts';
import type { Decision } from '../api/decision.ts';
import type { ApiRequest, Query, RequestBody, Target } from '../api/request.ts';
import type { ApiError } from '../api/status.ts';
import type { MemoryAccount, MemoryCharge } from '../lib/memory-account.ts';
import type { Work, WorkQueue } from '../lib/work-queue.ts';
import type { ListedPass } from '../observability/audit/listed-passes.ts';
import type { Secret } from '../observability/secret.ts';
import type { Seat } from './flow-control/priority-level.ts';
import { addressKey } from './listener/handshakes.ts';
import type { McpEndpoint } from './mcp/mcp-endpoint.ts';
import type { FormRoute } from './oauth/form.ts';
import type { Render } from './oauth/oauth-error.ts';
import { MAX_BODY_BYTES } from './request/body.ts';
import type { CheckedHeaders } from './request/header-checks.ts';
import { type NegotiatedAnswer, PLAIN_JSON } from './request/negotiate.ts';
import type { PathInfo, RequestInfo } from './request/request-info.ts';
import type { RequestDeadline } from './request-deadline.ts';
import type { LingeringResponse } from './response/lingering-response.ts';
import type { Answer } from './response/respond.ts';
import { Warnings } from './response/warning-headers.ts';
import type { PathRoute, ResourceRoute } from './routes/routes.ts';

const NO_QUERY: Query = new URLSearchParams();
const NO_WARNINGS: readonly string[] = [];
const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** What the listener knows of a request that the request itself does not say. */
export interface Arrival {
  /** The client sends the body only after a 100 (Continue). */
  readonly expectsContinue?: boolean;
  /** The listener refuses the request; the pipeline only answers it. */
  readonly refusal?: ApiError;
}

/** The decision of the authorizer, for the audit event. */
export interface AuditedDecision {
  readonly allowed: boolean;
  readonly why: string;
}

/**
 * One request in its pipeline. A comment names the stages that set a field; only later stages read it. The handler gets
 * it as an ApiRequest: it must not be copied by spreading, which would lose what is computed.
 */
export class Exchange implements ApiRequest {
  readonly req: IncomingMessage;
  readonly res: LingeringResponse;
  readonly arrival: Arrival;
  readonly deadline: RequestDeadline;
  readonly startedAt: number;
  readonly #queue: WorkQueue;

  auditId = ''; //                            classify
  checkedHeaders?: CheckedHeaders; //         classify
  path = ''; //                               classify
  query = NO_QUERY; //                        classify, form
  requestInfo?: RequestInfo; //               classify, form
  pathRoute?: PathRoute | undefined; //       classify
  formRoute?: FormRoute | undefined; //       classify
  mcp?: McpEndpoint; //                       classify
  maxBodyBytes = MAX_BODY_BYTES; //           form, endpoint checks, body length
  credential?: Secret | undefined; //         form
  actorCredential?: Secret | undefined; //    form
  render?: Render; //                         classify, form, endpoint checks
  successCode?: number; //                    form: of its answer, whatever the handler says
  knownCaller?: Caller; //                    authentication, impersonation
  actor?: Caller; //                          actor authentication
  agent?: Agent; //                           set by the stage that makes a subrequest for an agent
  seat?: Seat; //                             flow control, check again
  decision?: AuditedDecision; //              impersonation, authorization, check again
  permission?: Decision; //                   authorization, check again
  resourceRoute?: ResourceRoute; //           route
  negotiated?: NegotiatedAnswer; //           negotiation, form, content type
  mediaType = ''; //                          content type
  bodyLength: number | undefined = 0; //      form, body length
  bodySeat?: Seat; //                         form, body
  body: RequestBody | undefined; //           form, body
  stopReading?: (() => void) | undefined; //  form, body
  hasWholeBody = false; //                    form, body
  waitedForBody = false; //                   body
  answer?: Answer;
  /** Of a list of passes: what has become of each item. Its audit event says so. */
  items?: ListedPass[];

  /** The reason in the Status of an answer that is an error. */
  failure?: string;
  /** Why the credential was refused: a text or an error. */
  refusedBecause?: unknown;
  /** The audit event that is committed before a credential leaves: the code in it, and when it is durable. */
  audited?: { readonly code: number; readonly durable: Promise<void>; isDurable: boolean };
  /** The headers of a watch were sent. */
  started = false;
  /** The handler of a write works, perhaps longer than the client waits. */
  isWriting = false;
  /** Called when it has ended. */
  onWritten?: () => void;
  /** The name in the body of a create, or the one that the server made. */
  objectName = '';
  /** Set by the handler stage. */
  willAnswer: (code: number) => Promise<void> = () => setBy<Promise<void>>('handler', undefined);

  // Created on demand: most requests need none of them.
  #warnings?: Warnings;
  #annotations?: Map<string, string>;
  #abort?: AbortController;
  #work?: Work;
  #charge?: MemoryCharge;
  #heldBytes = 0;
  #isClosed = false;
  /** The request that a subrequest belongs to. */
  #parent?: Exchange;

  /** Of an item of a list of passes: those of its list that have ended. */
  get siblings(): ListedPass[] | undefined {
    return this.#parent?.items;
  }

  readonly warn = (text: string): void => {
    this.#warnings ??= new Warnings();
    this.#warnings.add(text);
  };

  readonly annotate = (key: string, value: string): void => {
    this.#annotations ??= new Map();
    this.#annotations.set(key, value);
  };

  constructor(
    req: IncomingMessage,
    res: LingeringResponse,
    arrival: Arrival,
    deadline: RequestDeadline,
    startedAt: number,
    queue: WorkQueue,
  ) {
    this.req = req;
    this.res = res;
    this.arrival = arrival;
    this.deadline = deadline;
    this.startedAt = startedAt;
    this.#queue = queue;
  }

  get headers(): CheckedHeaders {
    return setBy('classify', this.checkedHeaders);
  }

  get info(): RequestInfo {
    return setBy('classify', this.requestInfo);
  }

  /** For stages of resources only. */
  get target(): Target {
    if (this.info.type !== 'resource') throw new Error('not a resource request');
    return this.info.target;
  }

  /** For stages of other paths only. */
  get pathInfo(): PathInfo {
    if (this.info.type !== 'path') throw new Error('a resource request');
    return this.info;
  }

  get caller(): Caller {
    return setBy('authentication', this.knownCaller);
  }

  get accept(): NegotiatedAnswer {
    return setBy('negotiation', this.negotiated);
  }

  nameObject(name: string): void {
    this.objectName = name;
  }

  get userAgent(): string {
    return this.req.headers['user-agent'] ?? '';
  }

  /** Behind a proxy this is the proxy's address. Any client can write an `X-Forwarded-For`, so it is ignored. */
  get clientAddress(): string {
    return this.req.socket.remoteAddress ?? '';
  }

  get route(): ResourceRoute {
    return setBy('route', this.resourceRoute);
  }

  /** A request of the API by the same caller, to answer this one: it has the same connection and deadline. */
  subrequest(info: RequestInfo, body: RequestBody | undefined): Exchange {
    const x = new Exchange(this.req, this.res, this.arrival, this.deadline, this.startedAt, this.#queue);
    x.auditId = this.auditId;
    x.checkedHeaders = this.headers;
    x.path = this.path;
    x.query = this.query;
    x.requestInfo = info;
    if (this.knownCaller !== undefined) x.knownCaller = this.knownCaller;
    if (this.agent !== undefined) x.agent = this.agent;
    x.body = body;
    x.hasWholeBody = true;
    x.negotiated = PLAIN_JSON;
    x.#parent = this;
    return x;
  }

  /** No stage reads the body any more. The answer may wait for long, e.g. behind a watch on the same connection. */
  releaseBody(): void {
    this.stopReading?.();
    this.stopReading = undefined;
    this.body = undefined;
    this.bodySeat?.release();
    this.#heldBytes = 0;
    this.#charge?.set(0);
  }

  /** Values of `Warning` headers. */
  get warnings(): readonly string[] {
    return this.#warnings?.headers ?? NO_WARNINGS;
  }

  /** The texts of `warnings`, as they were given. */
  get warningTexts(): readonly string[] {
    return this.#warnings?.texts ?? NO_WARNINGS;
  }

  get annotations(): ReadonlyMap<string, string> {
    return this.#annotations ?? NO_ANNOTATIONS;
  }

  get auditedCode(): number | undefined {
    return this.audited?.isDurable === true ? this.audited.code : undefined;
  }

  /** Aborted when the client goes away or the deadline passes. */
  get signal(): AbortSignal {
    if (this.#parent !== undefined) return this.#parent.signal;
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.res.destroyed || !this.deadline.isOpen) this.#abort.abort();
      else this.res.once('close', () => this.#abort?.abort());
    }
    return this.#abort.signal;
  }

  /** For the stages after authentication, and handlers. */
  get work(): Work {
    if (this.#parent !== undefined) return this.#parent.work;
    this.#work ??= this.#queue.job(this.flow, this);
    return this.#work;
  }

  /** The turns in which the answer is made. The request has ended, so its signal says nothing any more. */
  answerWork(): Work {
    return this.#queue.job(this.flow);
  }

  /** Whose share of the server it uses. */
  get flow(): string {
    return this.knownCaller?.flow ?? addressOf(this);
  }

  /** What it holds in memory for its flow: its body, then its answer. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  hold(memory: MemoryAccount, bytes: number): void {
    if (this.#isClosed || bytes === this.#heldBytes) return;
    this.#heldBytes = bytes;
    this.#charge ??= memory.open(this.flow);
    this.#charge.set(bytes);
  }

  /** The connection is finished with it. */
  closed(): void {
    this.#isClosed = true;
    this.releaseBody();
    this.seat?.release();
    this.#charge?.close();
  }

  abort(): void {
    this.#abort?.abort();
  }
}

/** Throws when a stage reads a field before the stage that sets it: the list of stages is in the wrong order. */
function setBy<T>(stage: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`the stage ${stage} has not run`);
  return value;
}

export const formRouteOf = ({ formRoute }: Exchange): FormRoute => setBy('classify', formRoute);
export const mcpOf = ({ mcp }: Exchange): McpEndpoint => setBy('classify', mcp);
/** What an open watch keeps of its request: the selectors as they were sent, decoded, and compiled. */
const COPIES_OF_SELECTORS = 4;
export const bytesOfWatch = ({ req }: Exchange): number => (req.url?.length ?? 0) * COPIES_OF_SELECTORS;

export const addressOf = ({ req }: Exchange): string => addressKey(req.socket.remoteAddress);
