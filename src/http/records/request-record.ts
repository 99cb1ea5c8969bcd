import { clusterAskedAbout } from '../../api/authorization.ts';
import type { User } from '../../api/caller.ts';
import { DRY_RUN_ANNOTATION, type Target } from '../../api/request.ts';
import { clip, looksLikeToken, MIN_TOKEN_LENGTH, REDACTED, unescaped, withoutTokenWords } from '../../lib/text.ts';
import type { ListedPass } from '../../observability/audit/listed-passes.ts';
import type { Logger } from '../../observability/logger.ts';
import type { AuditedDecision, Exchange } from '../exchange.ts';

export const recordOf = (
  x: Exchange,
  milliseconds: number,
  code = x.res.headersSent ? x.res.statusCode : 0,
): RequestRecord => new ExchangeRecord(x, milliseconds, code);

/** The prefix of an IPv4 address that is written as IPv6. */
const MAPPED = '::ffff:';

export type RequestRecord = Pick<ExchangeRecord, keyof ExchangeRecord>;

/**
 * What logs, metrics, audit events and spans know of a request. Never its query, its headers or its body: they may hold
 * secrets. Getters compute what only some readers ask for.
 */
class ExchangeRecord {
  readonly milliseconds: number;
  /** 0 when the client left before there was an answer. */
  readonly code: number;
  readonly method: string;
  readonly target: Target | undefined;
  /** As in the API (`create`, `watch`, ...), or the lower-case method for other paths. */
  readonly verb: string;
  readonly decision: AuditedDecision | undefined;
  /** The reason in the Status of an error. */
  readonly failure: string | undefined;
  /** The code of the audit event that was committed before the answer; undefined when there was none. */
  readonly auditedCode: number | undefined;
  /** A watch whose headers were sent. */
  readonly started: boolean;
  /** As the cluster that the request is about knows the caller who authenticated. */
  readonly userInfo: User | undefined;
  /** The user that the caller acted as. */
  readonly impersonatedUser: User | undefined;
  readonly #exchange: Exchange;
  readonly #credential: string | undefined;

  constructor(x: Exchange, milliseconds: number, code: number) {
    // The request may have failed before the stage that sets it.
    const { requestInfo: info } = x;
    const resource = info?.type === 'resource' ? info : undefined;
    this.#exchange = x;
    this.#credential = x.credential?.reveal() ?? credentialOf(x.req.headers.authorization);
    this.milliseconds = milliseconds;
    this.code = code;
    this.method = x.req.method ?? '';
    this.target = withName(resource?.target, x.objectName);
    this.verb = resource?.target.verb ?? this.method.toLowerCase();
    this.decision = x.decision;
    this.failure = x.failure;
    this.auditedCode = x.auditedCode;
    this.started = x.started;
    const cluster = resource?.question.cluster;
    const impersonator = x.knownCaller?.impersonator;
    this.userInfo = (impersonator ?? x.knownCaller)?.as(cluster);
    this.impersonatedUser = impersonator && x.knownCaller?.as(info?.type === 'path' ? info.cluster : cluster);
  }

  get auditId(): string {
    const { auditId, req } = this.#exchange;
    return req.headers['audit-id'] === undefined ? auditId : this.redact(auditId);
  }

  get path(): string {
    const { path, req } = this.#exchange;
    return this.redact(path === '' ? (req.url ?? '').split('?', 1).join('') : path);
  }

  get cluster(): string | undefined {
    const { requestInfo: info } = this.#exchange;
    // The question about the creation of a cluster names none.
    const named = this.target && clusterAskedAbout(this.target, this.target.cluster);
    const cluster = info?.type === 'resource' ? (info.question.cluster ?? named) : info?.cluster;
    return cluster === undefined ? undefined : this.redact(cluster);
  }

  /** The resource named by the path is served. */
  get isRouted(): boolean {
    return this.#exchange.resourceRoute !== undefined;
  }

  /** `group/resource/subresource`, once a route was found: from a fixed set, so it can be a label. */
  get resource(): string | undefined {
    return this.target === undefined || !this.isRouted ? undefined : resourceName(this.target);
  }

  /** Name of the user; `""` when the request was not authenticated. */
  get user(): string {
    return this.userInfo?.name ?? '';
  }

