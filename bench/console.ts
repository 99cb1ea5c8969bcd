/**
 * Is the console smooth with a large fleet while changes arrive, and how soon does a permission show? The real page in
 * Chromium, the real server, each in processes of its own.
 *
 *   npm run bench -- console [--clusters N] [--rate EVENTS] [--seconds S] [--rounds N] [--profile FILE]
 *
 * An event is a change of one cluster's readiness, and counts as applied when the number of those that are not ready
 * says so in the page. CPU time is the scheduler's count, whoever else keeps the machine busy; frames are those that the
 * browser gives the page, so their gaps mean something on a quiet machine only.
 */
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { setUpChromium } from '../scripts/setup-chromium.mjs';
import { setUpConsole } from '../scripts/setup-console.mjs';
import { launchBrowser, signIn } from '../test/e2e/support/browser.ts';
import { binding, clusterName, NARROW, READER } from './support/fleet.ts';
import { at, median, short } from './support/numbers.ts';
import { createPageProbe, type PageTime, profiled } from './support/page-probe.ts';
import { type Desk, endEverything, startDesk } from './support/processes.ts';

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
const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

const agent = new Agent({ keepAlive: true, maxSockets: 16, rejectUnauthorized: false });

/** Answers when the server has answered; throws unless that is a success. */
function send(desk: Desk, method: string, path: string, body?: object): Promise<void> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { Authorization: `Bearer ${desk.adminToken}`, 'Content-Type': type };
  return new Promise((resolve, reject) => {
    const sent = request(`${desk.url}${path}`, { agent, method, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        if ((answer.statusCode ?? 0) < 300) resolve();
        else reject(new Error(`${method} ${path} was answered with ${answer.statusCode}`));
      });
    });
    // The server may close an idle connection in the moment it is used again; clients ask once more then.
    sent.on('error', (error) => (sent.reusedSocket ? resolve(send(desk, method, path, body)) : reject(error)));
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
        message: 'As the benchmark says.',
        lastTransitionTime: new Date().toISOString().replace(/\.\d+/, ''),
      },
    ],
  },
});

/** So many clusters, evenly over the fleet, one after the other at the rate; those that are late are sent at once. */
async function change(desk: Desk, status: string, count: number): Promise<void> {
  const sent: Promise<void>[] = [];
  const start = performance.now();
  const step = Math.max(1, Math.floor(clusters / count));
  for (let index = 0; index < count; index++) {
    const wait = start + (index * 1000) / rate - performance.now();
    if (wait > 0) await delay(wait);
    const answer = send(desk, 'PATCH', `${CLUSTERS}/${clusterName(index * step)}/status`, ready(status));
    // What fails is told at the end: nobody waits for it yet, and the server must not outlive this process.
    answer.catch(() => {});
    sent.push(answer);
  }
  await Promise.all(sent);
}

/** Becomes true in the page; looked at in each frame. */
const until = (page: Page, condition: string): Promise<unknown> =>
  page.evaluate(
    `new Promise((done) => { const look = () => (${condition}) ? done(Date.now()) : requestAnimationFrame(look); look(); })`,
  );

const notReady = (count: number): string =>
  `document.querySelector('.tile:nth-of-type(3) .tile-number').textContent === ${JSON.stringify(count.toLocaleString('en-GB'))}`;
