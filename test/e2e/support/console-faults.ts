import { expect } from 'vitest';
import { accessibilityFaults, RULES_OF_LOOKS } from './axe.ts';
import { type Browser, openPage, type Page, signIn } from './browser.ts';
import type { Server } from './server.ts';

/** Accessibility and layout of every page, in the light and the dark theme, on a desktop and on a phone. */

/** The longest names that the server accepts, without a character at which a browser breaks a line. */
const [NAMESPACE, ACCOUNT] = ['n'.repeat(63), 'a'.repeat(253)];
const LONG_ACCOUNT = encodeURIComponent(`${NAMESPACE}/${ACCOUNT}`);

/** A tracked pass of the account with the longest name, and an event that has the account as its user. */
async function usePassOfLongAccount(server: Server): Promise<void> {
  const namespaces = '/orchestrator/prod-ap-1/api/v1/namespaces';
  const accounts = `${namespaces}/${NAMESPACE}/serviceaccounts`;
  await server.call('POST', namespaces, { body: { metadata: { name: NAMESPACE } } });
  await server.call('POST', accounts, { body: { metadata: { name: ACCOUNT } } });
  const body = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
  const issued = await server.call('POST', `${accounts}/${ACCOUNT}/token`, { body });
  const refused = await server.call('GET', namespaces, { token: issued.json.status.token });
  expect([issued.code, refused.code]).toEqual([201, 403]);
}

/** How many pixels the page, or a card in it, can be scrolled sideways. */
const horizontalOverflow = async (page: Page): Promise<number> =>
  Math.max(
    ...(await page
      .locator('html, main, .card')
      .evaluateAll((elements) => elements.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))),
  );

/** Names of clusters that stand on more than one line. */
const brokenClusterNames = async (page: Page): Promise<ReadonlySet<string>> =>
  new Set(
    await page
      .locator('td[data-label="Cluster"] a')
      .evaluateAll((links) => links.filter((it) => it.getClientRects().length > 1).map((it) => it.textContent ?? '')),
  );

/** One button of a card is what a person does next. */
const hasRivals = (page: Page): Promise<boolean> =>
  page.locator('.card').evaluateAll((cards) => cards.some((card) => card.querySelectorAll('.primary').length > 1));

/** Values of fields, of the length of a name of a cluster or a key of a label, that are not visible as a whole. */
const cutValues = (page: Page): Promise<string[]> =>
  page
    .locator('main input')
    .evaluateAll((fields) =>
      fields
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .flatMap((it) => ('value' in it && `${it.value}`.length < 25 ? [`${it.value}`] : [])),
    );

