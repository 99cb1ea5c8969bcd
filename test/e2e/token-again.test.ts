import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import {
  ASK,
  CLUSTERS,
  codeFor,
  createAccount,
  createNamespace,
  createWorld,
  inNamespace,
  issue,
  post,
  remove,
  tokenPath,
} from './support/token-world.ts';

/** What was found for one token is there for the next, until something of it changes: the same line asks again and again. */

let server: Server;
const NAMESPACE = '/orchestrator/alpha/api/v1/namespaces/ci';
const ACCOUNT = `${inNamespace('serviceaccounts')}/builder`;

beforeAll(async () => {
  server = await startServer();
  await createWorld(server);
});
afterAll(() => server.destroy());

const uidIn = (token: string): unknown =>
  (decodeJwt(token)['kubernetes.io'] as { serviceaccount: { uid: string } }).serviceaccount.uid;

it('A4: an account that is deleted gets no token, and its tokens open nothing; one of the same name is another', async () => {
  const first = await issue(server);
  expect(uidIn(await issue(server))).toBe(uidIn(first));
  expect(await codeFor(server, first)).toBe(200);
  await remove(server, ACCOUNT);
  expect(await post(server, ASK)).toMatchObject({
    code: 404,
    json: { message: 'serviceaccounts "builder" not found' },
  });
  expect(await codeFor(server, first)).toBe(401);
  const { metadata } = await createAccount(server, 'builder');
  const second = await issue(server);
  expect(uidIn(second)).toBe(metadata.uid);
  expect([await codeFor(server, first), await codeFor(server, second)]).toEqual([401, 200]);
});

it('an account that is changed is the same', async () => {
  const before = await issue(server);
  const patch = {
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'Content-Type': 'application/merge-patch+json' },
  };
  const patched = await server.call('PATCH', ACCOUNT, patch);
  expect(patched.code, patched.text).toBe(200);
  expect(uidIn(await issue(server))).toBe(uidIn(before));
  expect(await codeFor(server, before)).toBe(200);
});

it('nor does one in a namespace or a cluster that is deleted', async () => {
  const inCluster = tokenPath('builder', 'ci', 'beta');
  const [token, other] = [await issue(server), await issue(server, inCluster)];
  await remove(server, NAMESPACE);
  expect(await post(server, ASK)).toMatchObject({ code: 404, json: { message: 'namespaces "ci" not found' } });
  expect(await codeFor(server, token)).toBe(401);
  await createNamespace(server, 'ci');
  expect(await post(server, ASK)).toMatchObject({
    code: 404,
    json: { message: 'serviceaccounts "builder" not found' },
  });
  await remove(server, `${CLUSTERS}/beta`);
  const refused = await post(server, ASK, { path: inCluster });
  expect(refused).toMatchObject({ code: 404, json: { details: { name: 'beta' } } });
  expect(await codeFor(server, other)).toBe(401);
});
