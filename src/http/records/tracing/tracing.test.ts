import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../observability/logger.ts';
import { CLUSTERS_PATH, startFixture } from '../../http.fixture.ts';
import { readTraceparent } from '../request-record.ts';
import { openTracer } from './tracer.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
// biome-ignore lint/suspicious/noExplicitAny: reads bodies of OTLP
type Body = any;

/** A collector that records what it gets, and answers with this code. */
async function startCollector(code = 200) {
  const received: { path: string | undefined; type: string | undefined; body: Body }[] = [];
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    received.push({
      path: req.url,
      type: req.headers['content-type'],
      body: JSON.parse(Buffer.concat(chunks).toString()),
    });
    res.writeHead(code).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { received, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function trace(options: { code?: number; endpoint?: string } = {}) {
  const collector = await startCollector(options.code);
  const lines: string[] = [];
  const tracer = openTracer({
    endpoint: options.endpoint ?? collector.endpoint,
    version: '1.2.3',
    now: () => 1_700_000_000_123,
    logger: createLogger({ level: 'warn', write: (line) => lines.push(line) }),
  });
  let ended = 0;
  const { send } = await startFixture(undefined, {
    observe: (record) => {
      tracer.ended(record);
      ended++;
    },
  });
  const spans = async (requests: number): Promise<Body[]> => {
    await expect.poll(() => ended).toBe(requests);
    await tracer.close();
    return collector.received.flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans);
  };
  return { ...collector, send, spans, lines };
}

test('a request whose caller records it becomes a span of that trace', async () => {
  const { send, spans, received } = await trace();
  await send({ path: `${CLUSTERS_PATH}?token=canary`, headers: { traceparent: `00-${TRACE}-${SPAN}-01` } });
  const [span] = await spans(1);
  expect(span).toMatchObject({
    traceId: TRACE,
    parentSpanId: SPAN,
    name: 'list clusterregistry.k8s.io/clusters',
    kind: 2,
    endTimeUnixNano: '1700000000123000000',
  });
  expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(BigInt(span.startTimeUnixNano)).toBeLessThan(BigInt(span.endTimeUnixNano));
  expect(span.attributes).toContainEqual({ key: 'http.response.status_code', value: { intValue: '200' } });
  expect(span.attributes).toContainEqual({ key: 'url.path', value: { stringValue: CLUSTERS_PATH } });
  expect(received[0]).toMatchObject({ path: '/v1/traces', type: 'application/json' });
  expect(received[0]?.body.resourceSpans[0].resource.attributes[0]).toEqual({
    key: 'service.name',
    value: { stringValue: 'clusterpass' },
  });
  expect(JSON.stringify(received)).not.toContain('canary');
});

test('a request whose caller does not record it, or has no trace, becomes none', async () => {
  const { send, spans } = await trace();
  await send({ path: CLUSTERS_PATH, headers: { traceparent: `00-${TRACE}-${SPAN}-00` } });
  await send({ path: CLUSTERS_PATH });
  expect(await spans(2)).toEqual([]);
});

test.each([
  ['answers with an error', { code: 500 }],
  ['sends elsewhere', { code: 302 }],
  ['is not there', { endpoint: 'http://127.0.0.1:1' }],
])('a collector that %s costs one line of log, and delays no request', async (_, options) => {
  const { send, spans, lines } = await trace(options);
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
  expect((await send({ path: CLUSTERS_PATH, headers })).code).toBe(200);
  await spans(1);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '').msg).toBe('spans cannot be sent');
});

test('W3C Trace Context: what is not well formed is as if it was not there', () => {
  const valid = { traceId: TRACE, parentId: SPAN, sampled: true };
  expect(readTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual(valid);
  expect(readTraceparent(`00-${TRACE}-${SPAN}-02`)).toEqual({ ...valid, sampled: false });
  // A later version may have more to say.
  expect(readTraceparent(`01-${TRACE}-${SPAN}-03-more`)).toEqual(valid);
  for (const bad of [
    undefined,
    '',
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}\n-${SPAN}-01`,
    [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`],
  ]) {
    expect(readTraceparent(bad), String(bad)).toBeUndefined();
  }
});
