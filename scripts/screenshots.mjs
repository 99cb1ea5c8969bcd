/**
 * `npm run screenshots [NAME...]`: starts the demo and writes the screenshots of the console to docs/images, in the
 * light and the dark theme. With names (`fleet`, `cluster-dark`) it writes only those. It needs Chromium, as the tests
 * do, and the fonts Inter and JetBrains Mono (Debian: fonts-inter, fonts-jetbrains-mono).
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { FLEET_BINDINGS, fleetBinding } from '../test/e2e/support/bindings.ts';
import { startServer } from '../test/e2e/support/server.ts';
import { chromium as installed, setUpPrograms } from './programs.mjs';
import { setUpConsole } from './setup-console.mjs';

/** @typedef {import('playwright-core').Page} Page */

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
const WIDE = { width: 1280, height: 760 };
const PHONE = { width: 390, height: 760 };

/**
 * @typedef {object} Picture
 * @property {string} path
 * @property {{ width: number, height: number }} [viewport]
 * @property {(page: Page) => Promise<unknown>} show
 * @property {string} [user]
 */

/** @type {Record<string, Picture>} */
const PICTURES = {
  overview: {
    path: '#/overview',
    user: 'admin',
    viewport: { width: 1280, height: 660 },
    show: (page) => page.getByText('All clusters, as of').waitFor(),
  },
  request: {
    path: '#/requests',
    user: 'admin',
    viewport: { width: 1280, height: 530 },
    show: (page) =>
      page.getByRole('article', { name: 'devi asks for access to prod-us-2' }).getByText('Would gain').waitFor(),
  },
  fleet: { path: '#/', show: (page) => page.getByText('12 clusters').waitFor() },
  cluster: {
    path: '#/clusters/prod-ap-1',
    viewport: { width: 1280, height: 1010 },
    show: (page) => page.getByText('Valid for 1 hour').waitFor(),
  },
  pass: {
    path: '#/clusters/prod-eu-1',
    show: async (page) => {
      await page.getByText('Valid for 1 hour').waitFor();
      await page.getByRole('button', { name: 'Issue pass' }).click();
      await page.getByRole('button', { name: 'Test pass' }).click();
      await page.getByText('Clusterpass accepts it as').waitFor();
      await page.getByRole('heading', { name: 'prod-eu-1', exact: true }).scrollIntoViewIfNeeded();
    },
  },
  why: {
    viewport: { width: 1280, height: 960 },
    path: '#/can-i?cluster=staging-eu-1&account=shop/web',
    user: 'devi',
    show: async (page) => {
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText(/^(Yes|No), you can/).waitFor();
    },
  },
  phone: { path: '#/', viewport: PHONE, show: (page) => page.getByText('12 clusters').waitFor() },
  passes: {
    path: '#/passes?scope=all',
    user: 'admin',
    show: async (page) => {
      await page
        .getByLabel(/^Select the pass/)
        .first()
        .check();
      await page
        .getByLabel(/^Select the pass/)
        .last()
        .check();
      await page.getByRole('button', { name: 'Revoke 2 passes' }).click();
    },
  },
  labels: {
    path: '#/clusters/dev-eu-1',
    user: 'admin',
    viewport: { width: 1600, height: 980 },
    show: async (page) => {
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await page.getByLabel('Value of label 1').fill('prod');
      await page.getByText('Lose access').waitFor();
    },
  },
  grant: {
    path: '#/access?view=grant',
    user: 'admin',
    show: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('team-shop');
      await page.getByLabel('Labels').fill('env=prod,region=eu');
      await page.getByText('newly sees').waitFor();
    },
  },
  audit: {
    path: '#/audit',
    user: 'admin',
    show: (page) => page.getByText('serviceaccounts/token').first().waitFor(),
  },
};

/**
 * Passes for the pictures that list them.
 * @param {import('../test/e2e/support/server.ts').Server} demo
 */
async function issuePasses(demo) {
  for (const [user = '', cluster, account] of [
    ['carl', 'prod-eu-1', 'ci/serviceaccounts/builder'],
    ['devi', 'dev-eu-1', 'shop/serviceaccounts/deployer'],
    ['dana', 'staging-us-1', 'shop/serviceaccounts/deployer'],
  ]) {
    await demo.call('POST', `/orchestrator/${cluster}/api/v1/namespaces/${account}/token`, {
      token: tokenIn(demo, user),
      body: {
        metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } },
        spec: { audiences: [], expirationSeconds: 28_800 },
      },
    });
  }
}

/**
 * A request that waits.
 * @param {import('../test/e2e/support/server.ts').Server} demo
 */
async function askForAccess(demo) {
  const asks = { name: 'devi-asks', to: ['devi'], role: 'clusterpass:access-requester' };
  await demo.call('POST', FLEET_BINDINGS, { body: fleetBinding(asks) });
  const serviceAccount = { namespace: 'shop', name: 'deployer' };
  await demo.call('POST', '/apis/clusterpass.dev/v1alpha1/accessrequests', {
    token: tokenIn(demo, 'devi'),
    body: {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'AccessRequest',
      metadata: { name: 'checkout' },
      spec: { cluster: 'prod-us-2', serviceAccount, reason: 'INC-4711: the checkout is slow' },
    },
  });
}

/**
 * @param {import('../test/e2e/support/server.ts').Server} demo
 * @param {string} user
 */
const tokenIn = ({ dataDir, adminToken }, user) =>
  user === 'admin' ? adminToken : readFileSync(join(dataDir, `demo/${user}.token`), 'utf8').trim();

setUpPrograms([installed]);
const executablePath = installed.path;
if (executablePath === undefined) throw new Error('Chromium is not installed: run node scripts/programs.mjs chromium');
await setUpConsole();
mkdirSync(IMAGES, { recursive: true });
const wanted = process.argv.slice(2);
const demo = await startServer({ args: ['--demo', '--log-level', 'error'], sources: true });
await issuePasses(demo);
await askForAccess(demo);
const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  for (const theme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, { path, viewport = WIDE, show, user = 'dana' }] of Object.entries(PICTURES)) {
      const file = theme === 'light' ? name : `${name}-dark`;
      if (wanted.length > 0 && !wanted.includes(file)) continue;
      const token = tokenIn(demo, user);
      const page = await browser.newPage({ viewport, colorScheme: theme, reducedMotion: 'reduce', locale: 'en-GB' });
      await page.goto(`${demo.url}/console/${path}`);
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
      await page.mouse.move(0, 0);
      await show(page);
      await page.waitForLoadState('domcontentloaded');
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await page.screenshot({ path: join(IMAGES, `${file}.png`) });
      console.log(`wrote docs/images/${file}.png`);
      await page.close();
    }
  }
} finally {
  await browser.close();
  await demo.destroy();
}
