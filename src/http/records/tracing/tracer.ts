import { randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { every } from '../../../lib/rounds.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { RequestRecord } from '../request-record.ts';

interface TracerOptions extends SpanExporterOptions {
  /** How many of a million requests without a trace of their caller are recorded. */
  readonly perMillion: number;
  readonly now: () => number;
  readonly random: () => number;
}

export interface Tracer {
  ended(record: RequestRecord): void;
  close(): Promise<void>;
}

const SERVER = 2;
const ERROR = 2;
const MILLION = 1_000_000;

/** One span for each request whose caller samples its trace, and for some requests without a trace. */
export function openTracer(options: TracerOptions): Tracer {
  const exporter = new SpanExporter(options);
  return {
    ended(record) {
      // The caller's decision counts: a span without the rest of its trace explains nothing.
      const sampled = record.trace?.sampled ?? options.random() * MILLION < options.perMillion;
      if (sampled) exporter.add(spanOf(record, options.now()));
    },
    close: () => exporter.close(),
  };
}

/** A span says no more about the caller than the audit log. */
function spanOf(record: RequestRecord, end: number): OtlpSpan {
  const { trace, verb, resource, code } = record;
  return {
    traceId: trace?.traceId ?? randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
    ...(trace === undefined ? {} : { parentSpanId: trace.parentId }),
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

export interface SpanExporterOptions {
  /** URL of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly version: string;
  readonly logger: Logger;
}

/** A span as OTLP writes it in JSON. */
export type OtlpSpan = Readonly<Record<string, unknown>>;

const FLUSH_MS = 5_000;
const TIMEOUT_MS = 10_000;
const MAX_BATCH = 512;
/** More are dropped, so that a slow collector costs no memory. */
const MAX_WAITING = 2_048;

/**
 * Sends spans to a collector by OTLP over HTTP, in JSON: that is one POST, so the packages of OpenTelemetry are not
 * needed. Spans that cannot be sent are dropped.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #agent = new Agent({ connections: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  readonly #stop: () => void;
  #waiting: OtlpSpan[] = [];
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #failing = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#stop = every(FLUSH_MS, () => void this.flush());
  }

  add(span: OtlpSpan): void {
    if (this.#waiting.length >= MAX_WAITING) this.#dropped++;
    else this.#waiting.push(span);
    if (this.#waiting.length >= MAX_BATCH) void this.flush();
  }

  /** Sends what waits, one batch at a time. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.flush();
    await this.#agent.destroy();
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const spans = this.#waiting.splice(0, MAX_BATCH);
      try {
        await this.#send(spans);
        this.#failing = false;
      } catch (error) {
        this.#dropped += spans.length + this.#waiting.length;
        this.#waiting = [];
        // Once per outage: there is a batch every few seconds.
        if (!this.#failing) this.#options.logger.warn({ err: error, dropped: this.#dropped }, 'spans cannot be sent');
        this.#failing = true;
      }
    }
  }

  async #send(spans: readonly OtlpSpan[]): Promise<void> {
    const { endpoint, version } = this.#options;
    const resource = { attributes: attributes({ 'service.name': 'clusterpass', 'service.version': version }) };
    const { statusCode, body } = await request(`${endpoint}/v1/traces`, {
      method: 'POST',
      dispatcher: this.#agent,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'content-type': 'application/json', 'user-agent': `clusterpass/${version}` },
      body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'clusterpass' }, spans }] }] }),
    });
    await body.dump();
    if (statusCode >= 300) throw new Error(`the collector answered with ${statusCode}`);
  }
}

/** OTLP's key-value pairs. */
export const attributes = (values: Readonly<Record<string, string | number | undefined>>): object[] =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
    }));
