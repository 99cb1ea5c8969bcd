import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { json, type Responder, scriptServer } from '../../src/client/script-server.fixture.ts';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  openPage,
  type Page,
  type Visit,
} from './support/browser.ts';
import { Person, type Running, userIn } from './support/cli.ts';
import { addCluster, grantClusters } from './support/fleet.ts';
import { createAccount, createNamespace } from './support/objects.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Server, startServer, TLS } from './support/server.ts';

/** Signing in at an identity provider, with clusterpass and in the console. */

let folder: string;
let provider: IdentityProvider;
let server: Server;
let person: Person;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-sign-in-'));
  provider = await startProvider({ groups: { jane: ['devs'] }, tokensElsewhere: true });
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
});
beforeEach(async () => {
  person = await Person.at();
});

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
});

describe('clusterpass login with the provider that the server names', () => {
  const FOUND = (): string =>
    `${server.url} names the identity provider ${provider.url}/ and the client ID ${CLIENT_ID}.\n`;
  const AT_SERVER = (): string[] => ['login', '--server', server.url, '--issuer-certificate-authority', TLS.caFile];

  it('needs no flags for the provider, and says what it found', async () => {
    const running = person.start(AT_SERVER());
    const address = await addressFrom(running);
    expect(running.stderr.startsWith(FOUND())).toBe(true);
    const [, port] =
      /^If the provider refuses .* register http:\/\/127\.0\.0\.1:(\d+)\/callback /m.exec(running.stderr) ?? [];
    expect(running.stderr).toContain(`--callback-port ${port}`);
    await provider.visit(address, 'jane');
    expect(await running.ended).toMatchObject({ code: 0, stdout: `Logged in to ${server.url} as "id:jane".\n` });
    expect(await sessionOf()).toMatchObject({ issuerUrl: provider.url, clientId: CLIENT_ID });
  });

  it('does not get the client secret', async () => {
    const other = await scriptServer([settings({ issuer: provider.url, clientId: CLIENT_ID })]);
    onTestFinished(other.close);
    expect(await person.fails(['login', '--server', other.url, '--client-secret-file', TLS.keyFile])).toBe(
      'error: --client-secret-file: set --issuer-url, too. A provider that the server names does not get the secret\n',
    );
    expect(other.requests).toEqual([]);
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

/** A busy machine needs more than the default timeout. */
const PATIENCE = { timeout: 60_000 };

/** Fills in the forms of the provider. */
async function signInAtProvider(page: Page, user: string): Promise<void> {
  await page.locator('input[name="login"]').fill(user);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** The session that the last test left; undefined if it ended, or if that test failed. */
let session: Visit | undefined;
let browser: Browser;

/** Jane is signed in and sees the page of a cluster. She signs in unless the last test left her signed in. */
async function signedIn(): Promise<Visit> {
  if (session === undefined) {
    const visit = await openPage(browser);
    session = visit;
    await visit.page.goto(`${server.url}/console/#/clusters/alpha`);
    await visit.page.getByRole('button', { name: `Continue with ${new URL(provider.url).host}` }).click();
    await signInAtProvider(visit.page, 'jane');
  } else {
    // What the last test did is not a problem of this one.
    session.problems.length = 0;
    await session.page.evaluate(`void (location.hash = '#/clusters/alpha')`);
  }
  await session.page.getByRole('heading', { name: 'alpha' }).waitFor();
  return session;
}

async function endSession(): Promise<void> {
  await session?.close();
  session = undefined;
}

describeWithBrowser('signing in to the console at an identity provider', () => {
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await endSession();
  });

  it('returns to the page that the user left, without traces in the URL', async () => {
    const { page, problems, requested } = await signedIn();
    expect(page.url()).toBe(`${server.url}/console/#/clusters/alpha`);
    expect(await page.locator('.user-name').textContent()).toBe('id:jane');
    await page.getByRole('link', { name: 'Clusters' }).first().click();
    await page.getByText('1 cluster', { exact: true }).waitFor();
    expect(await page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe('[{},{}]');
    const asked = requested.find((address) => address.startsWith(`${provider.url}/auth?`)) ?? '';
    const parameters = new URL(asked).searchParams;
    expect(parameters.get('code_challenge_method')).toBe('S256');
    expect(parameters.get('response_type')).toBe('code');
    // A random value of the request may contain "eyJ"; a token has it twice.
    expect(requested.filter((address) => /id_token|eyJ[\w-]+\.eyJ/.test(address))).toEqual([]);
    expect(problems).toEqual([]);
  });

  it('A46: rejects an authorization response that this tab did not request', async () => {
    const { page, close } = await openPage(browser);
    const before = refreshes();
    await page.goto(`${server.url}/console/?code=stolen&state=made-up&iss=${encodeURIComponent(provider.url)}`);
    await page.getByText('This tab did not start the sign-in').waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    expect(refreshes()).toBe(before);
    await close();
  });

  it('allows connections only to the server and to the endpoints of the provider', async () => {
    const policy = async (): Promise<string> =>
      (await server.call('GET', '/console/', { token: null })).headers.get('content-security-policy') ?? '';
    expect(provider.tokensAt).not.toBe(provider.url);
    await expect.poll(policy, PATIENCE).toContain(`connect-src 'self' ${provider.url} ${provider.tokensAt};`);
  });

  it('ends the session when the provider rejects the refresh; signing in returns to the same page', async () => {
    const { page } = await signedIn();
    provider.refuseTokens(true);
    // The token has expired by the clock of the page.
    await page.evaluate('{ const now = Date.now(); Date.now = () => now + 4_000_000; }');
    await page
      .getByLabel('Namespace')
      .or(page.getByRole('button', { name: 'Enter a name anyway' }))
      .first()
      .waitFor();
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await page.getByText('Your session has expired').waitFor();
    provider.refuseTokens(false);
    await page.getByRole('button', { name: `Continue with ${new URL(provider.url).host}` }).click();
    // The session at the provider still exists.
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'alpha' }).waitFor();
    expect(page.url()).toBe(`${server.url}/console/#/clusters/alpha`);
  });

  it('refreshes the ID token, uses each refresh token once and stores none', async () => {
    const { page, problems } = await signedIn();
    // They have no file with a token.
    await page.getByText(`clusterpass login \\ --server ${server.url}`).waitFor();
    const before = refreshes();
    for (const round of [1, 2]) {
      // Fifty minutes later: the token expires in ten minutes.
      await page.evaluate('{ const now = Date.now(); Date.now = () => now + 3_000_000; }');
      await page.goto(`${server.url}/console/#/can-i?cluster=alpha&round=${round}`);
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('Yes, you can see the cluster alpha').waitFor();
      expect(refreshes()).toBe(before + round);
      await page.goto(`${server.url}/console/#/clusters/alpha`);
      await page.getByRole('heading', { name: 'alpha' }).waitFor();
    }
    expect(await page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe('[{},{}]');
    const revoked = provider.revoked.length;
    await page.locator('.menu summary').click();
    await page.getByText('when you sign out or close the page').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    await expect.poll(() => provider.revoked.length, PATIENCE).toBe(revoked + 1);
    expect(problems).toEqual([]);
    await endSession();
  });
});