const shows = (text: string): string =>
  `document.querySelector('.result-count').textContent === ${JSON.stringify(`${text} clusters`)}`;

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
const desk = await startDesk({ clusters, bindings: 10 });
const browser = await launchBrowser();
try {
  const context = () =>
    browser.newContext({
      viewport: { width: 1280, height: 800 },
      ignoreHTTPSErrors: true,
      reducedMotion: 'no-preference',
      locale: 'en-GB',
    });
  console.log(`${clusters} clusters, ${rate} changes in a second for ${seconds} s; ${cpus().length} processors`);
  console.log(`load before the start: ${loadavg()[0]?.toFixed(1)}\n`);
  const page = await (await context()).newPage();
  const count = Math.min(clusters, rate * seconds);

  await page.goto(`${desk.url}/console/`);
  const probe = await createPageProbe(browser, page);
  const loaded = await probe.during(async () => {
    await page.getByLabel('Token', { exact: true }).fill(READER.token);
    await page.keyboard.press('Enter');
    await page.locator('.result-count').waitFor();
    await until(page, shows(clusters.toLocaleString('en-GB')));
  });
  const idle = await probe.during(() => delay(5_000));
  const still = await probe.during(async () => {
    await Promise.all([change(desk, 'False', count), until(page, notReady(count))]);
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
    await Promise.all([change(desk, 'True', count), until(page, notReady(0))]);
    stopped.now = true;
    await scrolling;
  });
  await page.getByRole('button', { name: 'Since' }).click();
  const sorted = await probe.during(async () => {
    await Promise.all([change(desk, 'False', count), until(page, notReady(count))]);
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
    await change(desk, 'True', count);
    stopped.now = true;
    await typing;
    await until(page, notReady(0));
  });
  console.log(`${''.padEnd(34)}${columns(['events/s', 'main thread', 'browser', 'p99 gap', 'longest'])}`);
  console.log(row('signing in, until all is there', loaded));
  console.log(row('nothing happens', idle));
  console.log(row('changes arrive', still, count));
  console.log(row('changes arrive, scrolling', scrolled, count));
  console.log(row('changes arrive, sorted by age', sorted, count));
  console.log(row('changes arrive, typing a search', typed, count));
  const perEvent = (time: PageTime): string =>
    short((time.mainThread - (idle.mainThread * time.seconds) / idle.seconds) / count);
  console.log(
    `\nmain thread for an event, less than what nothing costs: ${perEvent(still)} us; by age ${perEvent(sorted)} us`,
  );
  console.log(`main thread for a cluster when signing in: ${short(loaded.mainThread / clusters)} us`);
  if (values.profile !== undefined) {
    const session = await page.context().newCDPSession(page);
    await writeFile(values.profile, await profiled(session, () => change(desk, 'False', count)));
    await change(desk, 'True', count);
    console.log(`a profile of the page while changes arrive: ${values.profile}`);
  }
  await page.context().close();

  // From the answer to whoever gave or took it, to the frame in which it shows. Both clocks are the machine's.
  const seer = await (await context()).newPage();
  await signIn(seer, desk, NARROW.token);
  await until(seer, shows('200'));
  const permission = async (selector: string | undefined, seen: number): Promise<{ given: number; taken: number }> => {
    const one = async (method: string, path: string, body: object | undefined, shown: number): Promise<number> => {
      const showing = until(seer, shows(shown.toLocaleString('en-GB'))) as Promise<number>;
      await send(desk, method, path, body);
      const answeredAt = Date.now();
      return Math.max(0, (await showing) - answeredAt);
    };
    const given = await one('POST', BINDINGS, binding('bench-more', 'viewer', NARROW.name, selector), seen);
    const taken = await one('DELETE', `${BINDINGS}/bench-more`, undefined, 200);
    return { given, taken };
  };
  const stopped = { now: false };
  const changing = (async () => {
    while (!stopped.now) for (const status of ['False', 'True']) if (!stopped.now) await change(desk, status, rate);
  })();
  const tell = (name: string, times: number[]): void =>
    console.log(`${name.padEnd(34)}${columns([median(times).toFixed(0), at(times, 1).toFixed(0)])}`);
  console.log(`\n${'a permission shows, ms'.padEnd(34)}${columns(['median', 'longest'])}`);
  for (const [what, selector, seen, times] of [
    ['to one cluster', `kubernetes.io/metadata.name=${clusterName(1)}`, 201, rounds],
    ['to the whole fleet', undefined, clusters, 3],
  ] as const) {
    const shown: { given: number; taken: number }[] = [];
    for (let round = 0; round < times; round++) shown.push(await permission(selector, seen));
    tell(
      `given, ${what}`,
      shown.map(({ given }) => given),
    );
    tell(
      `taken, ${what}`,
      shown.map(({ taken }) => taken),
    );
  }
  stopped.now = true;
  await changing;
} finally {
  agent.destroy();
  await browser.close();
  await endEverything();
}
