import { randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { every } from '../../../lib/rounds.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { RequestRecord } from '../request-record.ts';

interface TracerOptions {
  /** URL of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly version: string;
  readonly now: () => number;
  readonly logger: Logger;
}

export interface Tracer {
  ended(record: RequestRecord): void;
  close(): Promise<void>;
}

const SERVER = 2;
const ERROR = 2;
const FLUSH_MS = 5_000;
const TIMEOUT_MS = 10_000;
/** More are dropped, so that a slow collector costs no memory. */
const MAX_WAITING = 2_048;

/**
 * One span for each request whose caller samples its trace, sent to a collector by OTLP over HTTP, in JSON: that is one
 * POST, so the packages of OpenTelemetry are not needed. Spans that cannot be sent are dropped.
 */
export function openTracer({ endpoint, version, now, logger }: TracerOptions): Tracer {
  const agent = new Agent({ connections: 1 });
  const resource = { attributes: attributes({ 'service.name': 'clusterpass', 'service.version': version }) };
  let waiting: object[] = [];
  let isFailing = false;

  const send = async (spans: readonly object[]): Promise<void> => {
    const { statusCode, body } = await request(`${endpoint}/v1/traces`, {
      method: 'POST',
      dispatcher: agent,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'content-type': 'application/json', 'user-agent': `clusterpass/${version}` },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'clusterpass' }, spans }] }] }),
    });
    await body.dump();
    if (statusCode >= 300) throw new Error(`the collector answered with ${statusCode}`);
  };

  const flush = async (): Promise<void> => {
    const spans = waiting;
    waiting = [];
    if (spans.length === 0) return;
    try {
      await send(spans);
      isFailing = false;
    } catch (error) {
      // Once per outage: there is a batch every few seconds.
      if (!isFailing) logger.warn({ err: error, dropped: spans.length }, 'spans cannot be sent');
      isFailing = true;
    }
  };

  const stop = every(FLUSH_MS, () => void flush());
  return {
    ended(record) {
      if (record.trace?.sampled === true && waiting.length < MAX_WAITING) waiting.push(spanOf(record, now()));
    },
    async close() {
      stop();
      await flush();
      await agent.destroy();
    },
  };
}

/** A span says no more about the caller than the audit log. */
function spanOf(record: RequestRecord, end: number): object {
  const { trace, verb, resource, code } = record;
  return {
    traceId: trace?.traceId,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: trace?.parentId,
    name: resource === undefined ? verb : `${verb} ${resource}`,
    kind: SERVER,
    startTimeUnixNano: nanos(end - record.milliseconds),
    endTimeUnixNano: nanos(end),
    attributes: attributes({
      'http.request.method': record.method,
      'url.path': record.path,
      'http.response.status_code': code === 0 ? undefined : code,
      'user_agent.original': record.userAgent,
      'clusterpass.audit_id': record.auditId,
      'clusterpass.cluster': record.cluster,
    }),
    // A 4xx is the caller's error, not ours.
    ...(code >= 500 ? { status: { code: ERROR } } : {}),
  };
}

const nanos = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`;

/** OTLP's key-value pairs. */
const attributes = (values: Readonly<Record<string, string | number | undefined>>): object[] =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
    }));
