import type { Target } from '../api/exchange.ts';
import type { Logger } from '../observability/logger.ts';
import type { Exchange } from './exchange.ts';

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
  /** 0 when the client left before there was an answer. */
  readonly code: number;
  readonly milliseconds: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export function recordOf(x: Exchange, milliseconds: number): RequestRecord {
  // The request may have failed before these were known.
  const names: Exchange['names'] | undefined = x.names;
  const route: Exchange['route'] | undefined = x.route;
  const resource = names?.type === 'resource' ? names : undefined;
  const method = x.req.method ?? '';
  return {
    auditId: x.auditId,
    method,
    verb: resource?.target.verb ?? method.toLowerCase(),
    path: withoutTokens(x.path === '' ? (x.req.url ?? '').split('?', 1).join('') : x.path),
    cluster: resource?.question.cluster ?? (names?.type === 'path' ? names.cluster : undefined),
    resource: resource === undefined || route === undefined ? undefined : resourceName(resource.target),
    user: x.caller?.as(resource?.question.cluster).name ?? '',
    code: x.res.headersSent ? x.res.statusCode : 0,
    milliseconds,
    annotations: x.annotations,
  };
}

/** How every JWT begins, and shorter than any. */
const TOKEN_START = 'eyJ';
const MIN_TOKEN_LENGTH = 32;

/** Somebody will take a token for its id, as in `kubectl delete issuedtoken TOKEN`; then it must not be kept here. */
function withoutTokens(path: string): string {
  if (!path.includes(TOKEN_START)) return path;
  const isToken = (segment: string): boolean => segment.length >= MIN_TOKEN_LENGTH && segment.includes(TOKEN_START);
  return path
    .split('/')
    .map((segment) => (isToken(segment) ? '<redacted>' : segment))
    .join('/');
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
