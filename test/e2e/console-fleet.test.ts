import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalog, openDatabase } from '../objects/object-store.ts';
import { type Browser, describeWithBrowser, launchBrowser, namesShown, openPage, signIn } from './support/browser.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Server, startServer } from './support/server.ts';

/** Several pages of a list, and far more rows than fit on the screen. */
const COUNT = 2_000;
const MAX_RENDERED = 100;

let server: Server;
let browser: Browser;

const nameOf = (index: number): string => `fleet-${index}`;
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
    server = await startServer({ dataDir: await manyClusters() });
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
    await page.keyboard.press('/');
    await page.keyboard.type('fleet-1777');
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
    await page.getByText('3,950 more').waitFor();
    await page.getByLabel('Search', { exact: true }).fill('fleet-1777');
    const found = page.getByRole('row', { name: /^fleet-/ });
    // By its binding, and without one.
    await expect.poll(() => found.count()).toBe(2);
    expect(await found.getByText('needs no binding').count()).toBe(1);
    expect(problems).toEqual([]);
    await close();
  });
});
