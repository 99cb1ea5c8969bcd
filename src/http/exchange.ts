import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../api/caller.ts';
import type { ApiRequest, Query, RequestBody, Target } from '../api/request.ts';
import type { ApiError } from '../api/status.ts';
import type { Timed } from '../lib/deadlines.ts';
import type { Seat } from './flow-control/priority-level.ts';
import type { CheckedHeaders } from './request/header-checks.ts';
import type { LineNotes } from './request/line-notes.ts';
import type { NegotiatedAnswer } from './request/negotiate.ts';
import { RequestQuery } from './request/query.ts';
import type { RequestTarget } from './request/request-info.ts';
import type { Answer } from './response/answer.ts';
import { Warnings } from './response/warning-headers.ts';
import type { ResourceRoute } from './routes/routes.ts';

const NO_QUERY: Query = new RequestQuery('');
const NO_WARNINGS: readonly string[] = [];
const NO_ANNOTATIONS: ReadonlyMap<string, string> = new Map();

/** What the listener knows about a request that the request itself does not say. */
export interface Arrival {
  /** The client sends the body only when told to continue. */
  readonly expectsContinue?: boolean;
  /** The listener has refused the request already; it is only to be answered like any other. */
  readonly refusal?: ApiError;
}

/** What authorization came to, for the audit trail. */
export interface Decided {
  readonly allowed: boolean;
  readonly why: string;
}

/**
 * One request on its way down the pipeline. Fields without a value yet are set by the stage named beside
 * them, and only read by later ones.
 */
export class Exchange implements Timed<Exchange> {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly arrival: Arrival;
  readonly startedAt: number;

  auditId = ''; //            audit id
  wire!: CheckedHeaders; //        wire checks
  path = ''; //               target
  query = NO_QUERY; //        target
  names!: RequestTarget; //   target
  notes!: LineNotes; //       target
  caller?: Caller; //         authenticate
  seat?: Seat; //          admit
  bodySeat?: Seat; //      body
  stopReading?: (() => void) | undefined; // body
  decision?: Decided; //      authorize
  route!: ResourceRoute; //   route
  accept?: NegotiatedAnswer; // negotiate
  mediaType = ''; //          content type
  body?: RequestBody | undefined; // body
  answer?: Answer;

  /** The reason in the Status of an answer that is an error. */
  failure?: string;
  /** The code with which this request stands in the audit log already, because nothing was to leave before. */
  recordedAs?: number;
  /** That it will stand there with this code, as far as somebody has said so ahead. */
  recording?: { readonly code: number; readonly done: Promise<void> };
  /** The headers of a watch are out. */
  started = false;

  /** Somebody has started to answer: the stages, or the deadline before them. */
  settled = false;
  expired = false;
  deadline?: Timed<Exchange>['deadline'];
  /** When the client asked for less time than everyone has. */
  ownDeadline?: NodeJS.Timeout;
  // Made when somebody needs them: most requests are over before anyone does.
  #warnings?: Warnings;
  #annotations?: Map<string, string>;
  #abort?: AbortController;

  readonly warn = (text: string): void => {
    this.#warnings ??= new Warnings();
    this.#warnings.add(text);
  };

  readonly annotate = (key: string, value: string): void => {
    this.#annotations ??= new Map();
    this.#annotations.set(key, value);
  };

  constructor(req: IncomingMessage, res: ServerResponse, arrival: Arrival, startedAt: number) {
    this.req = req;
    this.res = res;
    this.arrival = arrival;
    this.startedAt = startedAt;
  }

  /** Nobody will look at it any more. The answer may wait for long: behind a watch on the same connection, for one. */
  forgetBody(): void {
    this.stopReading?.();
    this.stopReading = undefined;
    this.body = undefined;
    this.bodySeat?.leave();
  }

  /** Values of `Warning` headers. */
  get warnings(): readonly string[] {
    return this.#warnings?.headers ?? NO_WARNINGS;
  }

  get annotations(): ReadonlyMap<string, string> {
    return this.#annotations ?? NO_ANNOTATIONS;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.res.destroyed || this.expired) this.#abort.abort();
      else this.res.once('close', () => this.#abort?.abort());
    }
    return this.#abort.signal;
  }

  /** The deadline has passed: whoever still works on this may stop. */
  expire(): void {
    this.expired = true;
    this.#abort?.abort();
  }
}

/** The resource a request names; for stages that run only for resources. */
export function targetOf({ names }: Exchange): Target {
  if (names.type !== 'resource') throw new Error('not a resource request');
  return names.target;
}

/**
 * The request as the handlers see it. A class, because an object literal with a getter would give every
 * request a hidden class of its own; so it must not be copied by spreading, which would lose the signal.
 */
export class HandlerRequest implements ApiRequest {
  readonly caller: Caller;
  readonly target: Target;
  readonly query: Query;
  readonly body: RequestBody | undefined;
  readonly warn: (text: string) => void;
  readonly path: string;
  readonly accept: NegotiatedAnswer;
  readonly auditId: string;
  readonly annotate: (key: string, value: string) => void;
  readonly willAnswer: (code: number) => void;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange, caller: Caller, accept: NegotiatedAnswer, willAnswer: (code: number) => void) {
    this.caller = caller;
    this.target = targetOf(exchange);
    this.query = exchange.query;
    this.body = exchange.body;
    this.warn = exchange.warn;
    this.path = exchange.path;
    this.accept = accept;
    this.auditId = exchange.auditId;
    this.annotate = exchange.annotate;
    this.willAnswer = willAnswer;
    this.#exchange = exchange;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  /** Behind a proxy this is the proxy's: `X-Forwarded-For` can be written by anyone, so it counts for nothing. */
  get clientAddress(): string {
    return this.#exchange.req.socket.remoteAddress ?? '';
  }
}
