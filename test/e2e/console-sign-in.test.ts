import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  openPage,
  type Page,
  type Visit,
} from './support/browser.ts';
import { addCluster, grantClusters } from './support/fleet.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Server, startServer } from './support/server.ts';

/** A busy machine needs more than the default timeout. */
const PATIENCE = { timeout: 60_000 };

let folder: string;
let provider: IdentityProvider;
let server: Server;
let browser: Browser;

/** Fills in the forms of the provider. */
async function signInAtProvider(page: Page, user: string): Promise<void> {
  await page.locator('input[name="login"]').fill(user);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

describeWithBrowser('signing in to the console at an identity provider', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clusterpass-provider-'));
    const file = join(folder, 'authentication.json');
    provider = await startProvider({ groups: { jane: ['devs'] }, tokensElsewhere: true });
    await writeFile(file, authenticationConfig([provider]));
    const oidc = ['--console-oidc-issuer', provider.url, '--console-oidc-client-id', CLIENT_ID];
    server = await startServer({ args: ['--authentication-config', file, ...oidc] });
    await addCluster(server, 'alpha');
    await grantClusters(server, 'jane-sees', 'id:jane');
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
    await provider?.close();
    await rm(folder, { recursive: true, force: true });
  });

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
    const before = provider.requests.filter((line) => line.endsWith('/token')).length;
    await page.goto(`${server.url}/console/?code=stolen&state=made-up&iss=${encodeURIComponent(provider.url)}`);
    await page.getByText('This tab did not start the sign-in').waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    expect(provider.requests.filter((line) => line.endsWith('/token'))).toHaveLength(before);
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
    const before = asked('POST /token');
    for (const round of [1, 2]) {
      // Fifty minutes later: the token expires in ten minutes.
      await page.evaluate('{ const now = Date.now(); Date.now = () => now + 3_000_000; }');
      await page.goto(`${server.url}/console/#/can-i?cluster=alpha&round=${round}`);
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('Yes, you can see the cluster alpha').waitFor();
      expect(asked('POST /token')).toBe(before + round);
      await page.goto(`${server.url}/console/#/clusters/alpha`);
      await page.getByRole('heading', { name: 'alpha' }).waitFor();
    }
    expect(await page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe('[{},{}]');
    await page.locator('.menu summary').click();
    await page.getByText('when you sign out or close the page').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    await expect.poll(() => asked('POST /token/revocation'), PATIENCE).toBe(1);
    expect(problems).toEqual([]);
    await endSession();
  });
});

const asked = (line: string): number => provider.requests.filter((each) => each === line).length;

/** The session that the last test left; undefined if it ended, or if that test failed. */
let session: Visit | undefined;

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
