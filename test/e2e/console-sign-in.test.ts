import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  openPage,
  type Page,
  type Visit,
} from './support/browser.ts';
import { addCluster, grant } from './support/fleet.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Server, startServer } from './support/server.ts';

/** What takes a moment takes longer on a busy machine. */
const PATIENCE = { timeout: 20_000 };

let folder: string;
let provider: IdentityProvider;
let server: Server;
let browser: Browser;

/** What a person does at the provider. */
async function signInThere(page: Page, user: string): Promise<void> {
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
    await grant(server, 'jane-sees', 'id:jane');
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
    await provider?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('goes there and comes back, to where the person was, with nothing left in the address', async () => {
    const { page, problems, requested, close } = await openPage(browser);
    await page.goto(`${server.url}/console/#/clusters/alpha`);
    await page.getByRole('button', { name: `Continue with ${new URL(provider.url).host}` }).click();
    await signInThere(page, 'jane');
    await page.getByRole('heading', { name: 'alpha' }).waitFor();
    expect(page.url()).toBe(`${server.url}/console/#/clusters/alpha`);
    expect(await page.locator('.user-name').textContent()).toBe('id:jane');
    await page.getByRole('link', { name: 'Fleet' }).first().click();
    await page.getByText('1 cluster', { exact: true }).waitFor();
    expect(await page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe('[{},{}]');
    const asked = requested.find((address) => address.startsWith(`${provider.url}/auth?`)) ?? '';
    const parameters = new URL(asked).searchParams;
    expect(parameters.get('code_challenge_method')).toBe('S256');
    expect(parameters.get('response_type')).toBe('code');
    expect(requested.filter((address) => /id_token|eyJ/.test(address))).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });

  it('takes no answer that it did not ask for', async () => {
    const { page, close } = await openPage(browser);
    const before = provider.requests.filter((line) => line.endsWith('/token')).length;
    await page.goto(`${server.url}/console/?code=stolen&state=made-up&iss=${encodeURIComponent(provider.url)}`);
    await page.getByText('belongs to no sign-in of this tab').waitFor();
    expect(page.url()).toBe(`${server.url}/console/`);
    expect(provider.requests.filter((line) => line.endsWith('/token'))).toHaveLength(before);
    await close();
  });

  it('tells the browser to let the page ask this provider where it says, and nobody else', async () => {
    const policy = async (): Promise<string> =>
      (await server.call('GET', '/console/', { token: null })).headers.get('content-security-policy') ?? '';
    expect(provider.tokensAt).not.toBe(provider.url);
    await expect.poll(policy, PATIENCE).toContain(`connect-src 'self' ${provider.url} ${provider.tokensAt};`);
  });

  it('renews the sign-in by itself, with each refresh token once, and keeps none of them', async () => {
    const { page, problems, close } = await signedIn();
    const before = asked('POST /token');
    for (const turn of [1, 2]) {
      // Fifty minutes later: the token is to end in ten.
      await page.evaluate('{ const now = Date.now(); Date.now = () => now + 3_000_000; }');
      await page.goto(`${server.url}/console/#/why?cluster=alpha&turn=${turn}`);
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.getByText('Yes, you may see the cluster alpha').waitFor();
      expect(asked('POST /token')).toBe(before + turn);
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
    await close();
  });

  it('a sign-in that is renewed no more ends, and one click leads back to the same place', async () => {
    const { page, close } = await signedIn();
    provider.refuseTokens(true);
    // The token has ended, as far as the page knows.
    await page.evaluate('{ const now = Date.now(); Date.now = () => now + 4_000_000; }');
    await page
      .getByLabel('Namespace')
      .or(page.getByRole('button', { name: 'Name one all the same' }))
      .first()
      .waitFor();
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await page.getByText('Your sign-in has ended').waitFor();
    provider.refuseTokens(false);
    await page.getByRole('button', { name: `Continue with ${new URL(provider.url).host}` }).click();
    // The provider knows the person still.
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'alpha' }).waitFor();
    expect(page.url()).toBe(`${server.url}/console/#/clusters/alpha`);
    await close();
  });
});

const asked = (line: string): number => provider.requests.filter((each) => each === line).length;

/** Jane, who looks at a cluster. */
async function signedIn(): Promise<Visit> {
  const visit = await openPage(browser);
  await visit.page.goto(`${server.url}/console/#/clusters/alpha`);
  await visit.page.getByRole('button', { name: `Continue with ${new URL(provider.url).host}` }).click();
  await signInThere(visit.page, 'jane');
  await visit.page.getByRole('heading', { name: 'alpha' }).waitFor();
  return visit;
}
