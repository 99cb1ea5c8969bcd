import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAudit } from './support/audit.ts';
import { ASK, asUser, bind, createObjects, post } from './support/objects.ts';
import { type Server, startServer } from './support/server.ts';

/** `/auth/v1/passes`: tokens of many clusters in one request. */

const PASSES = '/auth/v1/passes';
const BUILDER = { cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' };
let server: Server;
let dir: string;
let log: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-passes-'));
  log = join(dir, 'audit.log');
  server = await startServer({ users: { jane: [], nobody: [] }, args: ['--audit-log-path', log] });
  await createObjects(server);
  await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' });
});
afterAll(async () => {
  await server?.destroy();
  await rm(dir, { recursive: true, force: true });
});

const request = (items: readonly object[], user = 'jane', query = '') =>
  server.call('POST', `${PASSES}${query}`, { ...asUser(user), body: { items } });

describe('a list of passes', () => {
  it('issues each token as a token request would, and records each before it is out', async () => {
    const { code, json, headers } = await request([
      BUILDER,
      { ...BUILDER, audiences: ['https://vault.example.com'], expirationSeconds: 900 },
    ]);
    expect([code, json.kind, json.apiVersion]).toEqual([200, 'PassList', 'clusterpass.dev/v1alpha1']);
    const claims = json.items.map(({ token }: { token: string }) => decodeJwt(token));
    expect(claims.map(({ sub }: { sub: string }) => sub)).toEqual(Array(2).fill('system:serviceaccount:ci:builder'));
    expect(claims[1]).toMatchObject({ aud: ['https://vault.example.com'] });
    expect(claims[1].exp - claims[1].iat).toBe(900);
    expect(json.items[1]).toMatchObject({ ...BUILDER, audiences: ['https://vault.example.com'] });
    // Not polled: the lines are there before the tokens are released.
    const events = (await readAudit(log)).filter(({ auditID }) => auditID === headers.get('audit-id'));
    const issued = events.filter(({ objectRef }) => objectRef?.subresource === 'token');
    expect(issued.map(({ annotations }) => annotations)).toEqual(
      claims.map(({ jti }: { jti: string }, index: number) =>
        expect.objectContaining({
          'authentication.kubernetes.io/issued-credential-id': `JTI=${jti}`,
          'clusterpass.dev/cluster': 'alpha',
          'clusterpass.dev/item': String(index),
        }),
      ),
    );
    expect((await server.call('GET', '/metrics')).text).toMatch(
      /token_requests_total\{cluster="alpha",result="issued"\} 2/,
    );
  });

  it('answers each item by itself', async () => {
    const { code, json } = await request([
      { ...BUILDER, serviceAccount: 'missing' },
      { ...BUILDER, cluster: 'no-such' },
      { ...BUILDER, namespace: '../x' },
      { ...BUILDER, expirationSeconds: 1 },
      { cluster: 'alpha' },
      BUILDER,
    ]);
    expect(code).toBe(200);
    expect(json.items.map(({ error }: { error?: { code: number } }) => error?.code)).toEqual([
      404,
      404,
      422,
      422,
      422,
      undefined,
    ]);
    expect(json.items[2].error.message).toContain('items[2].namespace');
    expect(
      json.items.every(
        ({ token, error }: { token?: string; error?: object }) => (token === undefined) !== (error === undefined),
      ),
    ).toBe(true);
  });

  it('gives a caller without permission what single requests give', async () => {
    const { json } = await request([BUILDER, { ...BUILDER, cluster: 'no-such' }], 'nobody');
    const single = await post(server, ASK, asUser('nobody'));
    expect(json.items[0].error).toEqual(single.json);
    expect(json.items[1].error).toEqual(single.json);
    // Lines of rejected requests may be written after the response.
    const refused = async () =>
      (await readAudit(log))
        .filter(({ user, objectRef }) => user?.username === 'nobody' && objectRef?.subresource === 'token')
        .map(({ responseStatus }) => responseStatus?.code);
    await expect.poll(refused).toEqual([403, 403, 403]);
  });

  it('predicts with dryRun', async () => {
    const { json } = await request([BUILDER, { ...BUILDER, serviceAccount: 'missing' }], 'jane', '?dryRun=All');
    expect([json.items[0].token, json.items[1].error.code]).toEqual(['', 404]);
  });

  it.each([
    ['no items', { items: [] }, 422, /items: Required value/],
    ['too many', { items: Array(501).fill(BUILDER) }, 422, /items: Too many: 501: must have at most 500 items/],
    ['no list', { items: {} }, 400, /items/],
  ])('refuses %s', async (_, body, wanted, message) => {
    const { code, json } = await server.call('POST', PASSES, { ...asUser('jane'), body });
    expect([code, json.message]).toEqual([wanted, expect.stringMatching(message)]);
  });

  it('needs a caller, and takes POST only', async () => {
    expect((await server.call('POST', PASSES, { token: 'wrong', body: { items: [BUILDER] } })).code).toBe(401);
    expect((await server.call('GET', PASSES, asUser('jane'))).code).toBe(405);
  });
});
