import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  namesShown,
  openPage,
  type Page,
  signIn,
  type Visit,
} from './support/browser.ts';
import { type Server, startServer } from './support/server.ts';

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
/** What takes a moment takes longer on a busy machine. */
const PATIENCE = { timeout: 20_000 };
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

let server: Server;
let browser: Browser;
let visit: Visit | undefined;

const demoToken = async (user: string): Promise<string> =>
  (await readFile(join(server.dataDir, 'demo', `${user}.token`), 'utf8')).trim();

/** A page with somebody signed in; what went wrong in it is looked at after the test. */
async function visitAs(user: string, path = ''): Promise<Page> {
  visit = await openPage(browser);
  await signIn(visit.page, server, await demoToken(user), path);
  return visit.page;
}

const admin = async (method: string, path: string, body?: object, headers = {}): Promise<void> => {
  const { code, text } = await server.call(method, path, { body, headers });
  expect([200, 201], text).toContain(code);
};

const setReady = (cluster: string, status: string, reason: string): Promise<void> =>
  admin(
    'PATCH',
    `${CLUSTERS}/${cluster}/status`,
    { status: { conditions: [{ type: 'Ready', status, reason, lastTransitionTime: '2026-11-14T00:00:00Z' }] } },
    MERGE,
  );

const bindViewer = (name: string, user: string, clusters: string): Promise<void> =>
  admin('POST', `${RBAC}/clusterrolebindings`, {
    metadata: { name, annotations: { 'clusterpass.dev/clusters': clusters } },
    subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'clusterpass:viewer' },
  });

