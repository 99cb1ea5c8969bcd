import { generateKeyPairSync } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsOf } from './support/audit.ts';
import { expectStatus } from './support/expect-status.ts';
import { ASK, codeFor, createObjects, issue, post, tokenPath } from './support/objects.ts';
import { type Server, startServer } from './support/server.ts';
import { KEY_SET, keySetOf } from './support/signing-keys.ts';

/** A1: the server does not have the key, and requests signatures. */

const SIGNER = fileURLToPath(new URL('support/external-signer.mjs', import.meta.url));
const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

let server: Server;
let before: string;
let lie: string;

beforeAll(async () => {
  server = await startServer();
  const { dataDir } = server;
  await createObjects(server);
  before = await issue(server);
  await server.stop();
  const key = join(dataDir, 'elsewhere.pem');
  lie = join(dataDir, 'lie');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const port = Number(new URL(server.url).port);
  server = await startServer({
    dataDir,
    port,
    args: ['--external-signer', `exec:${process.execPath} ${SIGNER} ${key} ${lie}`],
  });
});
afterAll(() => server.destroy());

describe('with an external signer', () => {
  it('tokens are signed by it, published with its key, and accepted here and elsewhere', async () => {
    const token = await issue(server);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', kid: 'hsm/slot 1', typ: 'JWT' });
    expect(await codeFor(server, token)).toBe(200);
    const keySet = createRemoteJWKSet(new URL(`${server.url}${KEY_SET}`));
    await jwtVerify(token, keySet, { issuer: `${server.url}/orchestrator/alpha` });
  });

  it('tokens that the server signed before stay valid, and their key stays published', async () => {
    expect(await codeFor(server, before)).toBe(200);
    const { kid } = decodeProtectedHeader(before);
    expect((await keySetOf(server)).map((key) => key.kid)).toEqual(['hsm/slot 1', kid]);
    const shown = (await server.call('GET', KEYS)).json.items;
    expect(
      shown.map(({ status }: { status: { state: string; publicKey: { kid: string } } }) => [
        status.publicKey.kid,
        status.state,
      ]),
    ).toEqual(
      expect.arrayContaining([
        ['hsm/slot 1', 'External'],
        [kid, 'Retired'],
      ]),
    );
  });

  it.each(['HS256', 'crash'])('A1: %s gives 500 and no token, and the next request succeeds', async (wrong) => {
    await writeFile(lie, wrong);
    const answer = await post(server, ASK);
    expectStatus(answer, {
      code: 500,
      reason: 'InternalError',
      message: 'Internal error occurred: failed to generate token',
      details: { causes: [{ message: 'failed to generate token' }] },
    });
    expect(answer.text).not.toContain('eyJ');
    const [event] = await eventsOf(join(server.dataDir, 'audit', 'audit.log'), answer.headers.get('audit-id'));
    expect(event).toMatchObject({ requestURI: tokenPath(), responseStatus: { code: 500 } });
    await rm(lie);
    await expect.poll(async () => (await post(server, ASK)).code).toBe(201);
  });

  it('an earlier key of the server can be revoked, and its tokens are refused', async () => {
    const { kid } = decodeProtectedHeader(before);
    expect((await server.call('DELETE', `${KEYS}/${kid}`)).code).toBe(200);
    expect(await codeFor(server, before)).toBe(401);
    expect((await keySetOf(server)).map((key) => key.kid)).toEqual(['hsm/slot 1']);
    expect(await codeFor(server, await issue(server))).toBe(200);
  });
});
