import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeFor, createObjects, issue, tokenPath } from './support/objects.ts';
import { type Server, startServer } from './support/server.ts';
import { KEY_SET, keySetOf } from './support/signing-keys.ts';

/** Other keys than that of ES256: those of other algorithms, and one that the server does not have. */

const SIGNER = fileURLToPath(new URL('support/external-signer.mjs', import.meta.url));
const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';

let server: Server;
let before: string;

beforeAll(async () => {
  server = await startServer({
    args: ['--signing-algorithm-for', 'azure=RS256', '--signing-algorithm-for', 'p=ES384'],
  });
  await createObjects(server);
});
afterAll(() => server.destroy());

describe('algorithms by audience', () => {
  it('a stock library verifies tokens of each algorithm with the one key set', async () => {
    const keySet = createRemoteJWKSet(new URL(`${server.url}${KEY_SET}`));
    for (const [audience, alg] of Object.entries({ azure: 'RS256', p: 'ES384', other: 'ES256' })) {
      const token = await issue(server, tokenPath(), { audiences: [audience] });
      const { protectedHeader } = await jwtVerify(token, keySet, { audience, algorithms: [alg] });
      expect(Object.keys(protectedHeader)).toEqual(['alg', 'kid']);
    }
    const both = await issue(server, tokenPath(), { audiences: [`${server.url}/orchestrator/alpha`, 'azure'] });
    expect(await codeFor(server, both)).toBe(200);
    const keys = await keySetOf(server);
    expect(keys.map(({ alg }) => alg).sort()).toEqual(['ES256', 'ES256', 'ES384', 'ES384', 'RS256', 'RS256']);
    const { json } = await server.call('GET', '/orchestrator/alpha/.well-known/openid-configuration', {
      token: null,
    });
    expect(json.id_token_signing_alg_values_supported).toEqual(['ES256', 'ES384', 'RS256']);
  });
});

describe('with an external signer', () => {
  beforeAll(async () => {
    const { dataDir } = server;
    before = await issue(server);
    await server.stop();
    const key = join(dataDir, 'elsewhere.pem');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const port = Number(new URL(server.url).port);
    server = await startServer({
      dataDir,
      port,
      args: ['--external-signer', `exec:${process.execPath} ${SIGNER} ${key}`],
    });
  });

  /** Without those of the other algorithms. */
  const publishedKeys = async (): Promise<unknown[]> =>
    (await keySetOf(server)).filter(({ alg }) => alg === 'ES256').map(({ kid }) => kid);

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
    expect(await publishedKeys()).toEqual(['hsm/slot 1', kid]);
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
});
