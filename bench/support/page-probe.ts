import { readFileSync } from 'node:fs';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { cpuOf } from './cpu.ts';
import { at } from './numbers.ts';

/** What a page did with its time, looked at from outside (the scheduler's count) and from inside (its frames). */
export interface PageTime {
  readonly seconds: number;
  /** Microseconds computed by the thread that runs scripts, style and layout. */
  readonly mainThread: number;
  /** By all processes of the browser: what is drawn costs more outside of the page's own than in it. */
  readonly all: number;
  /** Milliseconds between two frames. */
  readonly p99Gap: number;
  readonly longestGap: number;
}

const mainThreadCpu = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;

/** The process that draws the page, and all of the browser. Which one it is shows when the page computes. */
async function processesOf(browser: Browser, page: Page): Promise<{ renderer: number; all: number[] }> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const renderers = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => ({ id, from: mainThreadCpu(id) }));
  await page.evaluate('{ let sum = 0; for (let i = 0; i < 5e8; i++) sum += i % 7; sum; }');
  const [busiest] = renderers.sort((a, b) => mainThreadCpu(b.id) - b.from - (mainThreadCpu(a.id) - a.from));
  if (busiest === undefined) throw new Error('no page is drawn');
  return { renderer: busiest.id, all: processInfo.map(({ id }) => id) };
}

/** As text: it runs in the page, where the names of this file mean nothing. */
const WATCH_FRAMES = `
  window.frameGaps = [];
  { let last;
    const step = (now) => { if (last !== undefined) frameGaps.push(now - last); last = now; requestAnimationFrame(step); };
    requestAnimationFrame(step); }`;

export async function createPageProbe(browser: Browser, page: Page) {
  const { renderer, all } = await processesOf(browser, page);
  const used = () => ({
    mainThread: mainThreadCpu(renderer),
    all: all.reduce((sum, pid) => sum + cpuOf(pid), 0),
  });
  await page.evaluate(WATCH_FRAMES);
  return {
    /** What the page needs while the work is done. */
    async during(work: () => Promise<unknown>): Promise<PageTime> {
      await page.evaluate('frameGaps.length = 0');
      const begun = performance.now();
      const before = used();
      await work();
      const gaps = await page.evaluate<number[]>('frameGaps');
      const after = used();
      return {
        seconds: (performance.now() - begun) / 1000,
        mainThread: after.mainThread - before.mainThread,
        all: after.all - before.all,
        p99Gap: at(gaps, 0.99),
        longestGap: Math.max(...gaps),
      };
    },
  };
}

/** A profile of the page's scripts during the work, as the developer tools of Chromium open it (`.cpuprofile`). */
export async function profiled(session: CDPSession, work: () => Promise<unknown>): Promise<string> {
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 200 });
  await session.send('Profiler.start');
  await work();
  const { profile } = await session.send('Profiler.stop');
  return JSON.stringify(profile);
}
