import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { json, type Responder, scriptServer } from '../../src/client/script-server.fixture.ts';
import { Person, type Running, userIn } from './support/cli.ts';
import { addCluster, grantClusters } from './support/fleet.ts';
import { createAccount, createNamespace } from './support/objects.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Server, startServer, TLS } from './support/server.ts';

let folder: string;
let provider: IdentityProvider;
let server: Server;
let person: Person;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-sign-in-'));
  provider = await startProvider({ groups: { jane: ['devs'] } });
  const file = join(folder, 'authentication.json');
  await writeFile(file, authenticationConfig([provider]));
  const oidc = ['--console-oidc-issuer', provider.url, '--console-oidc-client-id', CLIENT_ID];
  server = await startServer({ args: ['--authentication-config', file, ...oidc] });
  await addCluster(server, 'alpha');
  await createNamespace(server, 'ci');
  await createAccount(server, 'builder');
  await grantClusters(server, 'jane-sees', 'id:jane');
  await server.call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    body: {
      metadata: { name: 'devs-create-tokens' },
      subjects: [{ kind: 'Group', name: 'id:devs' }],
      roleRef: { kind: 'ClusterRole', name: 'clusterpass:token-creator' },
    },
  });
});
afterAll(async () => {
  await server.destroy();
  await provider.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  person = await Person.at();
});
afterEach(() => person.leave());

const logins = async () => JSON.parse(await readFile(person.loginsFile, 'utf8'));
const sessionOf = async () => (await logins()).logins[server.url].session;

/** As if time had passed: the token is about to expire, and must be refreshed. */
async function age(changes: object = { refreshAt: 0 }): Promise<void> {
  const found = await logins();
  Object.assign(found.logins[server.url].session, changes);
  await writeFile(person.loginsFile, JSON.stringify(found), { mode: 0o600 });
}

const refreshes = (): number => provider.requests.filter((request) => request === 'POST /token').length;

const LOGIN = (): string[] => [
  'login',
  '--server',
  server.url,
  '--issuer-url',
  provider.url,
  '--client-id',
  CLIENT_ID,
  '--issuer-certificate-authority',
  TLS.caFile,
];

/** The settings of a console. */
const settings = (named: unknown): Responder => json(200, { productName: 'orchestrator', provider: named });

const ADDRESS = /^ {2}(https:\S+)\n/m;

/** The address that a command asks to open. */
async function addressFrom(running: Running): Promise<string> {
  await running.until(({ stderr }) => ADDRESS.test(stderr));
  return ADDRESS.exec(running.stderr)?.[1] ?? '';
}

async function signIn(args: readonly string[] = LOGIN(), user = 'jane'): Promise<void> {
  const { promise: asked, resolve } = Promise.withResolvers<string>();
  let said = '';
  const ended = person.run(args, {
    onError: (text) => {
      said += text;
      const [, address] = ADDRESS.exec(said) ?? [];
      if (address !== undefined) resolve(address);
    },
  });
  const failed = ended.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)));
  await provider.visit(await Promise.race([asked, failed]), user);
  const { code, stdout, stderr } = await ended;
  expect([code, stdout], stderr).toEqual([0, `Logged in to ${server.url} as "id:${user}".\n`]);
}

const WHO = ['whoami', '-o', 'json'];

