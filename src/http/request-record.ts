import type { User } from '../api/caller.ts';
import type { Target } from '../api/exchange.ts';
import type { Logger } from '../observability/logger.ts';
import type { Decided, Exchange } from './exchange.ts';
import { credentialOf, productOf, withoutTokens } from './redact.ts';
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
  /** Cleans what else of the request is to be kept. */
  readonly withoutTokens: (text: string) => string;
  /** 0 when the client left before there was an answer. */
  readonly code: number;
  readonly milliseconds: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export function recordOf(
  x: Exchange,
  milliseconds: number,
  code = x.res.headersSent ? x.res.statusCode : 0,
): RequestRecord {
  // The request may have failed before these were known.
  const names: Exchange['names'] | undefined = x.names;
  const route: Exchange['route'] | undefined = x.route;
  const resource = names?.type === 'resource' ? names : undefined;
  const method = x.req.method ?? '';
  const { authorization } = x.req.headers;
  const clean = (text: string): string => withoutTokens(text, credentialOf(authorization));
  const cluster = resource?.question.cluster ?? (names?.type === 'path' ? names.cluster : undefined);
  const who = x.caller?.as(resource?.question.cluster);
  return {
    auditId: clean(x.auditId),
    method,
    verb: resource?.target.verb ?? method.toLowerCase(),
    path: clean(x.path === '' ? (x.req.url ?? '').split('?', 1).join('') : x.path),
    cluster: cluster === undefined ? undefined : clean(cluster),
    resource: resource === undefined || route === undefined ? undefined : resourceName(resource.target),
    user: who?.name ?? '',
    who,
    target: resource?.target,
    decision: x.decision,
    failure: x.failure,
    recordedAs: x.recordedAs,
    started: x.started,
    trace: readTraceparent(x.req.headers.traceparent),
    dryRun: x.query.get('dryRun') === 'All',
    clientAddress: (x.req.socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
    userAgent: productOf(x.req.headers['user-agent']),
    withoutTokens: clean,
    code,
    milliseconds,
    annotations: x.annotations,
  };
}

function resourceName({ group, resource, subresource }: Target): string {
  const name = group === '' ? resource : `${group}/${resource}`;
  return subresource === '' ? name : `${name}/${subresource}`;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** One line per request: what changes something, or fails, at `info` and above; the many reads at `debug`. */
export function logRequests(logger: Logger): (record: RequestRecord) => void {
  return (record) => {
    const level = record.code >= 500 ? 'warn' : READS.has(record.verb) && record.code < 400 ? 'debug' : 'info';
    if (!logger.isLevelEnabled(level)) return;
    const { cluster, annotations, milliseconds } = record;
    const fields = {
      auditId: record.auditId,
      ...(record.trace === undefined ? {} : { traceId: record.trace.traceId }),
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
