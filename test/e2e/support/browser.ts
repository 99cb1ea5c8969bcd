import { type Browser, chromium, type Page } from 'playwright-core';
import { findChromium, chromium as program } from '../../../scripts/setup-chromium.mjs';
import { describeWith } from '../../describe-with.ts';
import type { Server } from './server.ts';

/** The real console in a real browser. */

export type { Browser, Page };

/** No sandbox: tests run as root in containers. The rest keeps it from asking anything of the network. */
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
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('there is no Chromium');
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page of its own, and everything that went wrong in it: a test looks at that at its end. */
export interface Visit {
  readonly page: Page;
  /** Errors of scripts, and what the content security policy stopped. */
  readonly problems: string[];
  /** The address of every request. */
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
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  const requested: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // The browser reports every answer that is no success by itself; those are the server's business.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(message.text());
    }
  });
  page.on('request', (request) => requested.push(request.url()));
  return { page, problems, requested, close: () => context.close() };
}

export async function signIn(page: Page, server: Pick<Server, 'url'>, token: string, path = ''): Promise<void> {
  await page.goto(`${server.url}/console/${path}`);
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
}

/** The names of the clusters that are drawn, in their order. */
export const namesShown = (page: Page): Promise<string[]> =>
  page.locator('tr[data-index] th a').evaluateAll((links) => links.map((link) => link.textContent ?? ''));

export const describeWithBrowser = (name: string, tests: () => void): void => describeWith(program, name, tests);
