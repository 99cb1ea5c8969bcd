import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalog, openDatabase } from '../objects/object-store.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { type Browser, describeWithBrowser, launchBrowser, namesShown, openPage, signIn } from './support/browser.ts';
import { inspect } from './support/console-faults.ts';
import { create, createAccount, createNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { group } from './support/rbac.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';

/** Several pages of a list, and far more rows than fit on the screen. */
const COUNT = 2_000;
const MAX_RENDERED = 100;

let server: Server;
let browser: Browser;

/** One name needs most of the line of a phone. */
const LONG_NAME = 'fleet-5-customer-demonstration-in-af-south-1';
const nameOf = (index: number): string => (index === 5 ? LONG_NAME : `fleet-${index}`);

const ASKERS = Array.from({ length: 12 }, (_, index) => `asker-${index}`);

/** Of different teams, and one with dozens of subjects and clusters. */
const BINDINGS = [
  ...Array.from({ length: 60 }, (_, index) => ({ name: `sees-${index}`, to: [`person-${index}@example.com`] })),
  {
    name: 'sees-all',
    to: Array.from({ length: 60 }, (_, index) => `person-${index}@example.com`),
    fields: { clusters: { names: Array.from({ length: 80 }, (_, index) => nameOf(index)) } },
  },
].map((each) => fleetBinding({ ...each, role: 'clusterpass:viewer' }));
const condition = (ready: string) => ({
  type: 'Ready',
  status: ready,
  reason: 'SetByTest',
  lastTransitionTime: '2026-11-01T00:00:00Z',
});

/** Writes the clusters directly into a database, because creating them over HTTP is slow. */
async function manyClusters(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-e2e-'));
  const objects = await openDatabase(join(dataDir, 'clusterpass.db'));
  const create = (index: number) =>
    objects.writer.create(
      catalog.clusters,
      { cluster: '', namespace: '' },
      {
        apiVersion: 'clusterregistry.k8s.io/v1alpha1',
        kind: 'Cluster',
        metadata: {
          name: nameOf(index),
          labels: { env: ['dev', 'staging', 'prod'][index % 3] ?? '', shard: `${index % 50}` },
        },
        spec: {
          orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: `https://${nameOf(index)}.example.com` }] },
        },
        status: { type: 'k3s', version: 'v1.36.4', conditions: [condition('True')] },
      },
      { dryRun: false, keepStatus: true },
    );
  await Promise.all(Array.from({ length: COUNT }, (_, index) => create(index)));
  await objects.close();
  return dataDir;
}

