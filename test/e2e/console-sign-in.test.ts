import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Browser, describeWithBrowser, launchBrowser, openPage, type Page } from './support/browser.ts';
import { addCluster, grant } from './support/fleet.ts';
import { authenticationConfig, CLIENT_ID, type IdentityProvider, startProvider } from './support/provider.ts';
import { type Server, startServer } from './support/server.ts';

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
    provider = await startProvider({ groups: { jane: ['devs'] } });
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

  it('tells the browser to let the page ask this provider, and nobody else', async () => {
    const { headers } = await server.call('GET', '/console/', { token: null });
    expect(headers.get('content-security-policy')).toContain(`connect-src 'self' ${provider.url};`);
  });
});