describeWithBrowser('the console', () => {
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ args: ['--demo'] }), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });
  afterEach(async () => {
    const { problems = [], requested = [], close } = visit ?? {};
    visit = undefined;
    await close?.();
    expect(problems).toEqual([]);
    for (const address of requested)
      expect(address.startsWith(`${server.url}/`) || address.startsWith('blob:'), address).toBe(true);
  });

  it('signs in with a token, and refuses one that nobody knows', async () => {
    visit = await openPage(browser);
    const { page } = visit;
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Token', { exact: true }).fill('no-such-token');
    await page.keyboard.press('Enter');
    await page.getByText('The server does not know this token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(`Bearer ${await demoToken('devi')}\n`);
    await page.keyboard.press('Enter');
    await page.getByText('7 clusters').waitFor();
    expect(await page.locator('.user-name').textContent()).toBe('devi');
  });

  it('keeps the token in memory, or for the tab when told to, and nowhere else', async () => {
    const token = await demoToken('devi');
    const page = await visitAs('devi');
    const kept = () =>
      page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])');
    expect(await kept()).toBe('[{},{},""]');
    await page.reload();
    await page.getByLabel('Keep me signed in').check();
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('7 clusters').waitFor();
    await page.reload();
    await page.getByText('7 clusters').waitFor();
    expect(await kept()).toBe(`[{"clusterpass.token":"${token}"},{},""]`);
    expect(page.url()).not.toContain(token);
    expect(visit?.requested.join()).not.toContain(token);
    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await kept()).toBe('[{},{},""]');
    expect(server.output.stderr).not.toContain(token);
  });

  it('searches, filters by state and label, sorts and counts', async () => {
    const page = await visitAs('dana');
    await page.getByText('12 clusters').waitFor();
    expect((await namesShown(page)).slice(0, 3)).toEqual(['dev-ap-1', 'dev-eu-1', 'dev-eu-2']);
    await page.keyboard.press('/');
    await page.keyboard.type('prod eks');
    await page.getByText('2 of 12').waitFor();
    expect(await namesShown(page)).toEqual(['prod-eu-1', 'prod-eu-2']);
    await page.getByLabel('Search clusters').fill('');
    await page.getByRole('button', { name: '2 Not ready' }).click();
    await page.getByText('2 of 12').waitFor();
    expect(await namesShown(page)).toEqual(['dev-ap-1', 'prod-ap-1']);
    await page.getByRole('button', { name: /^prod/ }).click();
    await page.getByText('1 of 12').waitFor();
    await page.getByRole('button', { name: 'env=prod remove' }).click();
    await page.getByRole('button', { name: 'All clusters' }).click();
    await page.getByLabel('Add a label').selectOption('region=ap');
    await page.getByText('3 of 12').waitFor();
    await page.getByRole('button', { name: 'region=ap remove' }).click();
    await page.getByRole('button', { name: 'Version' }).click();
    await page.getByRole('button', { name: 'Version' }).click();
    await page.locator('th[aria-sort="descending"]').waitFor();
    expect((await namesShown(page))[0]).toBe('dev-eu-2');
    await page.getByLabel('Search clusters').fill('no such thing');
    await page.getByText('No cluster matches').waitFor();
    await page.getByRole('button', { name: 'Clear search and filters' }).click();
    await page.getByText('12 clusters').waitFor();
  });

  it('goes through the table with the keyboard alone', async () => {
    const page = await visitAs('dana');
    await page.getByText('12 clusters').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.locator('tr[data-index="0"] a').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => page.evaluate<string>('document.activeElement.textContent'), PATIENCE).toBe('staging-eu-1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'staging-eu-1' }).waitFor();
    // Reading goes on in the new page, and its first link leads back.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('12 clusters').waitFor();
    await page.locator('.menu summary').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'hidden' });
    expect(await page.evaluate<string>('document.activeElement.tagName')).toBe('SUMMARY');
    await page.locator('tr[data-index="0"] .col-region').click();
    await page.getByRole('heading', { name: 'dev-ap-1' }).waitFor();
  });

  it('moves nothing that the person has not moved', async () => {
    visit = await openPage(browser);
    const { page } = visit;
    await page.addInitScript(`window.shifts = []; new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifts.push(value);
    }).observe({ type: 'layout-shift', buffered: true })`);
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Keep me signed in').check();
    await page.getByLabel('Token', { exact: true }).fill(await demoToken('dana'));
    await page.keyboard.press('Enter');
    await page.getByText('12 clusters').waitFor();
    for (const [path, shown] of [
      ['', '12 clusters'],
      ['#/clusters/prod-eu-1', 'good for 1 hour'],
      ['#/why?cluster=prod-eu-1', 'Question'],
    ]) {
      await page.goto(`${server.url}/console/${path}`);
      // Loaded without a key or a click, which would excuse what moves soon after.
      await page.reload();
      await page.getByText(shown ?? '').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      const moved = (await page.evaluate<number[]>('shifts')).reduce((sum, value) => sum + value, 0);
      // The word beside the dot has another length when it is live. A tenth counts as good elsewhere.
      expect(moved, path).toBeLessThan(0.001);
    }
  });

  it('decision 13: shows a change, and a permission that is given and taken, as they happen', async () => {
    const page = await visitAs('devi');
    await page.getByText('7 clusters').waitFor();
    await setReady('dev-eu-1', 'False', 'SomebodyTripped');
    await page.getByRole('row', { name: /dev-eu-1 .*Not ready.*SomebodyTripped/ }).waitFor();
    await page.getByRole('link', { name: 'dev-eu-1' }).click();
    await page.locator('.timeline').getByText('Ready: True → False').waitFor();
    await setReady('dev-eu-1', 'True', 'ClusterReady');
    await page.locator('.timeline').getByText('Ready: False → True').waitFor();
    await page.getByRole('link', { name: 'Fleet' }).first().click();
    await bindViewer('devi-sees-prod-eu', 'devi', 'env=prod,region=eu');
    await page.getByText('9 clusters').waitFor();
    expect(await namesShown(page)).toContain('prod-eu-1');
    await page.getByRole('link', { name: 'prod-eu-1' }).click();
    await page.getByText('devi-sees-prod-eu').waitFor();
    await admin('DELETE', `${RBAC}/clusterrolebindings/devi-sees-prod-eu`);
    await page.getByText('You do not see a cluster of this name').waitFor();
    await page.getByRole('link', { name: 'Fleet' }).first().click();
    await page.getByText('7 clusters').waitFor();
  });

  it('tells what there is to know about a cluster', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    const { items } = (await server.call('GET', '/auth/v1/clusters?fieldSelector=metadata.name%3Dprod-eu-1')).json;
    const pem = Buffer.from(items[0].spec.orchestratorApiEndpoints.caBundle, 'base64').toString();
    await page.getByText(new X509Certificate(pem).fingerprint256).waitFor();
    await page.getByRole('cell', { name: 'https://api.prod-eu-1.internal.example.com:6443', exact: true }).waitFor();
    await page.getByText('demo-prod-eu-1-viewer').waitFor();
    await page.getByText('24 hours', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'clusterpass' }).press('ArrowRight');
    await page.getByRole('tab', { name: 'kubectl' }).press('ArrowRight');
    const panel = page.getByRole('tabpanel', { name: 'curl' });
    expect(await panel.locator('pre').innerText()).toContain(
      `${server.url}/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token`,
    );
    await panel.getByRole('button', { name: 'Copy' }).click();
    await panel.getByText('Copied').waitFor();
    const downloaded = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download kubeconfig' }).click();
    const file = await downloaded;
    expect(file.suggestedFilename()).toBe('prod-eu-1.kubeconfig.yaml');
    const [config] = parseAllDocuments(await readFile(await file.path(), 'utf8'));
    expect(config?.toJS()).toMatchObject({ kind: 'Config', 'current-context': 'prod-eu-1' });
  });

  it('issues a pass: predicted, hidden until asked for, decoded, good, and revoked', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByText('good for 1 hour').waitFor();
    expect(await page.getByLabel('Service account').locator('option').allTextContents()).toEqual(['builder']);
    await page.getByLabel('Lifetime').press('Home');
    await page.getByText('good for 10 minutes').waitFor();
    await page.getByLabel('Lifetime').press('End');
    await page.getByText('good for 24 hours').waitFor();
    await page.getByRole('button', { name: 'Issue the pass' }).click();
    await page.getByText('system:serviceaccount:ci:builder').first().waitFor();
    expect(await page.locator('.ticket').innerText()).not.toContain('eyJ');
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByText('Accepted as system:serviceaccount:ci:builder').waitFor();
    await page.getByRole('button', { name: 'Show the token' }).click();
    const token = await page.getByLabel('The token').inputValue();
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    await page.getByText(claims.jti).waitFor();
    const self = '/orchestrator/prod-eu-1/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const review = await server.call('POST', self, { token, body: {} });
    expect(review.json.status.userInfo.username).toBe('system:serviceaccount:ci:builder');
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke it now' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByText('Refused', { exact: true }).waitFor();
    expect((await server.call('POST', self, { token, body: {} })).code).toBe(401);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Issue the pass' }).waitFor();
    expect(await page.content()).not.toContain(token);
  });

  it('offers accounts as they are when the person comes back to the page, and keeps what they have typed', async () => {
    const page = await visitAs('dana', '#/clusters/dev-us-1');
    await page.getByText('good for 1 hour').waitFor();
    await page.getByLabel('Audience').fill('vault');
    const namespaces = () => page.getByLabel('Namespace').locator('option').allTextContents();
    expect(await namespaces()).not.toContain('late');
    await admin('POST', '/orchestrator/dev-us-1/api/v1/namespaces', { metadata: { name: 'late' } });
    await admin('POST', '/orchestrator/dev-us-1/api/v1/namespaces/late/serviceaccounts', {
      metadata: { name: 'newcomer' },
    });
    await expect
      .poll(async () => {
        await page.evaluate('window.dispatchEvent(new Event("focus"))');
        return namespaces();
      }, PATIENCE)
      .toContain('late');
    expect(await page.getByLabel('Audience').inputValue()).toBe('vault');
  });

  it('says who may not revoke a pass', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByLabel('Keep a record of it').uncheck();
    await page.getByText('good for 1 hour').waitFor();
    await page.getByRole('button', { name: 'Issue the pass' }).click();
    await page.getByText('You may not revoke it').waitFor();
  });

  it('binds a pass to a Pod, and says beforehand when that cannot be', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByLabel('Ends with').selectOption('Pod');
    await page.getByText('Choose an account, and a name').waitFor();
    await page.getByLabel('Name of the Pod').fill('no-such-pod');
    await page.getByText('pods "no-such-pod" not found').waitFor();
    expect(await page.getByRole('button', { name: 'Issue the pass' }).isDisabled()).toBe(true);
    const pods = await server.call('GET', '/orchestrator/prod-eu-1/api/v1/namespaces/ci/pods');
    await page.getByLabel('Name of the Pod').fill(pods.json.items[0].metadata.name);
    await page.getByText('good for 1 hour').waitFor();
  });

  it('A6: is refused what is not allowed, says what is missing, and that is enough', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByRole('button', { name: 'Another account' }).click();
    await page.getByLabel('Namespace').fill('shop');
    await page.getByLabel('Service account').fill('deployer');
    await page.getByText('cannot create resource "serviceaccounts/token"').waitFor();
    expect(await page.getByRole('button', { name: 'Issue the pass' }).isDisabled()).toBe(true);
    await page.getByRole('link', { name: 'Why?' }).click();
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('No, you may not get a pass for shop/deployer in prod-eu-1').waitFor();
    const rule = await page.locator('.verdict pre').innerText();
    for (const document of parseAllDocuments(rule)) {
      const { kind, metadata } = document.toJS();
      const path = `${RBAC}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s`;
      await admin('POST', path, document.toJS());
    }
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes, you may get a pass for shop/deployer in prod-eu-1').waitFor();
    expect(await page.locator('.grant-path').innerText()).toContain('use-deployer');
  });

  it('shows to whoever sees nothing that there is nothing', async () => {
    const account = '/orchestrator/dev-eu-1/api/v1/namespaces/shop/serviceaccounts';
    await admin('POST', account, { metadata: { name: 'guest' } });
    const issued = await server.call('POST', `${account}/guest/token`, { body: { spec: { audiences: [] } } });
    visit = await openPage(browser);
    const { page } = visit;
    await signIn(page, server, issued.json.status.token);
    await page.getByText('There is no cluster that you may see').waitFor();
    // The account goes, and the sign-in with it.
    await admin('DELETE', `${account}/guest`);
    await page.getByText('Your sign-in has ended').waitFor();
  });

  it('loses the server and finds it again, with what changed meanwhile', async () => {
    const page = await visitAs('dana');
    await page.getByText('12 clusters').waitFor();
    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).waitFor();
    await page.context().setOffline(false);
    await page.getByText('Live', { exact: true }).waitFor();
    await server.kill();
    await page.getByText('Connection lost').waitFor();
    expect(await namesShown(page)).toHaveLength(12);
    const attempts = (): number => visit?.requested.filter((address) => address.includes('watch=true')).length ?? 0;
    const before = attempts();
    await page.getByRole('button', { name: 'Try now' }).click();
    await expect.poll(attempts, PATIENCE).toBeGreaterThan(before);
    server = await server.restart();
    await setReady('prod-us-1', 'False', 'WhileYouWereAway');
    // It may have come back by itself, and the button be gone.
    await page.evaluate('document.querySelector(".pill button")?.click()');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('row', { name: /prod-us-1 .*WhileYouWereAway/ }).waitFor();
  });
});