/** Each width with one theme: colors do not depend on the width, and what is where does not depend on the theme. */
const SCREENS = [
  { width: 1280, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const;

/** With the colors of the system (high contrast) the current entry, the chosen tile and the bars can be told. */
async function forcedColorFaults(page: Page): Promise<string[]> {
  await page.emulateMedia({ forcedColors: 'active' });
  const styles = (selector: string, property: string): Promise<string[]> =>
    page
      .locator(selector)
      .evaluateAll(
        (elements, name) =>
          elements.map((it) => it.ownerDocument.defaultView?.getComputedStyle(it).getPropertyValue(name) ?? ''),
        property,
      );
  const [current = '', ...others] = await styles('.top nav a', 'border-bottom-color');
  const [chosen = '', ...rest] = await styles('.tile', 'outline');
  const bars = await styles('.chart-part', 'background-color');
  await page.emulateMedia({ forcedColors: 'none' });
  return [
    ...(others.includes(current) ? ['every entry of the navigation looks current'] : []),
    ...(rest.includes(chosen) ? ['every tile looks chosen'] : []),
    ...(new Set(bars).size < 2 ? ['the bars have one color'] : []),
  ];
}

/** Adds to `faults` what is wrong with what a page shows now. */
export async function inspect(page: Page, where: string, faults: string[]): Promise<void> {
  for (const [index, { width, colorScheme }] of SCREENS.entries()) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    // Names, roles and structure are the same on every screen.
    const found = await accessibilityFaults(page, index === 0 ? undefined : RULES_OF_LOOKS);
    faults.push(...found.map((fault) => `${where}, ${width} pixels, ${colorScheme}: ${fault}`));
    const overflow = await horizontalOverflow(page);
    if (overflow > 0) faults.push(`${where} is ${overflow} pixels wider than ${width}`);
    if (await hasRivals(page)) faults.push(`${where} has a card with two primary buttons`);
    for (const value of await cutValues(page)) faults.push(`${where} at ${width} pixels cuts ${value}`);
    for (const name of await brokenClusterNames(page)) faults.push(`${where} at ${width} pixels breaks ${name}`);
  }
}

/** Visits every page of a server with the demo fleet, and ends with the server. Returns what is wrong. */
export async function faultsOfConsole(server: Server, browser: Browser): Promise<string[]> {
  await usePassOfLongAccount(server);
  const { page, close } = await openPage(browser);
  const faults: string[] = [];
  await page.goto(`${server.url}/console/`);
  await page.getByLabel('Token', { exact: true }).waitFor();
  await inspect(page, 'sign-in page', faults);
  await signIn(page, server, server.adminToken);
  await page.getByText('12 clusters').waitFor();
  await page.getByLabel('Filter by label').fill('env=prod');
  await page.keyboard.press('Enter');
  await page.locator('.menu summary').click();
  await inspect(page, 'list of clusters', faults);
  faults.push(...(await forcedColorFaults(page)));
  await page.locator('.menu summary').click();
  await page.getByRole('link', { name: 'prod-ap-1' }).click();
  await page.getByText('Valid for 1 hour').waitFor();
  await inspect(page, 'cluster', faults);
  await page.getByRole('button', { name: 'Issue pass' }).click();
  await page.getByRole('button', { name: 'Show pass' }).click();
  await inspect(page, 'pass', faults);
  await page.goto(`${server.url}/console/#/can-i?cluster=prod-ap-1`);
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('Yes, you can see the cluster prod-ap-1').waitFor();
  await inspect(page, 'result of Can I', faults);
  // Pages of an administrator, each with its content. A larger fleet shows the others.
  for (const [path, shown] of [
    ['#/overview', 'CertificateExpired'],
    ['#/passes?scope=all', 'scraper'],
    ['#/register', 'Enter a name.'],
    [`#/access?view=cluster&cluster=prod-ap-1&account=${LONG_ACCOUNT}`, 'platform-admins'],
    ['#/access?view=person&user=carl', 'Reaches 1 cluster'],
    ['#/access?view=grant', 'Enter the name of the group.'],
    // Of one cluster: axe inspects every row, and there is one for each request so far.
    ['#/audit?reads=true&cluster=prod-ap-1', 'serviceaccounts'],
    ['#/nowhere', 'There is no such page'],
  ]) {
    await page.goto(`${server.url}/console/${path}`);
    await page
      .getByText(shown ?? '')
      .first()
      .waitFor();
    await inspect(page, path ?? '', faults);
  }
  await page.goto(`${server.url}/console/#/passes?scope=all&account=${LONG_ACCOUNT}`);
  await page.getByLabel(/^Select the pass/).check();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await inspect(page, 'revocation', faults);
  await page.goto(`${server.url}/console/#/clusters/dev-eu-1`);
  await page.getByRole('button', { name: 'Edit labels' }).click();
  await page.getByLabel('Value of label 1').fill('prod');
  await page.getByLabel('Key of label 2').fill('example.com/cost-center');
  await page.getByText('Lose access').waitFor();
  await inspect(page, 'labels', faults);
  await page.goto(`${server.url}/console/#/`);
  await server.kill();
  await page.getByText('Connection lost').waitFor();
  await inspect(page, 'lost connection', faults);
  await close();
  return faults;
}
