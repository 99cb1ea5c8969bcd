import { type Browser, chromium, type Page } from 'playwright-core';
import { chromium as program } from '../../../scripts/programs.ts';
import { describeWith } from '../../describe-with.ts';
import type { Server } from './server.ts';

export type { Browser, Page };

/** No sandbox, because tests run as root in containers. The other flags prevent network traffic of the browser. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launchBrowser(): Promise<Browser> {
  const executablePath = program.path;
  if (executablePath === undefined) throw new Error('Chromium is not installed: npm test installs it');
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page in a new browser context, and what it reported. */
export interface Visit {
  readonly page: Page;
  /** Script errors and violations of the content security policy. */
  readonly problems: string[];
  /** The URL of every request. */
  readonly requested: string[];
  close(): Promise<void>;
}

export async function openPage(
  browser: Browser,
  options: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<Visit> {
  const { width = 1280, height = 800, dark = false } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
    ignoreHTTPSErrors: true,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  // As long as expect.poll waits: a busy machine must not fail a test.
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  const requested: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // The browser logs every HTTP error. Tests check those at the server.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(message.text());
    }
  });
  page.on('request', (request) => requested.push(request.url()));
  return { page, problems, requested, close: () => context.close() };
}

export async function signIn(page: Page, server: Pick<Server, 'url'>, token: string, path = '#/'): Promise<void> {
  await page.goto(`${server.url}/console/${path}`);
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
}

/** The names of the rendered clusters, in the order of the table. */
export const namesShown = (page: Page): Promise<string[]> =>
  page.locator('tr[data-index] th a').evaluateAll((links) => links.map((link) => link.textContent ?? ''));

export const describeWithBrowser = (name: string, tests: () => void): void => describeWith(program, name, tests);
