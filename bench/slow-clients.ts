/**
 * A21: two thousand clients that send a byte a second, half of them in the header, half in the body of a token request,
 * while somebody else asks for tokens.
 *
 *   npm run bench -- slow-clients [clients]
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';

const clients = Number(process.argv[2] ?? 2_000);
const PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const HEADER = 'GET /livez HTTP/1.1\r\nX-Slow: ';
/** Everything is over by then: 30 s for a request, looked at every second. */
const LAST_S = 45;

const groups = ['system:masters'];
const server = await startServer({ users: { slow: groups, other: groups }, args: ['--demo', '--log-level', 'warn'] });
const port = Number(new URL(server.url).port);
const BODY = [
  `POST ${PATH} HTTP/1.1`,
  'Host: bench',
  `Authorization: Bearer ${tokenOf('slow')}`,
  'Content-Type: application/json',
  'Content-Length: 1000',
  '\r\n',
].join('\r\n');

const start = performance.now();
const seconds = (): number => (performance.now() - start) / 1000;
const closedAt: Record<'header' | 'body', number[]> = { header: [], body: [] };
const open = new Set<Socket>();
/** What they were told, if anything. */
const told: Record<string, number> = {};
const count = (text: string): void => {
  told[text] = (told[text] ?? 0) + 1;
};
let connected = 0;
for (let index = 0; index < clients; index += 1) {
  const part = index % 2 === 0 ? 'header' : 'body';
  const socket = connect(port, '127.0.0.1', () => {
    connected += 1;
    socket.write(part === 'header' ? HEADER : BODY);
  });
  open.add(socket);
  socket.once('data', (bytes: Buffer) => count(bytes.toString('latin1', 0, 12)));
  socket.on('error', ({ message }) => count(message));
  socket.once('close', () => {
    open.delete(socket);
    closedAt[part].push(seconds());
  });
}
const drip = setInterval(() => {
  for (const socket of open) if (socket.writable) socket.write('a');
}, 1_000);

// Both are this process: its own work of connecting is not what is measured.
while (connected + closedAt.header.length + closedAt.body.length < clients) await delay(50);
const times: number[] = [];
let failed = 0;
while (seconds() < LAST_S && (open.size > 0 || times.length === 0)) {
  const asked = performance.now();
  const { code } = await server.call('POST', PATH, { token: tokenOf('other'), body: { spec: { audiences: ['x'] } } });
  times.push(performance.now() - asked);
  if (code !== 201) failed += 1;
  await delay(100);
}
clearInterval(drip);
// A server that is gone closes all of them at once, and that must not pass for an answer.
const health = await server.call('GET', '/livez', { token: null }).catch((error: Error) => error);
if (health instanceof Error || health.code !== 200) {
  console.error(`the server does not answer any more after ${seconds().toFixed(1)} s: these figures say nothing.`);
  console.error(server.output.stderr);
  process.exit(1);
}
times.sort((a, b) => a - b);
const median = times[Math.floor(times.length / 2)] ?? Number.NaN;
const last = (part: 'header' | 'body'): string => Math.max(...closedAt[part]).toFixed(1);
console.log(`A21, ${clients} slow clients`);
console.log(
  `others     ${times.length} requests, ${failed} failed, median ${median.toFixed(0)} ms, longest ${times.at(-1)?.toFixed(0)} ms`,
);
console.log(`closed     ${closedAt.header.length} in the header, the last after ${last('header')} s`);
console.log(
  `           ${closedAt.body.length} in the body, the last after ${last('body')} s; ${open.size} still open`,
);
console.log(`answers    ${JSON.stringify(told)}`);
await server.destroy();
process.exit();
