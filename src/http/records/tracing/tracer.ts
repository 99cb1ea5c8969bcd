import { randomBytes } from 'node:crypto';
import type { RequestRecord } from '../request-record.ts';
import { attributes, type OtlpSpan, SpanExporter, type SpanExporterOptions } from './span-exporter.ts';

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
