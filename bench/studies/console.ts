/**
 * Is the console smooth with a large fleet while changes arrive, and how soon does it show a changed permission? The
 * real page runs in Chromium, with the real server.
 *
 *   npm run bench -- console [--clusters N] [--rate EVENTS] [--seconds S] [--rounds N] [--profile FILE]
 *
 * An event is a change of one cluster's readiness. It is applied when the page shows the right number of clusters that
 * are not ready. CPU time is counted by the scheduler, so other load on the machine changes it little. The gaps between
 * frames are meaningful on a quiet machine only.
 */
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { setUpChromium } from '../../scripts/setup-chromium.mjs';
import { setUpConsole } from '../../scripts/setup-console.mjs';
import { launchBrowser, signIn } from '../../test/e2e/support/browser.ts';
import { clusterFleet, HOME, LABELLED, LIMITED_READER, READER } from '../support/cluster-fleet.ts';
import { median, percentile, threeDigits } from '../support/numbers.ts';
import { BINDINGS_PATH, binding, CLUSTERS_PATH, clusterName, user } from '../support/objects.ts';
import { createPageProbe, type PageTime, profiled } from '../support/page-probe.ts';
import { endAll, type FleetServer, startFleetServer } from '../support/processes.ts';

const { values } = parseArgs({
  options: {
    clusters: { type: 'string', default: '10000' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '20' },
    profile: { type: 'string' },
  },
});
const [clusters, rate, seconds, rounds] = [values.clusters, values.rate, values.seconds, values.rounds].map(Number) as [
  number,
  number,
  number,
  number,
];
// With fewer clusters the limited reader sees all of them, and another permission changes nothing.
if (!(clusters >= 2 * LABELLED)) throw new Error(`--clusters must be at least ${2 * LABELLED}`);

const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });

/** Resolves with the response; rejects unless it is a success. */
function send(server: FleetServer, method: string, path: string, body?: object): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { Authorization: `Bearer ${server.adminToken}`, 'Content-Type': type };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { agent, method, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if ((response.statusCode ?? 0) < 300) resolve();
        else reject(new Error(`${method} ${path} got status ${response.statusCode}`));
      });
    });
    // The server may close an idle connection in the moment it is used again. Clients retry then.
    sent.on('error', (error) => (sent.reusedSocket ? resolve(send(server, method, path, body)) : reject(error)));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const ready = (status: string): object => ({
  status: {
    conditions: [
      {
        type: 'Ready',
        status,
        reason: status === 'True' ? 'Reachable' : 'Unreachable',
        message: 'Set by the benchmark.',
        lastTransitionTime: new Date().toISOString().replace(/\.\d+/, ''),
      },
    ],
  },
});

/** Changes so many clusters, spread evenly over the fleet, at the rate. A change that is late is sent at once. */
async function change(server: FleetServer, status: string, count: number): Promise<void> {
  const sent: Promise<void>[] = [];
  const start = performance.now();
  const step = Math.max(1, Math.floor(clusters / count));
  for (let index = 0; index < count; index++) {
    const wait = start + (index * 1000) / rate - performance.now();
    if (wait > 0) await delay(wait);
    const response = send(server, 'PATCH', `${CLUSTERS_PATH}/${clusterName(index * step)}/status`, ready(status));
    // A rejection is reported by `Promise.all` below. Unhandled, it would end this process before the server.
    response.catch(() => {});
    sent.push(response);
  }
  await Promise.all(sent);
}

/** Resolves when the condition is true in the page. It is evaluated in each frame. */
const until = (page: Page, condition: string): Promise<unknown> =>
  page.evaluate(
    `new Promise((done) => {
      const check = () => (${condition}) ? done(Date.now()) : requestAnimationFrame(check);
      check();
    })`,
  );

const hasText = (selector: string, text: string): string =>
  `document.querySelector(${JSON.stringify(selector)}).textContent === ${JSON.stringify(text)}`;
const notReady = (count: number): string => hasText('.tile:nth-of-type(3) .tile-number', count.toLocaleString('en-GB'));
const shows = (text: string): string => hasText('.result-count', `${text} clusters`);

const columns = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(13)).join('');
function row(name: string, time: PageTime, events = 0): string {
  return `${name.padEnd(34)}${columns([
    events === 0 ? '-' : (events / time.seconds).toFixed(1),
    `${((100 * time.mainThread) / time.seconds / 1e6).toFixed(1)} %`,
    `${((100 * time.all) / time.seconds / 1e6).toFixed(1)} %`,
    `${time.p99Gap.toFixed(1)} ms`,
    `${time.longestGap.toFixed(1)} ms`,
  ])}`;
}

