import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSocket } from './support/open-socket.ts';
import { grant, may } from './support/rbac.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { createAccount, createWorld, inNamespace, issue, remove, tokenPath } from './support/token-world.ts';

let server: Server;
const BODY = '{"spec":{"audiences":["vault"]}}';

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
  await createWorld(server);
});
afterAll(() => server.destroy());

/** Sends the head, waits until the server has let it pass, does something, and then sends the body. */
async function sendAround(token: string, meanwhile: () => Promise<void>): Promise<string> {
  const socket = await openSocket(server);
  socket.write(
    [
      `POST ${tokenPath()} HTTP/1.1`,
      'Host: clusterpass',
      'Connection: close',
      'Expect: 100-continue',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${BODY.length}`,
      '',
      '',
    ].join('\r\n'),
  );
  await socket.until('HTTP/1.1 100 Continue\r\n\r\n');
  await meanwhile();
  socket.write(BODY);
  return socket.rest();
}

it('a permission that was taken back while the body was on its way no longer counts', async () => {
  const revoke = await grant(server, { to: 'jane', rules: [may('create', 'serviceaccounts/token')] });
  expect(await sendAround(tokenOf('jane'), async () => {})).toContain('HTTP/1.1 201');
  expect(await sendAround(tokenOf('jane'), revoke)).toContain('HTTP/1.1 403');
});

it('nor does a credential that has ended', async () => {
  await createAccount(server, 'sender');
  const revoke = await grant(server, {
    to: 'system:serviceaccount:ci:sender',
    rules: [may('create', 'serviceaccounts/token')],
  });
  const token = await issue(server, tokenPath('sender'));
  expect(await sendAround(token, async () => {})).toContain('HTTP/1.1 201');
  const answer = await sendAround(token, () => remove(server, `${inNamespace('serviceaccounts')}/sender`));
  expect(answer).toContain('HTTP/1.1 401');
  await revoke();
});
