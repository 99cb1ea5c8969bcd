import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFloods, type Flood } from './support/hostile-floods.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';

let server: Server;

beforeAll(async () => {
  server = await startServer({ tls: true, users: { bad: ['system:masters'] }, args: ['--demo'] });
});
afterAll(() => server.destroy());

/** Sends one attempt, and leaves when there is an answer or the connection is closed. */
function send({ over, leaves }: Flood, bytes: string | Uint8Array): Promise<void> {
  const port = Number(new URL(server.url).port);
  return new Promise((resolve) => {
    const socket: Socket =
      over === 'raw'
        ? connect(port, '127.0.0.1')
        : connectSecurely({ port, host: 'localhost', servername: 'localhost' });
    socket.on('error', () => {});
    socket.once('close', () => resolve());
    socket.once('data', () => socket.destroy());
    socket.write(bytes, () => {
      if (leaves === true) socket.destroy();
    });
  });
}

it.each(createFloods(tokenOf('bad')).map((flood) => [flood.name, flood] as const))(
  '%s: the same process goes on, and others are served',
  async (_, flood) => {
    await Promise.all(flood.sent.slice(0, 40).map((bytes) => send(flood, bytes)));
    const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
    expect((await server.call('POST', path, { body: { spec: { audiences: ['x'] } } })).code).toBe(201);
    expect(process.kill(server.pid, 0)).toBe(true);
  },
);

it('A20: and nothing of it was an error that nobody expected', () => {
  expect(server.output.stderr).not.toMatch(/"level":"(error|fatal)"|uncaught|unhandled/i);
});
