/**
 * `npm run screenshots [NAME...]`: starts the demo and writes the screenshots of the console to docs/images, in the
 * light and the dark theme. With names (`fleet`, `cluster-dark`) it writes only those. It needs Chromium, as the tests
 * do, and the fonts Inter and JetBrains Mono (Debian: fonts-inter, fonts-jetbrains-mono).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { FLEET_BINDINGS, fleetBinding } from '../test/e2e/support/bindings.ts';
import { type Server, startServer } from '../test/e2e/support/server.ts';
import { chromium as installed, setUpPrograms } from './programs.ts';
import { ROOT } from './setup.mjs';
import { setUpConsole } from './setup-console.mjs';

const IMAGES = join(ROOT, 'docs/images');

interface Picture {
  readonly path: string;
  readonly user?: string;
  readonly width?: number;
  readonly height?: number;
  /** The text to wait for, and what is done before. */
  readonly until: string | RegExp;
  readonly steps?: (page: Page) => Promise<unknown>;
}

const PICTURES: Readonly<Record<string, Picture>> = {
  overview: { path: '#/overview', user: 'admin', height: 660, until: 'All clusters, as of' },
  request: { path: '#/requests', user: 'admin', height: 530, until: 'Would gain' },
  fleet: { path: '#/', until: '12 clusters' },
  cluster: { path: '#/clusters/prod-ap-1', height: 1010, until: 'Valid for 1 hour' },
  pass: {
    path: '#/clusters/prod-eu-1',
    steps: async (page) => {
      await page.getByText('Valid for 1 hour').waitFor();
      await page.getByRole('button', { name: 'Issue pass' }).click();
      await page.getByRole('button', { name: 'Test pass' }).click();
      await page.getByText('Clusterpass accepts it as').waitFor();
      await page.getByRole('heading', { name: 'prod-eu-1', exact: true }).scrollIntoViewIfNeeded();
    },
    until: 'Clusterpass accepts it as',
  },
  why: {
    path: '#/can-i?cluster=staging-eu-1&account=shop/web',
    user: 'devi',
    height: 960,
    steps: (page) => page.getByRole('button', { name: 'Check' }).click(),
    until: /^(Yes|No), you can/,
  },
  phone: { path: '#/', width: 390, until: '12 clusters' },
  passes: {
    path: '#/passes?scope=all',
    user: 'admin',
    steps: async (page) => {
      const boxes = page.getByLabel(/^Select the pass/);
      await boxes.first().check();
      await boxes.last().check();
      await page.getByRole('button', { name: 'Revoke 2 passes' }).click();
    },
    until: 'Revoke 2 passes',
  },
  labels: {
    ...{ path: '#/clusters/dev-eu-1', user: 'admin', width: 1600, height: 980, until: 'Lose access' },
    steps: async (page) => {
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await page.getByLabel('Value of label 1').fill('prod');
    },
  },
  grant: {
    ...{ path: '#/access?view=grant', user: 'admin', until: 'newly sees' },
    steps: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('team-shop');
      await page.getByLabel('Labels').fill('env=prod,region=eu');
    },
  },
  audit: { path: '#/audit', user: 'admin', until: 'serviceaccounts/token' },
};

/** Passes for the pictures that list them. */
async function issuePasses(demo: Server): Promise<void> {
  const annotations = { 'clusterpass.dev/tracked': 'true' };
  for (const [user = '', cluster, account] of [
    ['carl', 'prod-eu-1', 'ci/serviceaccounts/builder'],
    ['devi', 'dev-eu-1', 'shop/serviceaccounts/deployer'],
    ['dana', 'staging-us-1', 'shop/serviceaccounts/deployer'],
  ]) {
    await demo.call('POST', `/orchestrator/${cluster}/api/v1/namespaces/${account}/token`, {
      token: tokenIn(demo, user),
      body: { metadata: { annotations }, spec: { audiences: [], expirationSeconds: 28_800 } },
    });
  }
}

/** A request that waits. */
async function askForAccess(demo: Server): Promise<void> {
  const asks = { name: 'devi-asks', to: ['devi'], role: 'clusterpass:access-requester' };
  await demo.call('POST', FLEET_BINDINGS, { body: fleetBinding(asks) });
  const serviceAccount = { namespace: 'shop', name: 'deployer' };
  await demo.call('POST', '/apis/clusterpass.dev/v1alpha1/accessrequests', {
    token: tokenIn(demo, 'devi'),
    body: {
      ...{ apiVersion: 'clusterpass.dev/v1alpha1', kind: 'AccessRequest', metadata: { name: 'checkout' } },
      spec: { cluster: 'prod-us-2', serviceAccount, reason: 'INC-4711: the checkout is slow' },
    },
  });
}

const tokenIn = ({ dataDir, adminToken }: Server, user: string): string =>
  user === 'admin' ? adminToken : readFileSync(join(dataDir, `demo/${user}.token`), 'utf8').trim();

setUpPrograms([installed]);
const executablePath = installed.path;
if (executablePath === undefined) throw new Error('Chromium is not installed: npm test installs it');
await setUpConsole();
const wanted = process.argv.slice(2);
const demo = await startServer({ args: ['--demo', '--log-level', 'error'], sources: true });
await issuePasses(demo);
await askForAccess(demo);
const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  for (const theme of ['light', 'dark'] as const) {
    for (const [name, { path, width = 1280, height = 760, steps, until, user = 'dana' }] of Object.entries(PICTURES)) {
      const file = theme === 'light' ? name : `${name}-dark`;
      if (wanted.length > 0 && !wanted.includes(file)) continue;
      const look = { colorScheme: theme, reducedMotion: 'reduce', locale: 'en-GB' } as const;
      const page = await browser.newPage({ viewport: { width, height }, ...look });
      await page.goto(`${demo.url}/console/${path}`);
      await page.getByLabel('Token', { exact: true }).fill(tokenIn(demo, user));
      await page.keyboard.press('Enter');
      await page.mouse.move(0, 0);
      await steps?.(page);
      await page.getByText(until).first().waitFor();
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
