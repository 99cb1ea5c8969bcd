import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import type { Pair } from './certificates.fixture.ts';

/** An API server on loopback that records its requests. The test decides its answers. */
export interface FakeApiServer {
  readonly port: number;
  readonly requests: SeenRequest[];
  /** Accepted connections, with or without a TLS handshake. */
  connections: number;
  /** Open connections. */
  readonly open: number;
  /** Bytes received through TLS. */
  receivedBytes: number;
  /** Answers the next requests. */
  answer: (request: SeenRequest, socket: Socket) => FakeAnswer | undefined | Promise<FakeAnswer>;
  close(): Promise<void>;
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly clientName: string | undefined;
}

/** Undefined when the test has written to the socket itself. */
export interface FakeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export async function startApiServer(
  { cert, key }: Pair,
  answer: FakeApiServer['answer'],
  options: Pick<TlsOptions, 'ca' | 'requestCert'> & { port?: number } = {},
): Promise<FakeApiServer> {
  const { port, ...tls } = options;
  const server: Server = createServer({ cert, key, rejectUnauthorized: false, ...tls });
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    fake.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      fake.receivedBytes += chunk.length;
    });
  });
  server.on('request', async (request, response) => {
    const socket = request.socket as TLSSocket;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks).toString(),
      clientName: socket.getPeerCertificate().subject?.CN as string | undefined,
    };
    fake.requests.push(seen);
    const given = await fake.answer(seen, socket);
    if (given === undefined) return;
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(given.body ?? '{}');
  });
  if (port === undefined) await listenOnOwnPort(server);
  else await listen(server, port);
  const fake: FakeApiServer = {
    port: (server.address() as AddressInfo).port,
    requests: [],
    connections: 0,
    get open() {
      return sockets.size;
    },
    receivedBytes: 0,
    answer,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}

/** Below the ephemeral ports of Linux, at an offset that differs between the processes of a test run. */
const FIRST_PORT = 10_000 + ((process.pid * 64) % 20_000);
let started = 0;

/**
 * Clients of other tests reconnect to an ephemeral port whose server has closed. Outside of that range no such client
 * is counted as a connection.
 */
async function listenOnOwnPort(server: Server): Promise<void> {
  for (;;) {
    try {
      return await listen(server, FIRST_PORT + started++);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}