setUpChromium();
await setUpConsole();
const server = await startFleetServer(clusterFleet({ clusters, bindings: 10 }));
const browser = await launchBrowser();
try {
  const context = () =>
    browser.newContext({
      viewport: { width: 1280, height: 800 },
      ignoreHTTPSErrors: true,
      reducedMotion: 'no-preference',
      locale: 'en-GB',
    });
  console.log(`${clusters} clusters, ${rate} changes a second for ${seconds} s; ${cpus().length} processors`);
  console.log(`load before the start: ${loadavg()[0]?.toFixed(1)}\n`);
  const page = await (await context()).newPage();
  const count = Math.min(clusters, rate * seconds);

  await page.goto(`${server.url}/console/`);
  const probe = await createPageProbe(browser, page);
  const loaded = await probe.during(async () => {
    await page.getByLabel('Token', { exact: true }).fill(READER.token);
    await page.keyboard.press('Enter');
    await page.locator('.result-count').waitFor();
    await until(page, shows(clusters.toLocaleString('en-GB')));
  });
  const idle = await probe.during(() => delay(5_000));
  const still = await probe.during(async () => {
    await Promise.all([change(server, 'False', count), until(page, notReady(count))]);
  });
  const scroll = async (stopped: { now: boolean }): Promise<void> => {
    await page.mouse.move(640, 600);
    for (let step = 0; !stopped.now; step++) {
      await page.mouse.wheel(0, step % 200 < 100 ? 120 : -120);
      await delay(16);
    }
  };
  const scrolled = await probe.during(async () => {
    const stopped = { now: false };
    const scrolling = scroll(stopped);
    await Promise.all([change(server, 'True', count), until(page, notReady(0))]);
    stopped.now = true;
    await scrolling;
  });
  await page.getByRole('button', { name: 'Since' }).click();
  const sorted = await probe.during(async () => {
    await Promise.all([change(server, 'False', count), until(page, notReady(count))]);
  });
  await page.getByRole('button', { name: 'Name', exact: true }).click();
  const typed = await probe.during(async () => {
    const stopped = { now: false };
    const typing = (async () => {
      for (let step = 0; !stopped.now; step++) {
        const text = `c-0000${String(step % 10_000).padStart(4, '0')}`;
        await page.getByLabel('Search clusters').pressSequentially(text, { delay: 60 });
        await page.getByLabel('Search clusters').fill('');
      }
    })();
    await change(server, 'True', count);
    stopped.now = true;
    await typing;
    await until(page, notReady(0));
  });
  console.log(`${''.padEnd(34)}${columns(['events/s', 'main thread', 'browser', 'p99 gap', 'longest'])}`);
  console.log(row('sign-in, until the list is complete', loaded));
  console.log(row('no changes', idle));
  console.log(row('changes arrive', still, count));
  console.log(row('changes arrive, scrolling', scrolled, count));
  console.log(row('changes arrive, sorted by age', sorted, count));
  console.log(row('changes arrive, typing a search', typed, count));
  const perEvent = (time: PageTime): string =>
    threeDigits((time.mainThread - (idle.mainThread * time.seconds) / idle.seconds) / count);
  console.log(
    `\nmain thread for an event, without the cost of no changes: ${perEvent(still)} us; by age ${perEvent(sorted)} us`,
  );
  console.log(`main thread for a cluster at sign-in: ${threeDigits(loaded.mainThread / clusters)} us`);
  if (values.profile !== undefined) {
    const session = await page.context().newCDPSession(page);
    await writeFile(values.profile, await profiled(session, () => change(server, 'False', count)));
    await change(server, 'True', count);
    console.log(`profile of the page while changes arrive: ${values.profile}`);
  }
  await page.context().close();

  // From the response to the change of the binding to the frame that shows it. Both clocks are those of the machine.
  const viewer = await (await context()).newPage();
  await signIn(viewer, server, LIMITED_READER.token);
  await until(viewer, shows(String(LABELLED)));
  const permission = async (clusters: string | undefined, seen: number): Promise<{ given: number; taken: number }> => {
    const more = binding('bench-more', { role: 'viewer', subjects: [user(LIMITED_READER.name)], clusters });
    const one = async (method: string, path: string, body: object | undefined, shown: number): Promise<number> => {
      const showing = until(viewer, shows(shown.toLocaleString('en-GB'))) as Promise<number>;
      await send(server, method, path, body);
      const changedAt = Date.now();
      return Math.max(0, (await showing) - changedAt);
    };
    const given = await one('POST', BINDINGS_PATH, more, seen);
    const taken = await one('DELETE', `${BINDINGS_PATH}/bench-more`, undefined, LABELLED);
    return { given, taken };
  };
  const stopped = { now: false };
  const changing = (async () => {
    while (!stopped.now) for (const status of ['False', 'True']) if (!stopped.now) await change(server, status, rate);
  })();
  const printTimes = (name: string, times: number[]): void =>
    console.log(`${name.padEnd(34)}${columns([median(times).toFixed(0), percentile(times, 1).toFixed(0)])}`);
  console.log(`\n${'permission shown after, ms'.padEnd(34)}${columns(['median', 'longest'])}`);
  for (const [what, selector, seen, times] of [
    ['to one cluster', `kubernetes.io/metadata.name=${HOME}`, 201, rounds],
    ['to the whole fleet', undefined, clusters, 3],
  ] as const) {
    const shown: { given: number; taken: number }[] = [];
    for (let round = 0; round < times; round++) shown.push(await permission(selector, seen));
    printTimes(
      `given, ${what}`,
      shown.map(({ given }) => given),
    );
    printTimes(
      `taken, ${what}`,
      shown.map(({ taken }) => taken),
    );
  }
  stopped.now = true;
  await changing;
} finally {
  agent.destroy();
  await browser.close();
  await endAll();
}
