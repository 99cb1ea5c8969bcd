/**
 * B15: what happens to other callers when one caller sends far more than the server can do? Four callers send requests
 * at a steady rate. Then a fifth keeps 2,000 connections busy, ignores `Retry-After`, and stops again.
 *
 *   npm run bench -- overload [tokens|lists] [seconds for each part]
 *
 * Clients and server share the machine, so the peak is measured before and after, under the same conditions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, tokenOf } from '../../test/e2e/support/server.ts';
import { cpuOf } from '../support/cpu.ts';
import { demoTokenRequest } from '../support/demo-tokens.ts';
import { startLoad } from '../support/load.ts';
import type { Outcome } from '../support/load-client.ts';
import { percentile } from '../support/numbers.ts';
import { CLUSTERS_PATH } from '../support/objects.ts';

const [kind = 'tokens', partSeconds = '15'] = process.argv.slice(2);
if (kind !== 'tokens' && kind !== 'lists') throw new Error(`the first argument is tokens or lists, not ${kind}`);
const seconds = Number(partSeconds);
const STEADY = ['ann', 'ben', 'cem', 'dan'];
const STEADY_RATE = 100;
const GREEDY_CONNECTIONS = 2_000;
/** Enough to keep the server busy without a queue. */
const PEAK_CONNECTIONS = 32;
/** A later response is no success. */
const PATIENCE_MS = 2_000;
/** The steady callers go on for so long after the flood, to see the recovery. */
const AFTER_SECONDS = 10;

const groups = ['system:masters'];
const users = Object.fromEntries([...STEADY, 'greedy'].map((name) => [name, groups]));
const server = await startServer({ users, args: ['--demo', '--log-level', 'warn'] });
const port = Number(new URL(server.url).port);
const listRequest = (user: string): string =>
  `GET ${CLUSTERS_PATH} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${tokenOf(user)}\r\n\r\n`;
const requestOf = kind === 'tokens' ? demoTokenRequest : listRequest;

const steady = (forSeconds: number): Promise<Outcome> =>
  startLoad({ port, requests: STEADY.map(requestOf), connections: 32, rate: STEADY_RATE, seconds: forSeconds });
const greedy = (connections: number): Promise<Outcome> =>
  startLoad({ port, requests: [requestOf('greedy')], connections, seconds });

const sum = (codes: Outcome['codes'], match: RegExp): number =>
  Object.entries(codes).reduce((total, [code, count]) => total + (match.test(code) ? count : 0), 0);
const latency = (outcome: Outcome, untilMs = Number.POSITIVE_INFINITY): string => {
  const times = outcome.served.filter(([at]) => at < untilMs).map(([, took]) => took);
  return `p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`;
};

/** Seconds of CPU time of the server so far. */
const serverSeconds = (): number => cpuOf(server.pid) / 1e6;

interface Rate {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

async function peak(): Promise<Rate> {
  const before = serverSeconds();
  const outcomes = await Promise.all([greedy(PEAK_CONNECTIONS), steady(seconds)]);
  const served = outcomes.reduce((total, { codes }) => total + sum(codes, /^2/), 0);
  return { perSecond: served / seconds, perCpuSecond: served / (serverSeconds() - before) };
}

console.log(`B15, ${kind}, ${seconds} s for each part`);
const quiet = await steady(seconds);
console.log(`quiet      ${STEADY_RATE} requests /s, ${latency(quiet)}`);
const before = await peak();
const steadyDuring = steady(seconds + AFTER_SECONDS);
const cpuBefore = serverSeconds();
const flood = greedy(GREEDY_CONNECTIONS);
await sleep(seconds * 1000);
const floodCpu = serverSeconds() - cpuBefore;
const got = await flood;
const others = await steadyDuring;
const after = await peak();

/** Requests of the steady callers that were due during the flood, and served in time. */
const inTime = others.served.filter(([at, took]) => at - took < seconds * 1000 && took <= PATIENCE_MS).length;
const due = STEADY_RATE * seconds;
const served = sum(got.codes, /^2/) + inTime;
const goodput: Rate = { perSecond: served / seconds, perCpuSecond: served / floodCpu };
const share = (of: keyof Rate): string => `${((100 * goodput[of]) / Math.max(before[of], after[of])).toFixed(0)} %`;
const quietTimes = quiet.served.map(([, took]) => took);
const usual = 2 * percentile(quietTimes, 0.99);
/** The last second after the flood in which most responses were slower than usual. */
const recovery = Array.from({ length: AFTER_SECONDS }, (_, index) => index + 1).reduce((last, second) => {
  const times = others.served.flatMap(([at, took]) => (Math.ceil(at / 1000 - seconds) === second ? [took] : []));
  return times.filter((took) => took > usual).length * 2 > times.length ? second : last;
}, 0);
const rateText = ({ perSecond, perCpuSecond }: Rate): string =>
  `${perSecond.toFixed(0)} /s, ${perCpuSecond.toFixed(0)} for each CPU second of the server`;
console.log(`peak       ${rateText(before)}`);
console.log(`           ${rateText(after)}, after the flood`);
console.log(`flood      ${JSON.stringify(got.codes)} for the greedy caller on ${GREEDY_CONNECTIONS} connections`);
console.log(
  `others     ${inTime} of ${due} served (${((100 * inTime) / due).toFixed(1)} %), ${latency(others, seconds * 1000)}`,
);
console.log(`           ${JSON.stringify(others.codes)} in total`);
console.log(`goodput    ${rateText(goodput)}: ${share('perSecond')} and ${share('perCpuSecond')} of the peak`);
console.log(`recovery   within ${recovery + 1} s responses take less than ${usual.toFixed(0)} ms, twice the quiet p99`);
console.log(`5xx        ${sum(got.codes, /^5/) + sum(others.codes, /^5/)}`);
await server.destroy();
process.exit();
