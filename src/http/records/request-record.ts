import type { User } from '../../api/caller.ts';
import type { Target } from '../../api/request.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Decided, Exchange } from '../exchange.ts';
import type { LineNotes } from '../request/line-notes.ts';
import { credentialOf, mayHold, productOf, withoutTokens } from './redact.ts';
import { readTraceparent, type TraceContext } from './tracing/trace-context.ts';

/** What is remembered of a request. Never its query, its headers or its body: those may hold secrets. */
export interface RequestRecord {
  readonly auditId: string;
  readonly method: string;
  /** Of the API (`create`, `watch`, ...), or the lower-case method for other paths. */
  readonly verb: string;
  readonly path: string;
  readonly cluster: string | undefined;
  /** `group/resource/subresource` as far as there is one; bounded, so it can label metrics once routed. */
  readonly resource: string | undefined;
  /** What serves it was found. */
  readonly isRouted: boolean;
  readonly user: string;
  /** As the cluster that the request is about knows the caller; undefined when nobody was let in. */
  readonly who: User | undefined;
  readonly target: Target | undefined;
  readonly decision: Decided | undefined;
  /** The reason in the Status of an error. */
  readonly failure: string | undefined;
  readonly recordedAs: number | undefined;
  /** A watch that stood. */
  readonly started: boolean;
  readonly dryRun: boolean;
  /** Where the request belongs in the trace of its caller. */
  readonly trace: TraceContext | undefined;
  readonly clientAddress: string;
  /** Program and version, when the client says so in the usual form. */
  readonly userAgent: string;
  /** What is known of its line; undefined when what may be said of the line depends on who sent it. */
  readonly notes: LineNotes | undefined;
  /** Cleans what else of the request is to be kept. */
  withoutTokens(text: string): string;
  /** 0 when the client left before there was an answer. */
  readonly code: number;
  readonly milliseconds: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export const recordOf = (
  x: Exchange,
  milliseconds: number,
  code = x.res.headersSent ? x.res.statusCode : 0,
): RequestRecord => new ExchangeRecord(x, milliseconds, code);

/** How IPv6 writes an address of IPv4. */
const MAPPED = '::ffff:';

/** What takes work to say is said when asked: of most requests some of it is, of few all. */
class ExchangeRecord implements RequestRecord {
  readonly milliseconds: number;
  readonly code: number;
  readonly method: string;
  readonly target: Target | undefined;
  readonly verb: string;
  readonly decision: Decided | undefined;
  readonly failure: string | undefined;
  readonly recordedAs: number | undefined;
  readonly started: boolean;
  readonly who: User | undefined;
  readonly #exchange: Exchange;

  constructor(x: Exchange, milliseconds: number, code: number) {
    // The request may have failed before these were known.
    const names: Exchange['names'] | undefined = x.names;
    const resource = names?.type === 'resource' ? names : undefined;
    this.#exchange = x;
    this.milliseconds = milliseconds;
    this.code = code;
    this.method = x.req.method ?? '';
    this.target = resource?.target;
    this.verb = resource?.target.verb ?? this.method.toLowerCase();
    this.decision = x.decision;
    this.failure = x.failure;
    this.recordedAs = x.recordedAs;
    this.started = x.started;
    this.who = x.caller?.as(resource?.question.cluster);
  }

  get #credential(): string | undefined {
    return credentialOf(this.#exchange.req.headers.authorization);
  }

  get auditId(): string {
    const { auditId, req } = this.#exchange;
    return req.headers['audit-id'] === undefined ? auditId : this.withoutTokens(auditId);
  }

  get path(): string {
    const { path, req } = this.#exchange;
    return this.withoutTokens(path === '' ? (req.url ?? '').split('?', 1).join('') : path);
  }

  get cluster(): string | undefined {
    const cluster = this.#cluster;
    return cluster === undefined ? undefined : this.withoutTokens(cluster);
  }

  get #cluster(): string | undefined {
    const names: Exchange['names'] | undefined = this.#exchange.names;
    return names?.type === 'resource' ? names.question.cluster : names?.cluster;
  }

  get isRouted(): boolean {
    const route: Exchange['route'] | undefined = this.#exchange.route;
    return this.target !== undefined && route !== undefined;
  }

  get resource(): string | undefined {
    return this.target === undefined || !this.isRouted ? undefined : resourceName(this.target);
  }

  get user(): string {
    return this.who?.name ?? '';
  }

  get trace(): TraceContext | undefined {
    return readTraceparent(this.#exchange.req.headers.traceparent);
  }

  get dryRun(): boolean {
    return this.#exchange.query.get('dryRun') === 'All';
  }

  get clientAddress(): string {
    const address = this.#exchange.req.socket.remoteAddress ?? '';
    return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  }

  get notes(): LineNotes | undefined {
    const { notes, path }: { notes?: LineNotes; path: string } = this.#exchange;
    const credential = this.#credential;
    // What names a cluster may also be in the query.
    return mayHold(path, credential) || mayHold(this.#cluster ?? '', credential) ? undefined : notes;
  }

  get userAgent(): string {
    return productOf(this.#exchange.req.headers['user-agent']);
  }

  get annotations(): ReadonlyMap<string, string> {
    return this.#exchange.annotations;
  }

  withoutTokens(text: string): string {
    return withoutTokens(text, this.#credential);
  }
}

function resourceName({ group, resource, subresource }: Target): string {
  const name = group === '' ? resource : `${group}/${resource}`;
  return subresource === '' ? name : `${name}/${subresource}`;
}

/**
 * One line per request that was refused (`info`) or failed (`warn`). What went well is in the audit log; here it is `debug`,
 * and so are refusals of an overload, which would fill the log with what metrics count.
 */
export function logRequests(logger: Logger): (record: RequestRecord) => void {
  return (record) => {
    const level = record.code >= 500 ? 'warn' : record.code >= 400 && record.code !== 429 ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const { cluster, annotations, trace, milliseconds } = record;
    const fields = {
      auditId: record.auditId,
      ...(trace === undefined ? {} : { traceId: trace.traceId }),
      verb: record.verb,
      path: record.path,
      ...(cluster === undefined ? {} : { cluster }),
      code: record.code,
      ms: Math.round(milliseconds * 10) / 10,
      user: record.user,
      ...(annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    };
    logger[level](fields, 'request');
  };
}
