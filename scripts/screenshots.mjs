/**
 * `npm run screenshots [NAME...]`: starts the demo and writes the screenshots of the console to docs/images, in the
 * light and the dark theme. With names (`fleet`, `cluster-dark`) it writes only those. It needs Chromium, as the tests
 * do, and the fonts Inter and JetBrains Mono (Debian: fonts-inter, fonts-jetbrains-mono).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium, setUpChromium } from './setup-chromium.mjs';
import { setUpConsole } from './setup-console.mjs';

/** @typedef {import('playwright-core').Page} Page */

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const WIDE = { width: 1280, height: 760 };
const PHONE = { width: 390, height: 760 };

/**
 * @typedef {object} Picture
 * @property {string} path
 * @property {{ width: number, height: number }} [viewport]
 * @property {(page: Page) => Promise<unknown>} [show]
 * @property {string} [user]
 */

/** @type {Record<string, Picture>} */
const PICTURES = {
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
      await page.getByText('Accepted as').waitFor();
      await page.getByRole('heading', { name: 'prod-eu-1' }).scrollIntoViewIfNeeded();
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
};

/** @returns {Promise<{ url: string, dataDir: string, stop: () => void }>} */
async function startDemo() {
  const dataDir = mkdtempSync(join(tmpdir(), 'clusterpass-screenshots-'));
  const args = [PROGRAM, 'serve', '--demo', '--data-dir', dataDir, '--listen', '127.0.0.1:0', '--log-level', 'error'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = () => {
    child.kill('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  };
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    const url = /Clusterpass serves (\S+)/.exec(output)?.[1];
    if (url !== undefined) return { url, dataDir, stop };
  }
  stop();
  throw new Error('the demo did not start');
}

setUpChromium();
const executablePath = findChromium();
if (executablePath === undefined) throw new Error('Chromium is not installed: run node scripts/setup-chromium.mjs');
await setUpConsole();
mkdirSync(IMAGES, { recursive: true });
const wanted = process.argv.slice(2);
const demo = await startDemo();
const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
try {
  for (const theme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, { path, viewport = WIDE, show, user = 'dana' }] of Object.entries(PICTURES)) {
      const file = theme === 'light' ? name : `${name}-dark`;
      if (wanted.length > 0 && !wanted.includes(file)) continue;
      const token = readFileSync(join(demo.dataDir, `demo/${user}.token`), 'utf8').trim();
      const page = await browser.newPage({ viewport, colorScheme: theme, reducedMotion: 'reduce', locale: 'en-GB' });
      await page.goto(`${demo.url}/console/${path}`);
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
      await page.getByText('Live', { exact: true }).waitFor();
      await page.mouse.move(0, 0);
      await show?.(page);
      await page.waitForLoadState('domcontentloaded');
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await page.screenshot({ path: join(IMAGES, `${file}.png`) });
      console.log(`wrote docs/images/${file}.png`);
      await page.close();
    }
  }
} finally {
  await browser.close();
  demo.stop();
}
