import { readFileSync } from 'node:fs';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { cpuOf } from './cpu.ts';
import { percentile } from './numbers.ts';

/** CPU time of a page, counted by the scheduler, and the gaps between its frames, counted in the page. */
export interface PageTime {
  readonly seconds: number;
  /** Microseconds of CPU time of the thread that runs scripts, style and layout. */
  readonly mainThread: number;
  /** Of all processes of the browser, which do most of the drawing outside of the page's process. */
  readonly all: number;
  /** Milliseconds between two frames. */
  readonly p99Gap: number;
  readonly longestGap: number;
}

const mainThreadCpu = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;

/** The process of the page, and all processes of the browser. The page's process is the one that a loop keeps busy. */
async function processesOf(browser: Browser, page: Page): Promise<{ renderer: number; all: number[] }> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const renderers = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => ({ id, from: mainThreadCpu(id) }));
  await page.evaluate('{ let sum = 0; for (let i = 0; i < 5e8; i++) sum += i % 7; sum; }');
  const [busiest] = renderers.sort((a, b) => mainThreadCpu(b.id) - b.from - (mainThreadCpu(a.id) - a.from));
  if (busiest === undefined) throw new Error('the browser has no page');
  return { renderer: busiest.id, all: processInfo.map(({ id }) => id) };
}

/** As text, because it runs in the page. */
const WATCH_FRAMES = `
  window.frameGaps = [];
  {
    let last;
    const step = (now) => {
      if (last !== undefined) frameGaps.push(now - last);
      last = now;
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }`;

export async function createPageProbe(browser: Browser, page: Page) {
  const { renderer, all } = await processesOf(browser, page);
  const used = () => ({
    mainThread: mainThreadCpu(renderer),
    all: all.reduce((sum, pid) => sum + cpuOf(pid), 0),
  });
  await page.evaluate(WATCH_FRAMES);
  return {
    /** Measures the page during the work. */
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
        p99Gap: percentile(gaps, 0.99),
        longestGap: Math.max(...gaps),
      };
    },
  };
}

/** A profile of the page's scripts during the work, for the developer tools of Chromium (`.cpuprofile`). */
export async function profiled(session: CDPSession, work: () => Promise<unknown>): Promise<string> {
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 200 });
  await session.send('Profiler.start');
  await work();
  const { profile } = await session.send('Profiler.stop');
  return JSON.stringify(profile);
}
