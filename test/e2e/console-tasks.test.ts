import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { type Browser, describeWithBrowser, launchBrowser, type Page } from './support/browser.ts';
import { inspect } from './support/console-faults.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { SignedInPages } from './support/signed-in-pages.ts';

/** The tasks of a fleet, from the first page to the end. docs/console.md has a row for each, with its clicks. */

const TABLE = readFileSync(join(import.meta.dirname, '../../docs/console.md'), 'utf8');
const documented = new Map(
  [...TABLE.matchAll(/^\| (.+?) \| (\d+) \| \[/gm)].map(([, task, clicks]) => [task, Number(clicks)]),
);

const REQUESTS = '/apis/clusterpass.dev/v1alpha1/accessrequests';
/** The longest that the server accepts, without a character at which a browser breaks a line. */
const [NAMESPACE, ACCOUNT] = ['n'.repeat(63), 'a'.repeat(253)];
const LONG = 'requester-with-a-long-name-'.repeat(4);
const RIGHT_TO_LEFT = 'فريق-المتجر';

let server: Server;
let browser: Browser;
let pages: SignedInPages;
const faults: string[] = [];
const done = new Set<string>();

interface Task {
  readonly page: Page;
  /** Types into a field, to which a person points before. */
  readonly type: (field: Locator, text: string) => Promise<void>;
}

/** A task that begins at the first page, or at a link. */
function task(
  name: string,
  token: () => string,
  work: (task: Task) => Promise<void>,
  link?: () => Promise<string>,
): void {
  it(name, async () => {
    const { page } = await pages.visit(token(), await link?.());
    // The first page is another one for those who see the fleet as a whole.
    if (link === undefined) await page.evaluate(`void (location.hash = '')`);
    await page.evaluate(
      `'clicks' in window || addEventListener('pointerdown', ({ isTrusted }) => { if (isTrusted) clicks++; }, true);
       window.clicks = 0`,
    );
    const type = async (field: Locator, text: string): Promise<void> => {
      await field.click();
      await field.fill(text);
    };
    await work({ page, type });
    expect([name, await page.evaluate('clicks')]).toEqual([name, documented.get(name)]);
    done.add(name);
  });
}

const admin = async (method: string, path: string, body: object, headers = {}): Promise<void> => {
  const { code, text } = await server.call(method, path, { body, headers });
  expect([200, 201], text).toContain(code);
};

describeWithBrowser('the tasks of a fleet', () => {
  beforeAll(async () => {
    const users = { kim: ['team-kim'], [LONG]: [RIGHT_TO_LEFT, 'g'.repeat(200)] };
    const help = 'Ask the owner of the cluster: https://wiki.example.com/owners';
    const options = { args: ['--demo', '--console-help-text', help], users };
    [server, browser] = await Promise.all([startServer(options), launchBrowser()]);
    pages = new SignedInPages(browser, server);
    const asks = { name: 'people-ask', role: 'clusterpass:access-requester' };
    await admin('POST', FLEET_BINDINGS, fleetBinding({ ...asks, to: ['kim', LONG] }));
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });
  afterEach(async ({ task: { result } }) => {
    const { problems } = await pages.endTest({ failed: result?.state === 'fail' });
    expect([...problems, ...faults.splice(0)]).toEqual([]);
  });

  task(
    'a kubeconfig for dev',
    () => readFileSync(join(server.dataDir, 'demo/devi.token'), 'utf8').trim(),
    async ({ page, type }) => {
      await type(page.getByLabel('Filter by label'), 'env=dev');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Kubeconfig…' }).click();
      await page.getByLabel('As an account').check();
      await type(page.getByLabel('Service account'), 'shop/deployer');
      await inspect(page, 'a kubeconfig for a selection', faults);
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download for 4 clusters' }).click();
      expect((await downloading).suggestedFilename()).toBe('fleet.kubeconfig.yaml');
    },
  );

  task(
    'refused: ask for access',
    () => tokenOf('kim'),
    async ({ page, type }) => {
      await page.getByText('Ask the owner of the cluster').waitFor();
      await inspect(page, 'no clusters', faults);
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.getByRole('link', { name: 'Ask for access' }).click();
      await type(page.getByRole('combobox', { name: 'Cluster', exact: true }), 'prod-us-2');
      await page.getByRole('radio', { name: 'Passes of a service account' }).check();
      await type(page.getByLabel('Service account', { exact: true }), 'shop/deployer');
      await type(page.getByLabel('Reason'), 'INC-7: <b>roll back</b> the shop');
      await page.getByRole('button', { name: 'Request access' }).click();
      const name = 'You ask for access to prod-us-2: see the cluster, passes of shop/deployer';
      const card = page.getByRole('article', { name });
      await card.getByText('INC-7: <b>roll back</b> the shop').waitFor();
      await expect.poll(() => card.getByRole('button').allTextContents()).toEqual(['Withdraw']);
      await inspect(page, 'an own request', faults);
    },
  );

  task(
    'approve a request, from its link',
    () => server.adminToken,
    async ({ page }) => {
      const card = page.getByRole('article', { name: 'kim asks for access to prod-us-2' });
      await card.getByText('system:authenticated, team-kim').waitFor();
      await expect.poll(() => card.locator('dl').innerText()).toMatch(/Would gain\s+see the cluster, passes of shop/);
      await card.getByText('exists', { exact: true }).waitFor();
      const requests = page.getByRole('navigation').getByRole('link', { name: 'Requests' });
      await expect.poll(() => requests.innerText()).toMatch(/^Requests\s*1\s*waiting$/);
      await card.getByRole('button', { name: 'Approve' }).click();
      const outcome = page.getByRole('status').filter({ hasText: 'Approved: access to prod-us-2' });
      await expect.poll(() => outcome.evaluate((it) => it === it.ownerDocument.activeElement)).toBe(true);
      await card.getByText('Approved', { exact: true }).waitFor();
      await expect.poll(() => requests.innerText()).toBe('Requests');
      await inspect(page, 'an approved request', faults);
    },
    async () => {
      const { items } = (await server.call('GET', REQUESTS)).json;
      return `#/requests/${items[0].metadata.name}`;
    },
  );

  it('the requester reads the next step, uses the access, and gives it back', async () => {
    const { page } = await pages.visit(tokenOf('kim'), '#/requests');
    await page.getByText('clusterpass kubeconfig --cluster prod-us-2 --as shop/deployer').waitFor();
    await page.getByRole('link', { name: 'prod-us-2', exact: true }).click();
    await page.getByText(/^Valid for \d+ min \d+ s/).waitFor();
    // Another account is refused, and can be asked for in place.
    await page.getByRole('button', { name: 'Enter a name' }).click();
    await page.getByLabel('Service account', { exact: true }).fill('web');
    await page.getByText('cannot create resource').waitFor();
    await page.getByRole('link', { name: 'Ask for access' }).click();
    await expect.poll(() => page.getByLabel('Service account', { exact: true }).inputValue()).toBe('shop/web');
    expect(await page.getByRole('combobox', { name: 'Cluster', exact: true }).inputValue()).toBe('prod-us-2');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('Withdrawn: access to prod-us-2').waitFor();
    await page.getByText('No request waits').waitFor();
  });

  it('the link to a cluster that the user cannot see offers to ask for it', async () => {
    const { page } = await pages.visit(tokenOf('kim'), '#/clusters/prod-eu-2');
    await page.getByText('does not exist, or you do not have access to it').waitFor();
    await page.getByRole('link', { name: 'Ask for access' }).click();
    await expect
      .poll(() => page.getByRole('combobox', { name: 'Cluster', exact: true }).inputValue())
      .toBe('prod-eu-2');
  });

  it('long and right-to-left names stay in the card; a denial is shown with its reason', async () => {
    const body = {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'AccessRequest',
      metadata: { name: 'long' },
      spec: {
        cluster: 'prod-ap-1',
        serviceAccount: { namespace: NAMESPACE, name: ACCOUNT },
        reason: `${'w'.repeat(300)} نحتاج إلى الوصول`,
      },
    };
    expect((await server.call('POST', REQUESTS, { body, token: tokenOf(LONG) })).code).toBe(201);
    const { page } = await pages.visit(server.adminToken, '#/requests');
    await page.getByText('missing', { exact: true }).waitFor();
    await inspect(page, 'a long request', faults);
    const card = page.getByRole('article', { name: LONG });
    await card.getByLabel('Message').fill('use staging');
    await card.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('Denied: use staging').waitFor();
    const requester = await pages.visit(tokenOf(LONG), '#/requests');
    await requester.page.getByText('Denied: use staging').waitFor();
  });

  task(
    'who reaches a cluster, and remove one',
    () => server.adminToken,
    async ({ page }) => {
      await page.getByRole('link', { name: 'Clusters', exact: true }).click();
      await page.getByRole('link', { name: 'prod-eu-1' }).click();
      await page.getByRole('button', { name: 'Remove User carl from demo-carl-issue' }).click();
      await page.getByText('User carl loses Role demo-builder-token').waitFor();
      await inspect(page, 'the removal of a subject', faults);
      await page.getByRole('button', { name: 'Delete now' }).click();
      await page.getByRole('button', { name: 'Remove User carl from demo-carl-issue' }).waitFor({ state: 'hidden' });
    },
  );

  task(
    'register a cluster, until it can be used',
    () => server.adminToken,
    async ({ page, type }) => {
      const { caBundle } = (await server.call('GET', `${CLUSTERS}/prod-eu-1`)).json.spec.orchestratorApiEndpoints;
      const cluster = { server: 'https://api.lab-1.example.com:6443', 'certificate-authority-data': caBundle };
      const kubeconfig = {
        'current-context': 'lab-1',
        clusters: [{ name: 'c', cluster }],
        contexts: [{ name: 'lab-1', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user: {} }],
      };
      await page.getByRole('link', { name: 'Clusters', exact: true }).click();
      await page.getByRole('link', { name: 'Register a cluster' }).click();
      await type(page.getByLabel('Paste a kubeconfig'), JSON.stringify(kubeconfig));
      await page.getByText('The server accepts the name').waitFor();
      await page.getByRole('button', { name: 'Register the cluster' }).click();
      const left = page.getByRole('region', { name: 'Until it can be used' });
      await left.getByText('clusterpass trust lab-1').waitFor();
      await inspect(page, 'what is left', faults);
      const path = '/orchestrator/lab-1/api/v1/namespaces';
      await admin('POST', path, { metadata: { name: 'lab' } });
      await admin('POST', `${path}/lab/serviceaccounts`, { metadata: { name: 'runner' } });
      const merge = { 'Content-Type': 'application/merge-patch+json' };
      const asks = { metadata: { annotations: { 'clusterpass.dev/token-checks': 'webhook' } } };
      await admin('PATCH', `${CLUSTERS}/lab-1`, asks, merge);
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-11-19T00:00:00Z' }];
      await admin('PATCH', `${CLUSTERS}/lab-1/status`, { status: { conditions } }, merge);
      await left.waitFor({ state: 'hidden' });
    },
  );

  task(
    'what fails, and why',
    () => server.adminToken,
    async ({ page }) => {
      await page.getByRole('link', { name: /EndpointUnreachable/ }).click();
      await page.getByRole('link', { name: 'prod-ap-1' }).click();
      await page.getByRole('heading', { name: 'prod-ap-1' }).waitFor();
      await page.locator('.cluster-head .problem').waitFor();
    },
  );

  task(
    'who has a pass of an account now, and revoke it',
    () => server.adminToken,
    async ({ page, type }) => {
      const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
      const tracked = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
      await admin('POST', path, tracked);
      await page.getByRole('link', { name: 'Passes', exact: true }).click();
      await page.getByRole('radio', { name: 'All' }).check();
      await type(page.getByLabel('Account', { exact: true }), 'ci/builder');
      await page.getByRole('row', { name: /ci\/builder prod-eu-1 admin/ }).waitFor();
      await expect.poll(() => page.url()).toContain('account=ci');
      await page.getByLabel('Select all shown passes').click();
      await page.getByRole('button', { name: 'Revoke', exact: true }).click();
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await page.getByText('1 pass was revoked').waitFor();
    },
  );

  task(
    'rotate the signing key',
    () => server.adminToken,
    async ({ page }) => {
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await page.getByRole('button', { name: 'Rotate…' }).click();
      await page.getByText('The next key signs from').waitFor();
      await inspect(page, 'the rotation', faults);
      await page.getByRole('button', { name: 'Schedule the rotation' }).click();
      await page.getByText('The next key signs from').waitFor();
      await page.getByRole('button', { name: 'Rotate…' }).waitFor();
    },
  );

  it('the table of docs/console.md has these tasks', () => {
    expect([...documented.keys()]).toEqual([...done]);
    expect(documented.size).toBe(8);
  });
});