describe('clusterpass login at an identity provider', () => {
  it('in a browser on this machine: PKCE, state and nonce, and a file for its owner only', async () => {
    const running = person.start(LOGIN());
    const address = new URL(await addressFrom(running));
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: CLIENT_ID,
      response_type: 'code',
      prompt: 'consent',
      scope: 'openid groups offline_access',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    // An answer with another state is refused, and does not end the login.
    const back = address.searchParams.get('redirect_uri') ?? '';
    expect((await fetch(`${back}?code=evil&state=evil`)).status).toBe(400);
    expect(await provider.visit(address.href, 'jane')).toBe(
      'Signed in. You can close this window and go back to the terminal.\n',
    );
    expect(await running.ended).toMatchObject({ code: 0, stdout: `Logged in to ${server.url} as "id:jane".\n` });
    expect((await stat(person.loginsFile)).mode & 0o777).toBe(0o600);
    expect(await sessionOf()).toMatchObject({ issuerUrl: provider.url, clientId: CLIENT_ID, subject: 'jane' });
    expect(userIn(await person.ok(WHO))).toBe('id:jane');

    // The next login needs no flags.
    await signIn(['login']);
  });

  it('in a browser anywhere: the device flow', async () => {
    const running = person.start([...LOGIN(), '--device']);
    const page = await addressFrom(running);
    expect(running.stderr).toMatch(/^Open https:\S+\/device in any browser, and enter the code [A-Z]{4}-[A-Z]{4}$/m);
    await provider.visit(page, 'jane');
    expect(await running.ended).toMatchObject({ code: 0, stdout: `Logged in to ${server.url} as "id:jane".\n` });
  });

  it('names what is wrong, and stores nothing', async () => {
    const refused = [...LOGIN()];
    refused[4] = 'https://127.0.0.1:4';
    expect(await person.fails(refused)).toMatch(
      /^error: --issuer-url: "https:\/\/127\.0\.0\.1:4" cannot be used: .*connection refused/,
    );
    const variables = { CLUSTERPASS_ISSUER_URL: 'https://127.0.0.1:4', CLUSTERPASS_CLIENT_ID: 'x' };
    expect(await person.fails(['login', '--server', server.url], { env: variables })).toMatch(
      /^error: CLUSTERPASS_ISSUER_URL: "https:\/\/127\.0\.0\.1:4" cannot be used: .*connection refused/,
    );
    expect(await person.fails([...LOGIN(), '--token', 'x'])).toBe(
      'error: cannot use both a token and an identity provider\n',
    );
    // This process trusts the authority of the tests.
    expect(await person.fails(LOGIN().slice(0, -2), { inProcess: false })).toMatch(
      /^error: --issuer-url: "https:\/\/127\.0\.0\.1:\d+" cannot be used: .*certificate/,
    );
    const running = person.start([...LOGIN(), '--no-browser']);
    const address = new URL(await addressFrom(running));
    const back = new URL(address.searchParams.get('redirect_uri') ?? '');
    back.search = String(
      new URLSearchParams({
        error: 'access_denied',
        state: address.searchParams.get('state') ?? '',
        iss: provider.url,
        error_description: 'not you',
      }),
    );
    expect(await (await fetch(back)).text()).toBe('The sign-in failed. See the terminal for the reason.\n');
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/refused: not you\n$/)]);
    await expect(stat(person.loginsFile)).rejects.toThrow('ENOENT');
  });
});

describe('clusterpass login with the provider that the server names', () => {
  const FOUND = (): string =>
    `${server.url} names the identity provider ${provider.url}/ and the client ID ${CLIENT_ID}.\n`;
  const AT_SERVER = (): string[] => ['login', '--server', server.url, '--issuer-certificate-authority', TLS.caFile];

  it('needs no flags for the provider, and says what it found', async () => {
    const running = person.start(AT_SERVER());
    const address = await addressFrom(running);
    expect(running.stderr.startsWith(FOUND())).toBe(true);
    await provider.visit(address, 'jane');
    expect(await running.ended).toMatchObject({ code: 0, stdout: `Logged in to ${server.url} as "id:jane".\n` });
    expect(await sessionOf()).toMatchObject({ issuerUrl: provider.url, clientId: CLIENT_ID });
  });

  it('is named as such if it cannot be used', async () => {
    const other = await scriptServer([settings({ issuer: 'https://127.0.0.1:4', clientId: 'x' })]);
    onTestFinished(other.close);
    expect(await person.fails(['login', '--server', other.url])).toMatch(
      /^error: the identity provider of this server \(--issuer-url selects another\): "https:\S+:4" cannot be used: /m,
    );
  });

  it('does not get the client secret', async () => {
    const other = await scriptServer([settings({ issuer: provider.url, clientId: CLIENT_ID })]);
    onTestFinished(other.close);
    expect(await person.fails(['login', '--server', other.url, '--client-secret-file', TLS.keyFile])).toBe(
      'error: --client-secret-file: set --issuer-url, too. A provider that the server names does not get the secret\n',
    );
    expect(other.requests).toEqual([]);
  });

  it.each(['https', 'http'])('is not this machine if the server is elsewhere: %s', async (scheme) => {
    const issuer = `${scheme}://127.0.0.1:4`;
    const other = await scriptServer([settings({ issuer, clientId: 'x' })]);
    onTestFinished(other.close);
    // Not an address of loopback by its text, and reaches this machine.
    const elsewhere = other.url.replace('127.0.0.1', '0.0.0.0');
    expect(await person.fails(['login', '--server', elsewhere, '--insecure-skip-tls-verify'])).toBe(
      `error: ${elsewhere} names the identity provider "${issuer}/", which is on this machine\n`,
    );
  });
});

