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

async function look(page: Page, faults: string[]): Promise<void> {
  faults.push(...(await accessibilityFaults(page)));
  const beyond = await overhang(page);
  if (beyond > 0) faults.push(`${page.url()} is ${beyond} pixels too wide`);
}

describeWithBrowser('the console for everyone', () => {
  beforeAll(async () => {
    [server, browser] = await Promise.all([startServer({ args: ['--demo'] }), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });

  it.each([
    { width: 1280, dark: false },
    { width: 360, dark: true },
  ])('has no fault that axe finds, $width pixels wide, dark: $dark', async ({ width, dark }) => {
    const { page, close } = await openPage(browser, { width, dark });
    const faults: string[] = [];
    await page.goto(`${server.url}/console/`);
    await page.getByLabel('Token', { exact: true }).waitFor();
    await look(page, faults);
    await signIn(page, server, server.adminToken);
    await page.getByText('12 clusters').waitFor();
    await page.getByLabel('Add a label').selectOption('env=prod');
    await page.locator('.menu summary').click();
    await look(page, faults);
    await page.locator('.menu summary').click();
    await page.getByRole('link', { name: 'prod-ap-1' }).click();
    await page.getByText('good for 1 hour').waitFor();
    await look(page, faults);
    await page.getByRole('button', { name: 'Issue the pass' }).click();
    await page.getByRole('button', { name: 'Show the token' }).click();
    await look(page, faults);
    await page.goto(`${server.url}/console/#/why?cluster=prod-ap-1`);
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('Yes, you may see the cluster prod-ap-1').waitFor();
    await look(page, faults);
    expect(faults).toEqual([]);
    await close();
  });
});
