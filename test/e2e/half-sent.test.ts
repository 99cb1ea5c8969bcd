import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { ASK, createAccount, createObjects, issue, post, tokenPath } from './support/objects.ts';
import type { Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

const ACCOUNTS = 5;
/** More than a caller's share of the seats for tokens. */
const EACH = 51;
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const MAX_MS = 3_000;
const sockets: Socket[] = [];
let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await createObjects(server);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
});

test('B15, A21: half-sent requests of service accounts delay no other caller, and are ended soon', async () => {
  const { hostname, port } = new URL(server.url);
  const answers: Promise<string>[] = [];
  for (let account = 0; account < ACCOUNTS; account += 1) {
    await createAccount(server, `half-${account}`);
    const token = await issue(server, tokenPath(`half-${account}`));
    for (let i = 0; i < EACH; i += 1) {
      const path = i % 2 === 0 ? REVIEWS : tokenPath();
      const socket = connect(Number(port), hostname).setEncoding('latin1');
      sockets.push(socket.on('error', () => {}));
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`);
      socket.write('Content-Type: application/json\r\nContent-Length: 20\r\n\r\n{');
      answers.push(once(socket, 'data').then(([text]) => String(text).slice(9, 12)));
    }
  }
  const limit = { signal: AbortSignal.timeout(MAX_MS) };
  const executing = async (level: string): Promise<number> => {
    const { text } = await server.call('GET', '/metrics');
    const name = `apiserver_flowcontrol_current_executing_requests{priority_level="${level}"}`;
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.split(' ')[1],
    );
  };
  await expect.poll(() => executing('receiving')).toBeGreaterThanOrEqual(50);
  expect((await server.call('GET', '/auth/v1/clusters', limit)).code).toBe(200);
  expect((await post(server, ASK, limit)).code).toBe(201);
  const codes = await Promise.all(answers);
  // All accounts of a cluster have one share. They may not request tokens.
  const count = (code: string): number => codes.filter((one) => one === code).length;
  expect(count('408')).toBe(100);
  expect(count('429')).toBe(ACCOUNTS * Math.ceil(EACH / 2) - 100);
  expect(count('403')).toBe(ACCOUNTS * Math.floor(EACH / 2));
  expect(await executing('receiving')).toBe(0);
});
