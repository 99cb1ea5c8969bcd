import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { unauthorized } from '../../api/status.ts';
import { CLUSTERS_PATH, mcpEndpoint, startFixture } from '../http.fixture.ts';
import { formRoutes } from '../oauth/form-routes.ts';

/** What is read at most after the answer, and what Node may have read before it. */
const MAX_READ = 256 * 1024 + 256 * 1024;
const ENDLESS = 'Content-Length: 100000000000';
const CHUNKED = 'Transfer-Encoding: chunked';
const JSON_TYPE = 'Content-Type: application/json';

const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`;
const as = (user: string): string => `Authorization: Bearer ${user}`;

/** The sockets of the server, by a diagnostics channel of Node. */
let accepted: Socket[] = [];
const note = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
beforeEach(() => {
  accepted = [];
  subscribe('net.server.socket', note);
});
afterEach(() => unsubscribe('net.server.socket', note));

function open(port: number): Socket {
  const client = connect(port, '127.0.0.1').setEncoding('latin1');
  client.on('error', () => {});
  onTestFinished(() => void client.destroy());
  return client;
}

/** Sends without end, as fast as the server reads; resolves with what came back when the connection is closed. */
async function flood(port: number, request: string, piece: string): Promise<string> {
  const client = open(port);
  let received = '';
  client.on('data', (text: string) => {
    received += text;
  });
  client.write(request);
  const send = (): void => {
    while (!client.destroyed && client.write(piece));
  };
  client.on('drain', send);
  send();
  await new Promise((resolve) => client.once('close', resolve));
  return received;
}

/** Routes that read their bodies in their own way, or before the caller is known. */
const OTHER_ROUTES = {
  forms: formRoutes(() => {
    throw new Error('no form arrives');
  }),
  mcp: mcpEndpoint(() => Promise.reject(unauthorized())),
};
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded';

describe('A21: an answer before the whole body has arrived', () => {
  const PIECE = 'x'.repeat(65_536);
  const CHUNK = `10000\r\n${PIECE}\r\n`;
  it.each([
    ['401', head(`POST ${CLUSTERS_PATH}`, JSON_TYPE, ENDLESS), PIECE],
    ['403', head(`POST ${CLUSTERS_PATH}`, as('nobody'), JSON_TYPE, ENDLESS), PIECE],
    ['404', head('POST /nowhere', as('admin'), JSON_TYPE, CHUNKED), CHUNK],
    ['405', head('POST /healthz', ENDLESS), PIECE],
    ['413', head(`POST ${CLUSTERS_PATH}`, as('admin'), JSON_TYPE, ENDLESS), PIECE],
    ['413', head(`POST ${CLUSTERS_PATH}`, as('admin'), JSON_TYPE, CHUNKED), CHUNK],
    ['415', head(`POST ${CLUSTERS_PATH}`, as('admin'), 'Content-Type: text/plain', CHUNKED), CHUNK],
    ['200', head('GET /healthz', ENDLESS), PIECE],
    ['200', head('GET /healthz', CHUNKED), CHUNK],
    ['200', head(`GET ${CLUSTERS_PATH}`, as('admin'), ENDLESS), PIECE],
    ['200', head('HEAD /healthz', ENDLESS), PIECE],
    ['400', head('POST /oauth/token', JSON_TYPE, ENDLESS), PIECE],
    ['413', head('POST /oauth/token', FORM_TYPE, CHUNKED), CHUNK],
    ['401', head('POST /mcp', JSON_TYPE, CHUNKED), CHUNK],
  ])('%s closes the connection, and little more is read', async (code, request, piece) => {
    const { port } = await startFixture(undefined, OTHER_ROUTES);
    const received = await flood(port, request, piece);
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
    expect(received).toContain('\r\nConnection: close\r\n');
    const [socket] = accepted;
    expect(socket?.destroyed).toBe(true);
    const isRead = code === '413' && request.includes(CHUNKED) ? 3_145_728 : 0;
    expect(socket?.bytesRead).toBeLessThan(MAX_READ + isRead);
  });

  it('closes the connection also when nothing more comes, after half a second', async () => {
    const { port } = await startFixture();
    const client = open(port);
    // Before the request is sent: on a busy machine its response may be read late.
    const from = performance.now();
    client.write(`${head(`POST ${CLUSTERS_PATH}`, ENDLESS)}{`);
    await once(client, 'data');
    await once(client, 'close');
    expect(performance.now() - from).toBeGreaterThan(300);
  });

  it('is not lost when the client sends everything before it reads', async () => {
    const { port } = await startFixture();
    const client = open(port).pause();
    let error: unknown;
    client.on('error', (reason) => {
      error = reason;
    });
    client.write(head(`POST ${CLUSTERS_PATH}`, 'Content-Length: 250000'));
    for (let sent = 0; sent < 250_000; sent += 50_000) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      client.write('x'.repeat(50_000));
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    let received = '';
    for await (const text of client) received += text;
    expect(received).toMatch(/^HTTP\/1\.1 401 [\s\S]*\}\n$/);
    expect(error).toBeUndefined();
  });
});

it('A21: the connection stays open when the whole body came with the request', async () => {
  const { port } = await startFixture();
  const client = open(port);
  for (const request of [
    head(`POST ${CLUSTERS_PATH}`, 'Content-Length: 2'),
    head('GET /healthz', 'Content-Length: 2'),
    head(`POST ${CLUSTERS_PATH}`, as('admin'), 'Content-Type: text/plain', 'Content-Length: 2'),
    head(`POST ${CLUSTERS_PATH}`, as('admin'), JSON_TYPE, 'Content-Length: 2'),
  ]) {
    client.write(`${request}{}`);
    const [answer] = (await once(client, 'data')) as [string];
    expect(answer).toContain('\r\nConnection: keep-alive\r\n');
  }
});
