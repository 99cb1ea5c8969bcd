/**
 * B15: what one caller does to others who asks for far more than the server can do. Four callers ask at a steady rate;
 * then a fifth keeps two thousand connections busy, never heeds `Retry-After`, and stops again.
 *
 *   npm run bench -- overload [tokens|lists] [seconds for each part]
 *
 * Clients and server share the machine, so the peak is taken before and after, under the same conditions.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startServer, tokenOf } from '../test/e2e/support/server.ts';
import type { Job, Outcome } from './overload-client.ts';

const [kind = 'tokens', seconds = '15'] = process.argv.slice(2);
const time = Number(seconds);
const POLITE = ['ann', 'ben', 'cem', 'dan'];
const POLITE_RATE = 100;
const GREEDY_CONNECTIONS = 2_000;
/** Enough to keep the server busy without a queue. */
const PEAK_CONNECTIONS = 32;
/** An answer that comes later is no success. */
const PATIENCE_MS = 2_000;
const TICKS_PER_SECOND = 100;

const groups = ['system:masters'];
const users = Object.fromEntries([...POLITE, 'greedy'].map((name) => [name, groups]));
const server = await startServer({ users, args: ['--demo', '--log-level', 'warn'] });
const port = Number(new URL(server.url).port);
const body = '{"spec":{"audiences":["bench"]}}';
const requestOf = (user: string): string =>
  [
    kind === 'tokens'
      ? 'POST /orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token HTTP/1.1'
      : 'GET /apis/clusterregistry.k8s.io/v1alpha1/clusters HTTP/1.1',
    'Host: bench',
    `Authorization: Bearer ${tokenOf(user)}`,
    ...(kind === 'tokens' ? ['Content-Type: application/json', `Content-Length: ${body.length}`, '', body] : ['', '']),
  ].join('\r\n');

async function startJob(job: Omit<Job, 'port'>): Promise<() => Promise<Outcome>> {
  const child: ChildProcess = fork(fileURLToPath(new URL('overload-client.ts', import.meta.url)));
  const outcome = once(child, 'message') as Promise<[Outcome]>;
  child.send({ ...job, port });
  return async () => (await outcome)[0];
}

const polite = (forSeconds: number) =>
  startJob({ requests: POLITE.map(requestOf), connections: 32, rate: POLITE_RATE, seconds: forSeconds });
const greedy = (connections: number) =>
  startJob({ requests: [requestOf('greedy')], connections, rate: 0, seconds: time });

const sum = (codes: Outcome['codes'], match: RegExp): number =>
  Object.entries(codes).reduce((total, [code, count]) => total + (match.test(code) ? count : 0), 0);
const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
const tail = (outcome: Outcome, from = 0, to = Number.POSITIVE_INFINITY): string => {
  const times = outcome.served.filter(([when]) => when >= from && when < to).map(([, took]) => took);
  times.sort((a, b) => a - b);
  return `p50 ${at(times, 0.5).toFixed(0)} ms, p99 ${at(times, 0.99).toFixed(0)} ms`;
};

/** Seconds of processor time that the server has used: what counts on a machine that others use too. */
function serverTime(): number {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

interface Rate {
  readonly perSecond: number;
  readonly perServerSecond: number;
}

async function peak(): Promise<Rate> {
  const used = serverTime();
  const [busy, calm] = await Promise.all([greedy(PEAK_CONNECTIONS), polite(time)]);
  const [a, b] = [await busy(), await calm()];
  const served = sum(a.codes, /^2/) + sum(b.codes, /^2/);
  return { perSecond: served / time, perServerSecond: served / (serverTime() - used) };
}

console.log(`B15, ${kind}, ${time} s each`);
const quiet = await (await polite(time))();
console.log(`quiet      ${POLITE_RATE}/s asked, ${tail(quiet)}`);
const before = await peak();
// Runs on after the flood, so that the recovery is seen by those who were there.
const afterwards = 10;
const calm = await polite(time + afterwards);
const usedBefore = serverTime();
const flood = await greedy(GREEDY_CONNECTIONS);
await delay(time * 1000);
const usedByFlood = serverTime() - usedBefore;
const got = await flood();
const theirs = await calm();
const after = await peak();

/** Of those that were due during the flood. */
const during = theirs.served.filter(([when, took]) => when - took < time * 1000 && took <= PATIENCE_MS).length;
const asked = POLITE_RATE * time;
const served = sum(got.codes, /^2/) + during;
const goodput: Rate = { perSecond: served / time, perServerSecond: served / usedByFlood };
const share = (of: keyof Rate): string => `${((100 * goodput[of]) / Math.max(before[of], after[of])).toFixed(0)} %`;
const usual =
  2 *
  at(
    quiet.served.map(([, took]) => took).sort((a, b) => a - b),
    0.99,
  );
/** The end of the last second in which most answers took longer than nearly all do on a quiet day. */
const recovery = Array.from({ length: afterwards }, (_, index) => index + 1).reduce((last, second) => {
  const times = theirs.served.flatMap(([when, took]) => (Math.ceil(when / 1000 - time) === second ? [took] : []));
  return times.filter((took) => took > usual).length * 2 > times.length ? second : last;
}, 0);
const say = ({ perSecond, perServerSecond }: Rate): string =>
  `${perSecond.toFixed(0)} /s, ${perServerSecond.toFixed(0)} for each second of the server's processor time`;
console.log(`peak       ${say(before)}`);
console.log(`           ${say(after)}, afterwards`);
console.log(`flood      ${JSON.stringify(got.codes)} for the greedy caller on ${GREEDY_CONNECTIONS} connections`);
console.log(
  `others     ${during} of ${asked} served (${((100 * during) / asked).toFixed(1)} %), ${tail(theirs, 0, time * 1000)}`,
);
console.log(`           ${JSON.stringify(theirs.codes)} in all`);
console.log(`goodput    ${say(goodput)}: ${share('perSecond')} and ${share('perServerSecond')} of the peak`);
console.log(
  `recovery   within ${recovery + 1} s: answers take less than ${usual.toFixed(0)} ms, twice the quiet p99, again`,
);
console.log(`5xx        ${sum(got.codes, /^5/) + sum(theirs.codes, /^5/)}`);
await server.destroy();
process.exit();
