import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, expectUnauthorized } from './support/expect-status.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { ASK, asUser, bind, createWorld, issue, post, tokenPath } from './support/token-world.ts';

/** C-C: what counts as credentials on the token path, and what every request without them gets. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: [], nora: [] } });
  await createWorld(server);
  await bind(server, 'jane', { kind: 'User', name: 'jane' });
});
afterAll(() => server.destroy());

const send = (authorization: string | undefined, rest: Record<string, string> = {}) =>
  post(server, ASK, {
    token: null,
    headers: { ...rest, ...(authorization === undefined ? {} : { Authorization: authorization }) },
  });

describe('C-C, A-01, A-02, decision 8: no credentials are 401', () => {
  const jane = tokenOf('jane');
  it.each<[string, string | undefined]>([
    ['no header', undefined],
    ['an unknown token', 'Bearer nobody'],
    ['Bearer alone', 'Bearer'],
    ['Bearer and a space', 'Bearer '],
    ['W-08: two spaces', `Bearer  ${jane}`],
    ['A-03: Basic', `Basic ${Buffer.from(`jane:${jane}`).toString('base64')}`],
    ['the token alone', jane],
    ['a tab for a space', `Bearer\t${jane}`],
    ['a comma', `Bearer,${jane}`],
    ['the token in upper case', `Bearer ${jane.toUpperCase()}`],
    ['a prefix of the token', `Bearer ${jane.slice(0, -1)}`],
    ['more than the token', `Bearer ${jane}x`],
    ['a quoted token', `Bearer "${jane}"`],
    ['bytes that are no UTF-8', 'Bearer \u00ff\u00fe'],
    ['12 KB', `Bearer ${'x'.repeat(12_000)}`],
  ])('%s', async (_, authorization) => {
    expectUnauthorized(await send(authorization));
  });

  it('W-08: two spaces come with an explanation', async () => {
    expect((await send(`Bearer  ${jane}`)).warnings).toEqual([
      'the provided Authorization header contains extra space before the bearer token, and is ignored',
    ]);
  });

  it.each<[string, string]>([
    ['A-03: bEaReR', `bEaReR ${jane}`],
    ['A-03: spaces around it', ` Bearer ${jane} `],
    ['A-03: text after a second space', `Bearer ${jane} and more`],
  ])('%s is heard', async (_, authorization) => {
    expect((await send(authorization)).code).toBe(201);
  });

  it.each(['access_token', 'token', 'bearer_token'])('C-C: a token in ?%s= is not', async (name) => {
    expectUnauthorized(await post(server, ASK, { path: `${tokenPath()}?${name}=${jane}`, token: null }));
  });

  it.each(['X-Remote-User', 'X-Forwarded-User', 'X-Forwarded-Access-Token', 'Cookie'])(
    'C-C: nor is %s',
    async (name) => {
      expectUnauthorized(await send(undefined, { [name]: name === 'Cookie' ? `token=${jane}` : jane }));
    },
  );

  it('C-C: X-Remote-User does not change who is calling', async () => {
    const headers = { 'X-Remote-User': 'mia', 'X-Remote-Group': 'system:masters' };
    const { code, json } = await post(server, ASK, { ...asUser('nora'), headers });
    expect([code, json.message]).toEqual([403, expect.stringContaining('User "nora" cannot create')]);
  });

  it('C-C: a header of 20 KB is 431', async () => {
    const answer = await sendRaw(
      server,
      `POST ${tokenPath()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'x'.repeat(20_000)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('"kind":"Status"');
  });

  it('C-C: two Authorization headers are nobody', async () => {
    const answer = await sendRaw(
      server,
      `POST ${tokenPath()} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer nobody\r\nAuthorization: Bearer ${jane}\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('Impersonate-User is refused, not ignored', () => {
  it.each(['jane', 'nora'])('C-C: %s', async (user) => {
    const answer = await post(server, ASK, { ...asUser(user), headers: { 'Impersonate-User': 'mia' } });
    expectStatus(answer, {
      code: 403,
      reason: 'Forbidden',
      message: `users "mia" is forbidden: User "${user}" cannot impersonate resource "users" in API group "" at the cluster scope: impersonation is not supported`,
      details: { name: 'mia', kind: 'users' },
    });
  });
});

describe('the 401 comes before everything else (C-11, C-15)', () => {
  it.each<[string, string, string, unknown, Record<string, string>]>([
    ['an absent cluster', 'POST', tokenPath('builder', 'ci', 'gone'), ASK, {}],
    ['an absent path', 'POST', '/no/such/path', ASK, {}],
    ['another method', 'GET', tokenPath(), undefined, {}],
    ['bad options', 'POST', `${tokenPath()}?dryRun=x`, ASK, {}],
    ['a bad body', 'POST', tokenPath(), '{', {}],
    ['a bad type', 'POST', tokenPath(), 'x', { 'Content-Type': 'text/plain' }],
    ['a bad Accept', 'POST', tokenPath(), ASK, { Accept: 'text/html' }],
    ['a body that is too large', 'POST', tokenPath(), 'x'.repeat(3_145_729), {}],
  ])('%s', async (_, method, path, body, headers) => {
    expectUnauthorized(await server.call(method, path, { token: null, body, headers }));
  });
});

describe('a token as credentials for the next one', () => {
  it('section 5: status.token is a bearer token', async () => {
    await bind(server, 'builder', { kind: 'User', name: 'system:serviceaccount:ci:builder' });
    let token = await issue(server);
    for (let round = 0; round < 3; round++) {
      const answer = await post(server, ASK, { token });
      expect(answer.code).toBe(201);
      expect(answer.json.status.token).not.toBe(token);
      token = answer.json.status.token;
    }
  });

  it('C-01: the audit id of the caller is kept', async () => {
    const answer = await post(server, ASK, { headers: { 'Audit-ID': 'mine-7' } });
    expect(answer.headers.get('audit-id')).toBe('mine-7');
  });
});
