import { Agent, request } from 'undici';
import { every } from '../../../lib/rounds.ts';
import type { Logger } from '../../../observability/logger.ts';

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
