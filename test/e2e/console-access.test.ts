import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityFaults } from './support/axe.ts';
import { type Browser, describeWithBrowser, launchBrowser, openPage, type Page, signIn } from './support/browser.ts';
import { type Server, startServer } from './support/server.ts';

/** People who cannot see well, cannot point, or hold a telephone: every page, in light and dark, wide and narrow. */

let server: Server;
let browser: Browser;

/** The page may be scrolled, never sideways. */
const overhang = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** In light and dark, wide and on a telephone. */
async function look(page: Page, where: string, faults: string[]): Promise<void> {
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await accessibilityFaults(page);
      faults.push(...found.map((fault) => `${where}, ${width} pixels, ${colorScheme}: ${fault}`));
    }
    const beyond = await overhang(page);
    if (beyond > 0) faults.push(`${where} is ${beyond} pixels wider than ${width}`);
  }
}

describeWithBrowser('the console for everyone', () => {
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ args: ['--demo'] }), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });

  it('has no fault that axe finds, on any page, in light and dark, 1280 and 360 pixels wide', async () => {
    const { page, close } = await openPage(browser);
    const faults: string[] = [];
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Token', { exact: true }).waitFor();
    await look(page, 'signing in', faults);
    await signIn(page, server, server.adminToken);
    await page.getByText('12 clusters').waitFor();
    await page.getByLabel('Add a label').selectOption('env=prod');
    await page.locator('.menu summary').click();
    await look(page, 'the fleet', faults);
    await page.locator('.menu summary').click();
    await page.getByRole('link', { name: 'prod-ap-1' }).click();
    await page.getByText('good for 1 hour').waitFor();
    await look(page, 'a cluster', faults);
    await page.getByRole('button', { name: 'Issue the pass' }).click();
    await page.getByRole('button', { name: 'Show the token' }).click();
    await look(page, 'a pass', faults);
    await page.goto(`${server.url}/console/#/why?cluster=prod-ap-1`);
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes, you may see the cluster prod-ap-1').waitFor();
    await look(page, 'an answer', faults);
    await page.goto(`${server.url}/console/#/`);
    await server.kill();
    await page.getByText('Connection lost').waitFor();
    await look(page, 'a lost connection', faults);
    expect(faults).toEqual([]);
    await close();
  });
});
