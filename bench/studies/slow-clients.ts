/**
 * A21: 2,000 clients send one byte a second, half of them in the head and half in the body of a request, while another
 * client requests tokens. When does the server close the slow connections, and how long does the other client wait?
 *
 *   npm run bench -- slow-clients [clients]
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { DEMO_TOKEN_PATH, demoTokenHead } from '../support/demo-tokens.ts';
import { median } from '../support/numbers.ts';

const clients = Number(process.argv[2] ?? 2_000);
const HEAD = 'GET /livez HTTP/1.1\r\nX-Slow: ';
/** The server closes every slow connection by then: a header may take 10 s, checked every second, and a body 5 s. */
const LAST_S = 20;

const groups = ['system:masters'];
const server = await startServer({ users: { slow: groups, other: groups }, args: ['--demo', '--log-level', 'warn'] });
const port = Number(new URL(server.url).port);
const BODY = demoTokenHead('slow', 1_000);

const start = performance.now();
const seconds = (): number => (performance.now() - start) / 1000;
const closedAt: Record<'head' | 'body', number[]> = { head: [], body: [] };
const open = new Set<Socket>();
/** Start of the response, or the error, of each slow client. */
const endings: Record<string, number> = {};
const count = (text: string): void => {
  endings[text] = (endings[text] ?? 0) + 1;
};
let connected = 0;
for (let index = 0; index < clients; index += 1) {
  const part = index % 2 === 0 ? 'head' : 'body';
  const socket = connect(port, '127.0.0.1', () => {
    connected += 1;
    socket.write(part === 'head' ? HEAD : BODY);
  });
  open.add(socket);
  socket.once('data', (bytes: Buffer) => count(bytes.toString('latin1', 0, 12)));
  socket.on('error', ({ message }) => count(message));
  socket.once('close', () => {
    open.delete(socket);
    closedAt[part].push(seconds());
  });
}
const sendByte = setInterval(() => {
  for (const socket of open) if (socket.writable) socket.write('a');
}, 1_000);

// All clients are in this process. It measures after it has connected them.
while (connected + closedAt.head.length + closedAt.body.length < clients) await sleep(50);
const times: number[] = [];
let failed = 0;
while (seconds() < LAST_S && (open.size > 0 || times.length === 0)) {
  const sentAt = performance.now();
  const sent = { token: tokenOf('other'), body: { spec: { audiences: ['x'] } } };
  const { code } = await server.call('POST', DEMO_TOKEN_PATH, sent);
  times.push(performance.now() - sentAt);
  if (code !== 201) failed += 1;
  await sleep(100);
}
clearInterval(sendByte);
// A server that has exited closes all connections as well. The figures count only when it still serves.
const health = await server.call('GET', '/livez', { token: null }).catch((error: Error) => error);
if (health instanceof Error || health.code !== 200) {
  console.error(`the server does not respond after ${seconds().toFixed(1)} s, so the figures are invalid`);
  console.error(server.output.stderr);
  process.exit(1);
}
const last = (part: 'head' | 'body'): string => Math.max(...closedAt[part]).toFixed(1);
const [mid, longest] = [median(times), Math.max(...times)].map((ms) => `${ms.toFixed(0)} ms`);
console.log(`A21, ${clients} slow clients`);
console.log(`other      ${times.length} requests, ${failed} failed, median ${mid}, longest ${longest}`);
console.log(`closed     ${closedAt.head.length} in the head, the last after ${last('head')} s`);
console.log(
  `           ${closedAt.body.length} in the body, the last after ${last('body')} s; ${open.size} still open`,
);
console.log(`responses  ${JSON.stringify(endings)}`);
await server.destroy();
process.exit();
