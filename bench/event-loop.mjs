/**
 * `node bench/event-loop.mjs [--warm] [WORD]`: sends each hostile request to a server that has just started, and says
 * how long a health check had to wait meanwhile. Ends with 1 when one of them held the others up for 50 ms or more.
 * `--warm` sends each one twice and counts the second; with a WORD, only the rows whose name contains it are sent.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chooseNode, pinnedNode } from '../bin/find-node.mjs';
import { GRANTER_TOKEN } from './hostile-places.mjs';
import { rows } from './hostile-requests.mjs';

/** No request may hold up the others for longer. */
const LIMIT_MS = 50;
const PROGRAM = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const NODE = chooseNode({
  version: process.versions.node,
  execPath: process.execPath,
  pinned: pinnedNode(),
});

/**
 * @typedef {object} Desk
 * @property {string} url
 * @property {string} admin
 * @property {number} pid
 * @property {() => Promise<void>} end
 */

/** @returns {Promise<Desk>} */
async function startDesk() {
  if (NODE === undefined) throw new Error('no Node that is new enough: run npm install first');
  const dir = mkdtempSync(join(tmpdir(), 'clusterpass-bench-'));
  const users = join(dir, 'users.csv');
  writeFileSync(users, `${GRANTER_TOKEN},granter,uid-granter\n`, { mode: 0o600 });
  const args = ['--demo', '--data-dir', dir, '--listen', '127.0.0.1:0', '--token-auth-file', users];
  const child = spawn(NODE, [PROGRAM, 'serve', ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const url = await new Promise((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      const found = /serves (\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return {
    url,
    admin: readFileSync(join(dir, 'admin.token'), 'utf8').trim(),
    pid: child.pid ?? 0,
    end: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * How long the server's main thread has computed so far, in milliseconds. What passes while it computes is its own
 * doing; what passes while it waits for a busy machine is not. Undefined where there is no /proc.
 * @param {number} pid
 */
function computed(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** Health checks, one after the other, each with the time it took. */
class Pings {
  /** @type {Desk} */ #desk;
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #on = true;
  longest = 0;
  /** The longest that the server computed during one. */
  busiest = 0;
  /** @type {Promise<void>} */ #done;

  /** @param {Desk} desk */
  constructor(desk) {
    this.#desk = desk;
    this.#done = this.#run();
  }

  async #run() {
    while (this.#on) {
      const start = performance.now();
      const before = computed(this.#desk.pid);
      await new Promise((resolve) => {
        get(`${this.#desk.url}/livez`, { agent: this.#agent }, (answer) => answer.resume().on('end', resolve)).on(
          'error',
          resolve,
        );
      });
      const took = performance.now() - start;
      const busy = before === undefined ? took : (computed(this.#desk.pid) ?? 0) - before;
      this.longest = Math.max(this.longest, took);
      // A turn of the loop cannot last longer than the check that waited for it.
      this.busiest = Math.max(this.busiest, Math.min(took, busy));
      await sleep(2);
    }
    this.#agent.destroy();
  }

  reset() {
    this.longest = 0;
    this.busiest = 0;
  }

  async stop() {
    this.#on = false;
    await this.#done;
  }
}

/**
 * @param {Desk} desk
 * @param {import('./hostile-requests.mjs').HostileRequest} request
 */
async function send(desk, { method, path, body, token, type = 'application/json', headers = {} }) {
  const signal = AbortSignal.timeout(30_000);
  try {
    const answer = await fetch(desk.url + path, {
      method,
      headers: {
        Authorization: `Bearer ${token ?? desk.admin}`,
        ...(body === undefined ? {} : { 'Content-Type': type }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal,
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    // Cut off: what a request that breaks the rules of HTTP may expect.
    return 0;
  }
}

/**
 * @param {import('./hostile-requests.mjs').Row} row
 * @param {boolean} warm
 */
async function measure(row, warm) {
  const desk = await startDesk();
  try {
    for (const request of row.before ?? []) {
      const code = await send(desk, request);
      if (code >= 400) throw new Error(`${row.name}: what it needs was refused with ${code}`);
    }
    const pings = new Pings(desk);
    const pace = () => sleep(100);
    await pace();
    pings.reset();
    await sleep(300);
    const quiet = pings.longest;
    let code = 0;
    for (let round = 0; round < (warm ? 2 : 1); round++) {
      pings.reset();
      code = await send(desk, row.request);
      await pace();
    }
    await pings.stop();
    return { code, quiet, longest: pings.longest, busiest: pings.busiest };
  } finally {
    await desk.end();
  }
}

const args = process.argv.slice(2);
const warm = args.includes('--warm');
const word = args.find((arg) => !arg.startsWith('-')) ?? '';
const ms = (/** @type {number} */ value) => `${value.toFixed(0)} ms`.padStart(7);
/** @type {string[]} */
const faults = [];
let worst = 0;
console.log('answer   waited computed   quiet  request');
for (const row of rows) {
  if (!row.name.includes(word)) continue;
  const { code, quiet, longest, busiest } = await measure(row, warm);
  const expected = row.codes.includes(code);
  if (busiest >= LIMIT_MS) faults.push(`${row.name}: ${ms(busiest).trim()}`);
  if (!expected) faults.push(`${row.name}: answered with ${code}, not ${row.codes.join(' or ')}`);
  worst = Math.max(worst, busiest);
  console.log(`${String(code).padStart(6)} ${ms(longest)}  ${ms(busiest)} ${ms(quiet)}  ${row.name}`);
}
console.log(`\nlongest: ${ms(worst).trim()}; limit: ${LIMIT_MS} ms`);
for (const fault of faults) console.log(`TOO LONG OR WRONG  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