describe('one login serves every command', () => {
  it('of many processes one refreshes the token, and a refresh token is used once', async () => {
    await signIn();
    const { refreshToken: before, id } = await sessionOf();
    await age();
    const count = refreshes();
    const names = await Promise.all([1, 2, 3].map(async () => userIn(await person.ok(WHO, { inProcess: false }))));
    expect(names).toEqual(['id:jane', 'id:jane', 'id:jane']);
    expect(refreshes() - count).toBe(1);
    const after = await sessionOf();
    expect(after.id).toBe(id);
    expect(after.refreshToken).not.toBe(before);
    // The provider ends a session whose refresh token is used twice. It did not.
    await age();
    expect(userIn(await person.ok(WHO))).toBe('id:jane');
  });

  it('E-05: kubectl keeps its credential when the token of the login is another', async () => {
    await signIn();
    const credential = ['credential', '--cluster', 'alpha', '--as', 'ci/builder'];
    const first = await person.ok(credential);
    await age();
    await person.ok(WHO);
    expect(await person.ok(credential)).toBe(first);
  });

  it('a session that has expired at the provider is an error that says what to do', async () => {
    await signIn();
    await age({ refreshAt: 0, expiresAt: 0, refreshToken: 'canary-refresh-token' });
    const said = await person.fails(WHO);
    expect(said).toMatch(
      /^error: the login for \S+ has expired \(\S+ refused: .*\): run clusterpass login --server http/,
    );
    // A8: neither the refused nor the expired token.
    for (const secret of ['canary-refresh-token', 'eyJ']) expect(said).not.toContain(secret);
    await age({ refreshAt: 0, expiresAt: 0, refreshToken: undefined });
    expect(await person.fails(WHO)).toMatch(/has expired, and the identity provider gave no refresh token: run/);
  });

  it('logout ends it at the provider, too', async () => {
    await signIn();
    const { refreshToken } = await sessionOf();
    expect(await person.run(['logout'])).toEqual({ code: 0, stdout: `Logged out of ${server.url}.\n`, stderr: '' });
    expect(provider.requests).toContain('POST /token/revocation');
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: CLIENT_ID,
    });
    expect((await fetch(`${provider.url}/token`, { method: 'POST', body })).status).toBe(400);
  });

  it.each([
    ['the sign-in of another person', () => signIn(LOGIN(), 'joe')],
    ['a token', () => person.ok(['login', '--server', server.url, '--token-file', '-'], { stdin: server.adminToken })],
  ])('RFC 7009: is ended at the provider by %s at the same server', async (_, logInAgain) => {
    await signIn();
    const { refreshToken } = await sessionOf();
    await logInAgain();
    expect(provider.revoked.at(-1)).toBe(refreshToken);
  });

  it('RFC 7009: is not ended by the next sign-in of the person, which may share its grant', async () => {
    await signIn();
    const before = [...provider.revoked];
    await signIn();
    expect(provider.revoked).toEqual(before);
  });

  it('logout revokes the newest refresh token, also one that it received itself', async () => {
    await signIn();
    const { refreshToken } = await sessionOf();
    await age();
    const before = refreshes();
    expect(await person.run(['logout'])).toMatchObject({ code: 0 });
    expect(refreshes()).toBe(before + 1);
    expect(provider.revoked.at(-1)).toMatch(/./);
    expect(provider.revoked.at(-1)).not.toBe(refreshToken);
  });
});