  /** The trace of its caller. */
  get trace(): TraceContext | undefined {
    return readTraceparent(this.#exchange.req.headers.traceparent);
  }

  get dryRun(): boolean {
    const { query, annotations } = this.#exchange;
    return query.get('dryRun') === 'All' || annotations.has(DRY_RUN_ANNOTATION);
  }

  get clientAddress(): string {
    const address = this.#exchange.req.socket.remoteAddress ?? '';
    return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address;
  }

  /** Program and version, when the client sends them in the usual form. */
  get userAgent(): string {
    return productOf(this.#exchange.req.headers['user-agent']);
  }

  /** Why the credential was refused: the answer says only that it was. */
  get refusal(): string | undefined {
    const { refusedBecause: cause } = this.#exchange;
    return cause === undefined ? undefined : refusalOf(cause);
  }

  get annotations(): ReadonlyMap<string, string> {
    return this.#exchange.annotations;
  }

  /** Of a list of passes. */
  get items(): readonly ListedPass[] | undefined {
    return this.#exchange.items;
  }

  /** Removes tokens from a text of the request. */
  redact(text: string): string {
    return withoutTokens(text, this.#credential);
  }
}

const withName = (target: Target | undefined, name: string): Target | undefined =>
  target === undefined || name === '' ? target : { ...target, name };

function resourceName({ group, resource, subresource }: Target): string {
  const name = group === '' ? resource : `${group}/${resource}`;
  return subresource === '' ? name : `${name}/${subresource}`;
}

/**
 * One line per request that was rejected (`info`) or failed (`warn`). Requests that succeeded are in the audit log;
 * here they are `debug`. So is a 429: under overload it would fill the log with what the metrics count.
 */
export function logRequests(logger: Logger): (record: RequestRecord) => void {
  return (record) => {
    const level = record.code >= 500 ? 'warn' : record.code >= 400 && record.code !== 429 ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const { cluster, annotations, trace, milliseconds, impersonatedUser, refusal } = record;
    const fields = {
      auditId: record.auditId,
      ...(trace === undefined ? {} : { traceId: trace.traceId }),
      verb: record.verb,
      path: record.path,
      ...(cluster === undefined ? {} : { cluster }),
      code: record.code,
      ms: Math.round(milliseconds * 10) / 10,
      user: record.user,
      ...(refusal === undefined ? {} : { reason: refusal, address: record.clientAddress }),
      ...(impersonatedUser === undefined ? {} : { impersonatedUser: impersonatedUser.name }),
      ...(annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    };
    logger[level](fields, 'request');
  };
}

const MAX_REFUSAL = 256;
/** Quoted texts are parts of the token, e.g. its audiences: anyone can send them, and they may be anything. */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

export function refusalOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return clip(withoutTokenWords(text.slice(0, 4 * MAX_REFUSAL).replaceAll(QUOTED, '"..."')), MAX_REFUSAL);
}

/**
 * Removes tokens from a path or a name. People do send a token as a name, as in `kubectl delete issuedtoken TOKEN`, and
 * it must not be recorded. A segment is redacted when it looks like a token, or when it holds the credential of the
 * request itself.
 */
export function withoutTokens(text: string, credential: string | undefined): string {
  // Nearly every text is cheap to clear: it has no capitals, no escapes, and not the credential.
  if (!/[A-Z%]/.test(text) && (credential === undefined || !text.includes(credential))) return text;
  if (text.length < MIN_TOKEN_LENGTH && (credential === undefined || text.length < credential.length)) return text;
  return text
    .split('/')
    .map((part) => (isSecret(part, credential) || isSecret(unescaped(part) ?? '', credential) ? REDACTED : part))
    .join('/');
}

const isSecret = (part: string, credential: string | undefined): boolean =>
  (credential !== undefined && part.includes(credential)) || looksLikeToken(part);

/** The credential of a request; undefined when it is too short to be distinguished from a name. */
export function credentialOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const text = authorization.slice(authorization.indexOf(' ') + 1).trim();
  return text.length < 8 ? undefined : text;
}

const PRODUCT = /^[A-Za-z][A-Za-z.-]{0,31}\/v?\d{1,5}(?:\.\d{1,6}){0,3}(?:[-+][0-9A-Za-z.]{1,16})?(?= |$)/;

/** Program and version, as in `kubectl/v1.36.4`. The rest is free text, into which a user may have pasted anything. */
export const productOf = (userAgent: string | undefined): string => PRODUCT.exec(userAgent ?? '')?.[0] ?? '';

/** The trace of a request's caller (W3C Trace Context, `traceparent`). */
interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the caller. */
  readonly parentId: string;
  /** The caller records this trace. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const ZEROS = /^0+$/;

/** Undefined when it is malformed: the specification says to ignore it then. */
export function readTraceparent(header: string | string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(header) ?? [];
  // Section 3.2.2: `ff` is no version, later versions may have more fields, and an id must not be all zeros.
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
