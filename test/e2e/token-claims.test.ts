import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, exportJWK, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from './support/server.ts';
import { dataDirWithKey, keySetOf, publicKeyOf } from './support/signing-keys.ts';
import { codeFor, createWorld, issue, tokenPath } from './support/token-world.ts';

/** What is in the tokens, read with another library than the one that made them, and the keys behind them. */

let server: Server;
let uids: Awaited<ReturnType<typeof createWorld>>;
let issuer: string;

beforeAll(async () => {
  server = await startServer({ args: ['--log-level', 'debug'] });
  uids = await createWorld(server);
  issuer = `${server.url}/orchestrator/alpha`;
});
afterAll(() => server.destroy());

const textOf = (token: string, part: 0 | 1): string =>
  Buffer.from(token.split('.')[part] ?? '', 'base64url').toString();

describe('ES256, the default', () => {
  it('K-01, K-02: the header is exactly alg and kid, and kid follows from the key', async () => {
    const token = await issue(server);
    const key = await publicKeyOf(server, decodeProtectedHeader(token).kid);
    const kid = createHash('sha256')
      .update(key.export({ type: 'spki', format: 'der' }))
      .digest('base64url');
    expect(textOf(token, 0)).toBe(`{"alg":"ES256","kid":"${kid}"}`);
    expect(kid, 'not the thumbprint of RFC 7638').not.toBe(await calculateJwkThumbprint(await exportJWK(key)));
  });

  it('K-03, K-04, K-05, K-06, K-07, K-09: every claim, in order, under a signature that holds', async () => {
    const token = await issue(server, tokenPath(), { audiences: ['vault', 'registry'], expirationSeconds: 1200 });
    const key = await publicKeyOf(server, decodeProtectedHeader(token).kid);
    const { payload } = await jwtVerify(token, key, { issuer, audience: 'vault', algorithms: ['ES256'] });
    const { iat = 0, jti = '' } = payload;
    expect(textOf(token, 1)).toBe(
      `{"aud":["vault","registry"],"exp":${iat + 1200},"iat":${iat},"iss":"${issuer}","jti":"${jti}","kubernetes.io":{"namespace":"ci","serviceaccount":{"name":"builder","uid":"${uids.builder}"}},"nbf":${iat},"sub":"system:serviceaccount:ci:builder"}`,
    );
    expect(jti).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(60);
  });

  it('K-04: one audience is an array too', async () => {
    expect(textOf(await issue(server, tokenPath(), { audiences: ['vault'] }), 1)).toMatch(/^\{"aud":\["vault"\],/);
  });

  it.each<[string, object, () => object]>([
    [
      'T-32: a pod on a node',
      { kind: 'Pod', name: 'web-0' },
      () => ({ node: { name: 'node-1' }, pod: { name: 'web-0', uid: uids.pod } }),
    ],
    ['a pod without a node', { kind: 'Pod', name: 'job-0' }, () => ({ pod: { name: 'job-0', uid: uids.unscheduled } })],
    ['a secret', { kind: 'Secret', name: 'tls' }, () => ({ secret: { name: 'tls', uid: uids.secret } })],
  ])('K-07: bound to %s', async (_, boundObjectRef, expected) => {
    const token = await issue(server, tokenPath(), { audiences: [], boundObjectRef });
    const claims = decodeJwt(token)['kubernetes.io'];
    const serviceaccount = { name: 'builder', uid: uids.builder };
    expect(JSON.stringify(claims), 'K-03').toBe(JSON.stringify({ namespace: 'ci', ...expected(), serviceaccount }));
  });

  it('K-09: the issuer is the address of the cluster', async () => {
    const token = await issue(server, tokenPath('builder', 'ci', 'beta'));
    expect(decodeJwt(token)).toMatchObject({
      iss: `${server.url}/orchestrator/beta`,
      aud: [`${server.url}/orchestrator/beta`],
    });
  });

  it('A1: key and directory are for their owner alone', async () => {
    const keys = join(server.dataDir, 'keys');
    expect((await stat(keys)).mode & 0o777).toBe(0o700);
    for (const name of await readdir(keys)) expect((await stat(join(keys, name))).mode & 0o777, name).toBe(0o600);
    expect((await stat(join(server.dataDir, 'admin.token'))).mode & 0o777).toBe(0o600);
  });

  it('A8: nothing of a token is in what the program writes, only its id', async () => {
    const token = await issue(server);
    await codeFor(server, token);
    await server.call('GET', '/auth/v1/clusters', { token: `${token}x`, headers: { 'Audit-ID': 'the-last-one' } });
    const written = (): string => server.output.stdout + server.output.stderr;
    await expect.poll(written).toContain('the-last-one');
    expect(written()).toContain(`JTI=${decodeJwt(token).jti}`);
    for (const part of token.split('.').slice(1)) expect(written()).not.toContain(part);
    expect(written()).not.toContain(server.adminToken);
  });
});

describe('other algorithms', () => {
  it('K-01: --signing-algorithm RS256 signs with RSA; a change to ES384 is published first, and signs later', async () => {
    let own = await startServer({ args: ['--signing-algorithm', 'RS256'] });
    try {
      await createWorld(own);
      const token = await issue(own);
      const header = decodeProtectedHeader(token);
      const key = await publicKeyOf(own, header.kid);
      await jwtVerify(token, key, { algorithms: ['RS256'], issuer: `${own.url}/orchestrator/alpha` });
      expect(Object.keys(header)).toEqual(['alg', 'kid']);
      expect(await own.stop()).toBe(0);
      const port = Number(new URL(own.url).port);
      own = await startServer({ dataDir: own.dataDir, port, args: ['--signing-algorithm', 'ES384'] });
      expect((await keySetOf(own)).map(({ alg }) => alg)).toEqual(['RS256', 'ES384']);
      expect(decodeProtectedHeader(await issue(own))).toEqual(header);
      expect(await codeFor(own, token)).toBe(200);
    } finally {
      await own.destroy();
    }
  });
});

describe('a key that others could read', () => {
  const PROGRAM = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const start = (dataDir: string) =>
    spawnSync(process.execPath, [PROGRAM, 'serve', '--data-dir', dataDir, '--listen', '127.0.0.1:0'], {
      encoding: 'utf8',
      timeout: 60_000,
    });

  it('A1: keeps the program from starting, and it says what to do', async () => {
    const { dataDir, file } = await dataDirWithKey();
    try {
      await chmod(file, 0o644);
      const { status, stdout, stderr } = start(dataDir);
      expect(status).toBe(1);
      expect(stderr).toContain(
        `${file} holds a secret and is open to its group or to others (mode 0644). Run: chmod 600`,
      );
      expect(stdout + stderr).not.toContain('BEGIN PRIVATE KEY');
      expect(stdout).not.toContain('Clusterpass serves');
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
