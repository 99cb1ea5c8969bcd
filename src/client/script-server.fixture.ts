import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Timing } from '../lib/backoff.ts';

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly authorization: string | undefined;
  readonly body: string;
}

export type Responder = (response: ServerResponse, request: IncomingMessage) => void;

/** A server that sends the given responses in order and records the requests. */
export async function scriptServer(responders: Responder[]) {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    requests.push({
      method: request.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      authorization: request.headers.authorization,
      body: Buffer.concat(chunks).toString(),
    });
    const responder = responders.shift();
    if (responder === undefined) response.destroy();
    else responder(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const json =
  (code: number, value: unknown, headers: Record<string, string> = {}): Responder =>
  (response) => {
    response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value));
  };

export const status = (code: number, reason: string, message = reason, headers = {}): Responder =>
  json(code, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }, headers);

/** The lines of a watch. With `stays` the response is left open. */
export const stream =
  (events: readonly unknown[], { stays = false } = {}): Responder =>
  (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.flushHeaders();
    response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    if (!stays) response.end();
  };

export const cluster = (name: string, version: number, uid = `uid-${name}`) => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name, uid, resourceVersion: String(version) },
});

export const bookmark = (version: number, ends = false) => ({
  type: 'BOOKMARK',
  object: {
    metadata: {
      resourceVersion: String(version),
      ...(ends ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    },
  },
});

/** A clock that only tests and delays advance. A delay takes no real time. */
export function fakeTiming(start = Date.parse('2026-09-01T12:00:00Z')): Timing & { time: number; delays: number[] } {
  const timing = {
    time: start,
    delays: [] as number[],
    now: () => timing.time,
    random: () => 0.5,
    pause: async (ms: number) => {
      timing.delays.push(ms);
      timing.time += ms;
    },
  };
  return timing;
}
