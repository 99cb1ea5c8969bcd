import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  namesShown,
  openPage,
  type Page,
  signIn,
} from './support/browser.ts';
import { faultsOfConsole } from './support/console-faults.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';
import { SignedInPages } from './support/signed-in-pages.ts';

/** A busy machine needs more than the default timeout. */
const PATIENCE = { timeout: 60_000 };
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

let server: Server;
let browser: Browser;
let pages: SignedInPages;

const demoToken = async (user: string): Promise<string> =>
  (await readFile(join(server.dataDir, 'demo', `${user}.token`), 'utf8')).trim();

/** The page of a demo user. afterEach checks that it reported no errors. */
const visitAs = async (user: string, path = '#/'): Promise<Page> =>
  (await pages.visit(await demoToken(user), path)).page;

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
  admin('POST', FLEET_BINDINGS, fleetBinding({ name, to: [user], role: 'clusterpass:viewer', clusters }));

describeWithBrowser('the console', () => {
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ args: ['--demo'] }), launchBrowser()]);
    pages = new SignedInPages(browser, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });
  afterEach(async ({ task }) => {
    const { problems, requested } = await pages.endTest({ failed: task.result?.state === 'fail' });
    expect(problems).toEqual([]);
    for (const address of requested)
      expect(address.startsWith(`${server.url}/`) || address.startsWith('blob:'), address).toBe(true);
  });

  it('signs in with a token and reports an unknown one', async () => {
    const { page } = await pages.openFresh();
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Token', { exact: true }).fill('no-such-token');
    await page.keyboard.press('Enter');
    await page.getByText('The server rejected this token').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(`Bearer ${await demoToken('devi')}\n`);
    await page.keyboard.press('Enter');
    await page.getByText('7 clusters').waitFor();
    expect(await page.locator('.user-name').textContent()).toBe('devi');
  });

  it('keeps the token in memory, or for the tab if the user wants that, and nowhere else', async () => {
    const token = await demoToken('devi');
    const { page, requested } = await pages.openFresh();
    await signIn(page, server, token);
    const stored = () =>
      page.evaluate<string>('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])');
    expect(await stored()).toBe('[{},{},""]');
    await page.reload();
    // A44: what the page says about the token is what happens to it.
    await page.getByText('stays in the memory of this page').waitFor();
    await page.getByLabel('Keep me signed in').check();
    await page.getByText('Your browser stores it, also on disk').waitFor();
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('7 clusters').waitFor();
    await page.reload();
    await page.getByText('7 clusters').waitFor();
    expect(await stored()).toBe(`[{"clusterpass.token":"${token}"},{},""]`);
    expect(page.url()).not.toContain(token);
    expect(requested.join()).not.toContain(token);
    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await stored()).toBe('[{},{},""]');
    expect(server.output.stderr).not.toContain(token);
  });

  it('enforces its policy: no HTML from strings, no inline style, no other server, no frame', async () => {
    // Not of `pages`: the violations are problems of this page.
    const { page, close } = await openPage(browser);
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Token', { exact: true }).waitFor();
    const errorOf = (code: string): Promise<string> =>
      page.evaluate<string>(`(async () => { try { ${code}; return ''; } catch (error) { return String(error); } })()`);
    expect(await errorOf('document.body.innerHTML = "<b>x</b>"')).toContain('TrustedHTML');
    expect(await errorOf('trustedTypes.createPolicy("mine", {})')).toContain('disallowed');
    const violationOf = (code: string): Promise<string> =>
      page.evaluate<string>(`new Promise((done) => {
        addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective), { once: true });
        ${code};
      })`);
    expect(await violationOf('fetch("https://elsewhere.example/").catch(() => {})')).toBe('connect-src');
    expect(
      await violationOf('document.head.append(document.createElement("style")); document.head.lastChild.append("x")'),
    ).toBe('style-src-elem');
    expect(await violationOf('new Image().src = "https://elsewhere.example/x.png"')).toBe('img-src');
    await page.goto('about:blank');
    await page.setContent(`<iframe src="${server.url}/console/"></iframe>`);
    await expect.poll(() => page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
    await close();
  });

  it('searches, filters by readiness and label, sorts and counts', async () => {
    const page = await visitAs('dana');
    await page.getByText('12 clusters').waitFor();
    expect((await namesShown(page)).slice(0, 3)).toEqual(['dev-ap-1', 'dev-eu-1', 'dev-eu-2']);
    await page.getByLabel('Search clusters').fill('prod eks');
    await page.getByText('2 of 12').waitFor();
    expect(await namesShown(page)).toEqual(['prod-eu-1', 'prod-eu-2']);
    await page.getByLabel('Search clusters').fill('');
    await page.getByRole('button', { name: '2 Not ready' }).click();
    await page.getByText('2 of 12').waitFor();
    expect(await namesShown(page)).toEqual(['dev-ap-1', 'prod-ap-1']);
    await page.getByLabel('Filter by label').fill('env=prod');
    await page.keyboard.press('Enter');
    await page.getByText('1 of 12').waitFor();
    await page.getByRole('button', { name: 'Remove filter env=prod' }).click();
    await page.getByRole('button', { name: /^\d+ All$/ }).click();
    await page.getByLabel('Filter by label').fill('region=ap');
    await page.keyboard.press('Enter');
    await page.getByText('3 of 12').waitFor();
    await page.getByRole('button', { name: 'Remove filter region=ap' }).click();
    await page.getByRole('button', { name: 'Version' }).click();
    await page.getByRole('button', { name: 'Version' }).click();
    await page.locator('th[aria-sort="descending"]').waitFor();
    expect((await namesShown(page))[0]).toBe('dev-eu-2');
    await page.getByLabel('Search clusters').fill('no such thing');
    await page.getByText('No clusters match').waitFor();
    await page.getByRole('button', { name: 'Clear search and filters' }).click();
    await page.getByText('12 clusters', { exact: true }).waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await pages.openFresh();
    await signIn(page, server, await demoToken('dana'));
    await page.getByText('12 clusters').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.locator('tr[data-index="0"] a').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => page.evaluate<string>('document.activeElement.textContent'), PATIENCE).toBe('staging-eu-1');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'staging-eu-1' }).waitFor();
    // The focus is at the start of the new page. Its first link leads back.
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

  it('shifts no layout while it loads', async () => {
    const { page } = await pages.openFresh();
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
      ['#/clusters/prod-eu-1', 'Valid for 1 hour'],
      ['#/can-i?cluster=prod-eu-1', 'Checks your own permissions'],
    ]) {
      await page.goto(`${server.url}/console/${path}`);
      // Browsers do not count layout shifts soon after a key or a click.
      await page.reload();
      await page.getByText(shown ?? '').waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      const moved = (await page.evaluate<number[]>('shifts')).reduce((sum, value) => sum + value, 0);
      // The connection status changes its width. Web Vitals call 0.1 good.
      expect(moved, path).toBeLessThan(0.001);
    }
  });

  it('decision 13: shows changes of clusters and permissions as they happen', async () => {
    const page = await visitAs('devi');
    await page.getByText('7 clusters').waitFor();
    await setReady('dev-eu-1', 'False', 'CableUnplugged');
    await page.getByRole('row', { name: /dev-eu-1 .*Not ready.*CableUnplugged/ }).waitFor();
    await page.getByRole('link', { name: 'dev-eu-1' }).click();
    await page.locator('.timeline').getByText('Ready: True → False').waitFor();
    await setReady('dev-eu-1', 'True', 'ClusterReady');
    await page.locator('.timeline').getByText('Ready: False → True').waitFor();
    await page.getByRole('link', { name: 'Clusters' }).first().click();
    await bindViewer('devi-sees-prod-eu', 'devi', 'env=prod,region=eu');
    await page.getByText('9 clusters').waitFor();
    expect(await namesShown(page)).toContain('prod-eu-1');
    await page.getByRole('link', { name: 'prod-eu-1' }).click();
    await page.getByText('devi-sees-prod-eu').waitFor();
    await admin('DELETE', `${FLEET_BINDINGS}/devi-sees-prod-eu`);
    await page.getByRole('heading', { name: 'Cluster not found', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Clusters' }).first().click();
    await page.getByText('7 clusters').waitFor();
  });

  it('shares session and watch among seven tabs, also when the first is closed, and signs out all', async () => {
    const { page, requested } = await pages.openFresh();
    const token = await demoToken('devi');
    const context = page.context();
    const tabs = [page];
    // Six watches would use up the connections of the browser, and the seventh tab would wait for ever.
    while (tabs.length < 7) tabs.push(await context.newPage());
    for (const tab of tabs.slice(1)) tab.on('request', (request) => requested.push(request.url()));
    for (const tab of tabs) {
      // Browsers slow down hidden tabs.
      await tab.bringToFront();
      // The others get the session of the first.
      if (tab === page) await signIn(tab, server, token);
      else await tab.goto(`${server.url}/console/#/`);
      await tab.getByText('7 clusters').waitFor();
    }
    const stored = 'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])';
    expect(await tabs[1]?.evaluate<string>(stored)).toBe('[{},{},""]');
    const watches = (): number => requested.filter((address) => address.includes('watch=true')).length;
    expect(watches()).toBe(1);
    await setReady('dev-eu-1', 'False', 'CableUnplugged');
    const row = /dev-eu-1 .*CableUnplugged/;
    for (const tab of tabs) await tab.getByRole('row', { name: row }).waitFor({ state: 'attached' });
    await page.close();
    await setReady('dev-eu-1', 'True', 'ClusterReady');
    for (const tab of tabs.slice(1)) {
      await tab.getByText('Live', { exact: true }).waitFor();
      await tab.getByRole('row', { name: row }).waitFor({ state: 'detached' });
    }
    expect(watches()).toBe(2);
    expect(requested.filter((address) => address.includes('sendInitialEvents'))).toHaveLength(1);
    const [first, ...others] = tabs.slice(1);
    await first?.locator('.menu summary').click();
    await first?.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of others) await tab.getByLabel('Token', { exact: true }).waitFor();
  });

  it('shows endpoints, CA, access and commands of a cluster', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    const { items } = (await server.call('GET', '/auth/v1/clusters?fieldSelector=metadata.name%3Dprod-eu-1')).json;
    const pem = Buffer.from(items[0].spec.orchestratorApiEndpoints.caBundle, 'base64').toString();
    const { fingerprint256, validToDate } = new X509Certificate(pem);
    const end = validToDate.toISOString().slice(0, 19).replace('T', ' ');
    await page.getByText(`SHA-256 ${fingerprint256} ends ${end} UTC`).waitFor();
    await page.getByRole('cell', { name: 'https://api.prod-eu-1.internal.example.com:6443', exact: true }).waitFor();
    await page.getByText('demo-prod-eu-1-viewer').waitFor();
    await page
      .getByRole('definition')
      .filter({ hasText: /^24 hours$/ })
      .waitFor();
    await page.getByRole('radio', { name: 'curl' }).check();
    const panel = page.getByRole('region', { name: 'Connect' });
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

  it('A44: previews, issues, tests, shows, decodes and revokes a pass', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByText('Valid for 1 hour').waitFor();
    expect(await page.getByLabel('Service account').locator('option').allTextContents()).toEqual(['builder']);
    await page.getByLabel('Lifetime').selectOption('10 minutes');
    await page.getByText('Valid for 10 minutes').waitFor();
    await page.getByLabel('Lifetime').selectOption('24 hours');
    await page.getByText('Valid for 24 hours').waitFor();
    await page.getByRole('button', { name: 'Issue pass' }).click();
    await page.getByRole('region', { name: 'Your pass in prod-eu-1' }).waitFor();
    await page.getByText('system:serviceaccount:ci:builder').first().waitFor();
    expect(await page.locator('.pass-card').innerText()).not.toContain('eyJ');
    await page.getByRole('button', { name: 'Test pass' }).click();
    await page.getByText('Clusterpass accepts it as system:serviceaccount:ci:builder').waitFor();
    await page.getByRole('button', { name: 'Show pass' }).click();
    const token = await page.getByLabel('Pass', { exact: true }).inputValue();
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    await page.getByText(claims.jti).waitFor();
    const self = '/orchestrator/prod-eu-1/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const review = await server.call('POST', self, { token, body: {} });
    expect(review.json.status.userInfo.username).toBe('system:serviceaccount:ci:builder');
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke now' }).click();
    await page.getByText('Revoked at Clusterpass, expires in').waitFor();
    await page.getByText('The cluster prod-eu-1 does not notice: it accepts the pass until').waitFor();
    expect(await page.getByText('Clusterpass accepts it').count()).toBe(0);
    await page.getByRole('button', { name: 'Test pass' }).click();
    await page.getByText('Clusterpass rejects it', { exact: true }).waitFor();
    expect((await server.call('POST', self, { token, body: {} })).code).toBe(401);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Issue pass' }).waitFor();
    expect(await page.content()).not.toContain(token);
  });

  it('A44: says that a revocation reaches a cluster that asks for each pass', async () => {
    const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/prod-eu-1';
    const annotate = (value: string | null) =>
      server.call('PATCH', path, {
        body: { metadata: { annotations: { 'clusterpass.dev/token-checks': value } } },
      });
    expect((await annotate('webhook')).code).toBe(200);
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByText('Valid for 1 hour').waitFor();
    await page.getByRole('button', { name: 'Issue pass' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke now' }).click();
    await page.getByText('The cluster prod-eu-1 asks Clusterpass, and refuses it within about 15 seconds.').waitFor();
    expect((await annotate(null)).code).toBe(200);
  });

  it('reloads the service accounts when the page regains focus, and keeps the input', async () => {
    const page = await visitAs('dana', '#/clusters/dev-us-1');
    await page.getByText('Valid for 1 hour').waitFor();
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

  it('says that a pass without a record cannot be revoked', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByLabel('Keep a record of this pass').uncheck();
    await page.getByText('Valid for 1 hour').waitFor();
    await page.getByRole('button', { name: 'Issue pass' }).click();
    await page.getByText('You cannot revoke this pass').waitFor();
  });

  it('forgets why a pass was not issued when the form changes', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByText('Valid for 1 hour').waitFor();
    const message = 'no tokens are issued at the moment';
    const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 503 };
    // Not the dry runs.
    const issuing = /\/token$/;
    await page.route(issuing, (route) => route.fulfill({ status: 503, json: failure }));
    await page.getByRole('button', { name: 'Issue pass' }).click();
    await page.getByText(message).waitFor();
    await page.getByLabel('Keep a record of this pass').uncheck();
    await page.getByText('Valid for 1 hour').waitFor();
    await page.unroute(issuing);
  });

  it('binds a pass to a Pod and shows in the preview that the Pod does not exist', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByLabel('Bound object').selectOption('Pod');
    await page.getByText('Enter the name of the Pod').waitFor();
    await page.getByLabel('Pod name').fill('no-such-pod');
    await page.getByText('pods "no-such-pod" not found').waitFor();
    expect(await page.getByRole('button', { name: 'Issue pass' }).isDisabled()).toBe(true);
    const pods = await server.call('GET', '/orchestrator/prod-eu-1/api/v1/namespaces/ci/pods');
    await page.getByLabel('Pod name').fill(pods.json.items[0].metadata.name);
    await page.getByText('Valid for 1 hour').waitFor();
  });

  it('A6: shows a denied permission and a manifest that grants exactly this permission', async () => {
    const page = await visitAs('carl', '#/clusters/prod-eu-1');
    await page.getByRole('button', { name: 'Enter a name' }).click();
    await page.getByLabel('Namespace').fill('shop');
    await page.getByLabel('Service account').fill('deployer');
    await page.getByText('cannot create resource "serviceaccounts/token"').waitFor();
    expect(await page.getByRole('button', { name: 'Issue pass' }).isDisabled()).toBe(true);
    await page.getByRole('link', { name: 'Check my permissions' }).click();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('No, you cannot get a pass for shop/deployer in prod-eu-1').waitFor();
    const manifest = await page.locator('.access-result pre').innerText();
    for (const document of parseAllDocuments(manifest)) {
      const { kind, metadata } = document.toJS();
      const ofNamespace = `${RBAC}/namespaces/${metadata.namespace}/${kind.toLowerCase()}s`;
      await admin('POST', kind === 'FleetRoleBinding' ? FLEET_BINDINGS : ofNamespace, document.toJS());
    }
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Yes, you can get a pass for shop/deployer in prod-eu-1').waitFor();
    expect(await page.locator('.grant-path').innerText()).toContain('create-serviceaccounts-token-deployer');
  });

  it('tells a user without access that there are no clusters, and who may register one of that', async () => {
    const account = '/orchestrator/dev-eu-1/api/v1/namespaces/shop/serviceaccounts';
    await admin('POST', account, { metadata: { name: 'guest' } });
    const issued = await server.call('POST', `${account}/guest/token`, { body: { spec: { audiences: [] } } });
    const { page } = await pages.openFresh();
    await signIn(page, server, issued.json.status.token);
    await page.getByText('You do not have access to any cluster').waitFor();
    const rules = [{ verbs: ['create'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }];
    await admin('POST', `${RBAC}/clusterroles`, { metadata: { name: 'registers' }, rules });
    const subjects = [{ kind: 'User', name: 'system:cluster:dev-eu-1:serviceaccount:shop:guest' }];
    const roleRef = { kind: 'ClusterRole', name: 'registers' };
    await admin('POST', `${RBAC}/clusterrolebindings`, { metadata: { name: 'registers' }, subjects, roleRef });
    const refocused = async (): Promise<string> => {
      await page.evaluate('window.dispatchEvent(new Event("focus"))');
      return page.locator('main').innerText();
    };
    await expect
      .poll(refocused, PATIENCE)
      .toMatch(/Register a cluster[\s\S]*There is no cluster that you may see: register one/);
    // Deleting the account ends the session.
    await admin('DELETE', `${account}/guest`);
    await page.getByText('Your session has expired').waitFor();
  });

  it('A45: shows hostile texts as texts, in every field that takes them and in its own address', async () => {
    const hostile = (field: string): string => `<img src=x onerror="window.pwned='${field}'">{{7*7}}javascript:pwned`;
    const path = `${CLUSTERS}/hostile`;
    await admin('POST', CLUSTERS, {
      apiVersion: 'clusterregistry.k8s.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name: 'hostile', annotations: { note: hostile('annotation') } },
    });
    const time = '2026-11-14T00:00:00Z';
    const condition = (type: string) => ({
      ...{ type, status: 'False', reason: hostile('reason'), message: `\u202e${hostile('message')}` },
      ...{ lastTransitionTime: time, lastHeartbeatTime: time },
    });
    const conditions = [condition('Ready'), condition(hostile('condition'))];
    const status = { type: hostile('type'), version: hostile('version'), conditions };
    await admin('PATCH', `${path}/status`, { status }, MERGE);
    const { page } = await pages.openFresh();
    await signIn(page, server, server.adminToken);
    const shown = async (text: string): Promise<void> => {
      await page
        .getByText(text, { exact: false })
        .first()
        .waitFor({ state: 'attached', ...PATIENCE });
      const found =
        'JSON.stringify([window.pwned, document.querySelectorAll(`img[onerror], [href^=javascript]`).length])';
      expect(await page.evaluate<string>(found)).toBe('[null,0]');
    };
    await shown(hostile('version'));
    const go = (hash: string) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
    await go('#/clusters/hostile');
    await shown(hostile('message'));
    // At the top, too: on a phone the conditions are below the forms.
    await page.locator('.cluster-head').getByText('[U+202E]<img').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('\u202e');
    await shown(hostile('condition'));
    await go(`#/clusters/${encodeURIComponent(hostile('name'))}`);
    await shown(hostile('name'));
    await go('#/');
    await shown(hostile('version'));
    await admin('DELETE', path);
  });

  it('A45: shows hostile names of roles and bindings, audiences, errors and questions as texts', async () => {
    const hostile = (field: string): string => `<img src=x onerror="window.pwned='${field}'">{{7*7}}javascript:pwned`;
    const hasNoMarkup = async (page: Page): Promise<void> => {
      const found =
        'JSON.stringify([window.pwned, document.querySelectorAll(`img[onerror], [href^=javascript]`).length])';
      expect(await page.evaluate<string>(found)).toBe('[null,0]');
    };
    const isText = async (page: Page, text = ''): Promise<void> => {
      await page
        .getByText(text, { exact: false })
        .first()
        .waitFor({ state: 'attached', ...PATIENCE });
      await hasNoMarkup(page);
    };
    // Names of RBAC objects may have every character but / and %.
    const [role, binding] = ['role', 'binding'].map((field) => hostile(field).replaceAll('"', ''));
    const rules = [
      { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['evil'] },
    ];
    await admin('POST', `${RBAC}/clusterroles`, { metadata: { name: role }, rules });
    await admin('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: binding },
      subjects: [{ kind: 'User', name: 'carl', apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    });
    const page = await visitAs('carl', '#/can-i?cluster=prod-eu-1&account=shop/evil');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('Yes, you can get a pass for shop/evil in prod-eu-1').waitFor();
    await isText(page, role);
    await isText(page, binding);
    const go = (hash: string) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
    // The question of an address, with its answer: an error, or a denial with a manifest.
    const question = new URLSearchParams({
      cluster: hostile('cluster'),
      account: `${hostile('ns')}/${hostile('name')}`,
    });
    await go(`#/can-i?${question}`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.access-result, [role="alert"]').first().waitFor();
    await hasNoMarkup(page);
    // A pass with such an audience: its preview, its claims, and the error of a bound object.
    await go('#/clusters/prod-eu-1');
    await page.getByText('Valid for 1 hour').waitFor();
    await page.getByLabel('Audience').fill(hostile('audience'));
    await page.getByLabel('Bound object').selectOption('Pod');
    await page.getByLabel('Pod name').fill(hostile('pod'));
    await isText(page, "window.pwned='pod'");
    await page.getByLabel('Bound object').selectOption('');
    await page.getByText('Valid for 1 hour').waitFor();
    await page.getByRole('button', { name: 'Issue pass' }).click();
    await page.getByText('Expires in').waitFor();
    await isText(page, hostile('audience'));
    await admin('DELETE', `${RBAC}/clusterrolebindings/${encodeURIComponent(binding ?? '')}`);
    await admin('DELETE', `${RBAC}/clusterroles/${encodeURIComponent(role ?? '')}`);
  });

  it('reconnects after an outage and shows what changed meanwhile', async () => {
    const { page, requested } = await pages.visit(await demoToken('dana'));
    await page.getByText('12 clusters').waitFor();
    await page.context().setOffline(true);
    await page.getByText('Offline', { exact: true }).waitFor();
    await page.context().setOffline(false);
    await page.getByText('Live', { exact: true }).waitFor();
    await server.kill();
    await page.getByText('Connection lost').waitFor();
    expect(await namesShown(page)).toHaveLength(12);
    const attempts = (): number => requested.filter((address) => address.includes('watch=true')).length;
    const before = attempts();
    await page.getByRole('button', { name: 'Retry now' }).click();
    await expect.poll(attempts, PATIENCE).toBeGreaterThan(before);
    server = await server.restart();
    await setReady('prod-us-1', 'False', 'WhileYouWereAway');
    // The page may have reconnected already; then the button is gone.
    await page.evaluate('document.querySelector(".connection button")?.click()');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('row', { name: /prod-us-1 .*WhileYouWereAway/ }).waitFor();
  });

  // The last one: it kills the server.
  it('has no accessibility fault on any page, light and dark, 1280 and 360 pixels wide', {
    timeout: 300_000,
  }, async () => {
    expect(await faultsOfConsole(server, browser)).toEqual([]);
  });
});