describeWithBrowser('the console with thousands of clusters', () => {
  beforeAll(async () => {
    server = await startServer({
      dataDir: await manyClusters(),
      users: Object.fromEntries(ASKERS.map((user) => [user, []])),
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });

  it('renders only visible rows, searches all, and keeps up with a hundred changes a second', async () => {
    const { page, problems, close } = await openPage(browser);
    const rendered = (): Promise<number> => page.locator('tr[data-index]').count();
    await signIn(page, server, server.adminToken);
    await page.getByText('2,000 clusters').waitFor();
    expect(await rendered()).toBeLessThan(MAX_RENDERED);
    expect(await namesShown(page)).toContain('fleet-3');

    await page.locator('tr[data-index="0"] a').focus();
    await page.keyboard.press('End');
    await expect.poll(() => namesShown(page)).toContain(nameOf(COUNT - 1));
    expect(await rendered()).toBeLessThan(MAX_RENDERED);

    // Back from a cluster, the table is where it was. Another order starts at its first row.
    const scrollTop = (): Promise<number> =>
      page.getByLabel('Clusters', { exact: true }).evaluate((it) => it.scrollTop);
    const before = await scrollTop();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: nameOf(COUNT - 1) }).waitFor();
    await page.goBack();
    await expect.poll(() => namesShown(page)).toContain(nameOf(COUNT - 1));
    expect(await scrollTop()).toBe(before);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await expect.poll(scrollTop).toBe(0);
    expect((await namesShown(page))[0]).toBe(nameOf(COUNT - 1));

    const changes = (async () => {
      for (let batch = 0; batch < 20; batch += 1) {
        const bodies = Array.from({ length: 10 }, (_, index) => batch * 10 + index);
        const answers = await Promise.all(
          bodies.map((index) =>
            server.call('PATCH', `${CLUSTERS}/${nameOf(index)}/status`, {
              body: { status: { conditions: [condition('False')] } },
            }),
          ),
        );
        expect(answers.map(({ code }) => code)).toEqual(bodies.map(() => 200));
        await delay(100);
      }
    })();
    // The user searches while the changes arrive.
    await page.getByLabel('Search clusters').fill('fleet-1777');
    await page.getByText('1 of 2,000').waitFor();
    expect(await namesShown(page)).toEqual(['fleet-1777']);
    await page.getByLabel('Search clusters').fill('');
    await changes;
    await page.getByRole('button', { name: /^200 Not ready/ }).click();
    await page.getByText('200 of 2,000').waitFor();
    expect(await rendered()).toBeLessThan(MAX_RENDERED);

    const asked = page.getByLabel('Holds in cluster');
    await page.evaluate(`void (location.hash = '#/access')`);
    await asked.fill('fleet-1');
    expect(await asked.locator('xpath=../datalist/option').count()).toBe(50);
    await asked.fill('fleet-1777');
    expect(await asked.locator('xpath=../datalist/option').count()).toBe(1);

    await page.evaluate(`void (location.hash = '#/access?view=person&user=jane&groups=system:masters')`);
    await page.getByText('Reaches 2,000 clusters.').waitFor();
    expect(await page.locator('.list tbody tr').count()).toBeLessThan(MAX_RENDERED);
    await page.getByRole('button', { name: 'Show more of 4,000' }).waitFor();
    await page.getByLabel('Search', { exact: true }).fill('fleet-1777');
    const found = page.getByRole('row', { name: /^fleet-/ });
    // By its binding, and without one.
    await expect.poll(() => found.count()).toBe(2);
    expect(await found.getByText('needs no binding').count()).toBe(1);
    expect(problems).toEqual([]);
    await close();
  });

  /** Bindings, passes of an account, and requests of different people. */
  async function bindIssueAndAsk(): Promise<void> {
    await createNamespace(server, 'shop', 'fleet-1');
    await createAccount(server, 'web', 'shop', 'fleet-1');
    const asks = { name: 'all-ask', to: [group('system:authenticated')], role: 'clusterpass:access-requester' };
    for (const body of [...BINDINGS, fleetBinding(asks)]) await create(server, FLEET_BINDINGS, body);
    const tracked = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
    for (let count = 0; count < 25; count += 1) await create(server, tokenPath('web', 'shop', 'fleet-1'), tracked);
    for (const name of ASKERS) {
      const spec = { cluster: 'fleet-1', reason: 'INC-8: the checkout is slow' };
      const body = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'AccessRequest', metadata: { name }, spec };
      const path = '/apis/clusterpass.dev/v1alpha1/accessrequests';
      expect((await server.call('POST', path, { body, token: tokenOf(name) })).code).toBe(201);
    }
  }

  it('shows the first of many as cards on a phone, and more of them on demand; no page has a fault', async () => {
    await bindIssueAndAsk();
    const { page, problems, close } = await openPage(browser, { width: 390, height: 844 });
    await signIn(page, server, server.adminToken);
    await page.getByText('2,000 clusters').waitFor();
    const name = page.locator('tr[data-index] th', { hasText: LONG_NAME });
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await expect.poll(() => name.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
    }
    const show = (hash: string): Promise<unknown> => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
    const row = '.list tbody tr';
    const pages = [
      { path: '#/access', shown: /^\d+ bindings$/, rows: row, counts: [20, 40] },
      { path: '#/access?view=cluster&cluster=fleet-1', shown: /^\d+ grants$/, rows: row, counts: [20, 40] },
      { path: '#/passes?scope=all', shown: '25 passes, 20 shown', rows: row, counts: [20, 25] },
      { path: '#/audit?reads=true', shown: 'Follow', rows: row, counts: [20, 40] },
      { path: '#/requests', shown: 'asker-11 asks', rows: 'article', counts: [10, 12] },
      { path: '#/keys', shown: 'this replica', rows: `.columns ${row}`, counts: [20, 40] },
      { path: '#/clusters/fleet-1', shown: 'Valid for 1 hour', rows: `.columns + * ${row}`, counts: [20, 40] },
    ];
    const faults: string[] = [];
    for (const { path, shown, rows, counts } of pages) {
      await show(path);
      await page.getByText(shown).first().waitFor();
      const count = (): Promise<number> => page.locator(rows).count();
      await expect.poll(count, { message: path }).toBe(counts[0]);
      // Every row as a card is twice as high. Fonts differ by some percent.
      expect(await page.locator('main').evaluate((it) => it.scrollHeight), path).toBeLessThan(7_000);
      await inspect(page, path, faults);
      await page.locator('.more-rows').last().click();
      await expect.poll(count, { message: path }).toBe(counts[1]);
    }
    expect(faults).toEqual([]);
    await show('#/passes?scope=all');
    await page.getByLabel('Select all shown passes').check();
    await page.getByText('25 passes, 20 shown, 20 selected').waitFor();
    await show('#/access?view=bindings&search=sees-all');
    const subjects = page.getByRole('row', { name: /^sees-all/ }).getByRole('link');
    await page.getByRole('button', { name: 'Show more of 80' }).waitFor();
    expect(await subjects.count()).toBe(6);
    await page.getByRole('button', { name: 'Show more of 60' }).click();
    await expect.poll(() => subjects.count()).toBe(12);
    expect(problems).toEqual([]);
    await close();
  });
});
