/**
 * Does a rotation cost anybody anything? Token requests without a pause while keys rotate by age, and three kinds of
 * verifiers: the server itself, a review, and libraries that read the key set once an hour and never in between, each at
 * another minute. Every token is tried when it is new, and again until shortly before its end. Then the current key is
 * revoked, and the tokens that it signed are tried until they are refused.
 *
 *   node bench/rotation.ts [rotations] [requests at once] [algorithm] [speed]
 *
 * Keys rotate every two hours, the shortest time there is, so the clock of the server runs faster than the world's: 120
 * times (an hour is half a minute) unless said otherwise.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { startServer } from '../test/e2e/support/server.ts';
import { at } from './support/numbers.ts';

const [rotations = '3', atOnce = '8', algorithm = 'ES256', speed = '120'] = process.argv.slice(2);
const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const IN_ALPHA = '/orchestrator/alpha';
const TOKEN = `${IN_ALPHA}/api/v1/namespaces/ci/serviceaccounts/builder/token`;
const REVIEW = `${IN_ALPHA}/apis/authentication.k8s.io/v1/tokenreviews`;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const VERIFIERS = 12;
/** Of a token for an hour. */
const LAST_TRY_MS = 59 * MINUTE;
/** What a verifier that reads the key set once an hour still takes for new. */
const MAX_AGE_MS = HOUR;

const begun = Date.now();
const now = (): number => begun + (Date.now() - begun) * Number(speed);
const server = await startServer({
  args: [
    '--signing-algorithm',
    algorithm,
    '--signing-key-rotation',
    '2h',
    '--max-clock-skew',
    '0',
    '--log-level',
    'error',
  ],
  env: {
    NODE_OPTIONS: `--import=${new URL('support/fast-clock.mjs', import.meta.url).href}`,
    CLUSTERPASS_BENCH_CLOCK: `${begun},${speed}`,
  },
});
const issuer = `${server.url}${IN_ALPHA}`;

async function create(path: string, body: object): Promise<{ metadata: { name: string }; status: { token: string } }> {
  const { code, text, json } = await server.call('POST', path, { body });
  if (code !== 201) throw new Error(text);
  return json;
}

const cluster = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'alpha' } };
await create('/apis/clusterregistry.k8s.io/v1alpha1/clusters', cluster);
await create(`${IN_ALPHA}/api/v1/namespaces`, { metadata: { name: 'ci' } });
await create(`${IN_ALPHA}/api/v1/namespaces/ci/serviceaccounts`, { metadata: { name: 'builder' } });

/** One that reads the key set when its copy is an hour old, whatever it meets before. */
class Verifier {
  #keys: Promise<ReturnType<typeof createLocalJWKSet>>;
  #readAt: number;

  constructor(phase: number) {
    this.#readAt = now() - HOUR + phase;
    this.#keys = this.#read();
  }

  async verify(token: string): Promise<{ good: boolean; age: number }> {
    const age = now() - this.#readAt;
    if (age >= MAX_AGE_MS) {
      this.#readAt = now();
      this.#keys = this.#read();
      return this.verify(token);
    }
    const keys = await this.#keys;
    const options = { issuer, audience: issuer, currentDate: new Date(now()), clockTolerance: 60 };
    const good = await jwtVerify(token, keys, options).then(
      () => true,
      () => false,
    );
    return { good, age };
  }

  async #read(): Promise<ReturnType<typeof createLocalJWKSet>> {
    const { json } = await server.call('GET', `${IN_ALPHA}/openid/v1/jwks`, { token: null });
    return createLocalJWKSet(json as JSONWebKeySet);
  }
}

const verifiers = Array.from({ length: VERIFIERS }, (_, index) => new Verifier((index * HOUR) / VERIFIERS));
/** By the key that signs, in the order in which they began to. */
const took = new Map<string, number[]>();
const refused = { here: 0, review: 0, elsewhere: 0 };
const ages: number[] = [];
let tries = 0;
let tokens = 0;
let last = '';
let stopped = false;
/** Tokens that are tried again, with the time of it. */
const kept: { readonly token: string; readonly againAt: number }[] = [];

async function tryEverywhere(token: string): Promise<void> {
  tries++;
  const { code } = await server.call('GET', '/auth/v1/clusters?limit=1', { token });
  if (code !== 200) refused.here++;
  const review = await server.call('POST', REVIEW, { body: { spec: { token } } });
  if (review.json.status?.authenticated !== true) refused.review++;
  for (const { good, age } of await Promise.all(verifiers.map((verifier) => verifier.verify(token)))) {
    ages.push(age);
    if (!good) refused.elsewhere++;
  }
}

async function work(): Promise<void> {
  while (!stopped) {
    const sentAt = performance.now();
    const issuedAt = now();
    const { token } = (await create(TOKEN, { spec: { audiences: [], expirationSeconds: 3600 } })).status;
    const { kid = '' } = decodeProtectedHeader(token);
    const times = took.get(kid) ?? [];
    times.push(performance.now() - sentAt);
    took.set(kid, times);
    last = token;
    // Every tenth is tried by all of them, now and, some time later, again; the others keep the server busy.
    if (tokens++ % 10 !== 0) continue;
    await tryEverywhere(token);
    kept.push({ token, againAt: issuedAt + LAST_TRY_MS * Math.sqrt(Math.random()) });
  }
}

async function again(): Promise<void> {
  while (!stopped) {
    const due = kept.findIndex(({ againAt }) => againAt <= now());
    const [found] = due === -1 ? [] : kept.splice(due, 1);
    if (found === undefined) await delay(5);
    else await tryEverywhere(found.token);
  }
}

const workers = [...Array.from({ length: Number(atOnce) }, work), again()];
const failed = Promise.all(workers);
// The last key is used for an hour more: until then what the one before signed is still out.
while (took.size <= Number(rotations)) await Promise.race([delay(100), failed]);
await Promise.race([delay(HOUR / Number(speed)), failed]);
stopped = true;
await failed;

const { kid } = decodeProtectedHeader(last);
const asked = performance.now();
const revoked = server.call('DELETE', `${KEYS}/${kid}`);
let tried = 0;
while ((await server.call('GET', '/auth/v1/clusters?limit=1', { token: last })).code !== 401) tried++;
const refusedAfter = performance.now() - asked;
await revoked;

const hours = (now() - begun) / HOUR;
console.log(
  `${algorithm}, ${atOnce} requests at once, ${hours.toFixed(1)} hours in ${((Date.now() - begun) / 1000).toFixed(0)} s`,
);
for (const [index, times] of [...took.values()].entries()) {
  const [p50, p99, longest] = [0.5, 0.99, 1].map((part) => `${at(times, part).toFixed(1)} ms`);
  console.log(`key ${index + 1}: ${times.length} tokens, p50 ${p50}, p99 ${p99}, longest ${longest}`);
}
const old = ages.filter((age) => age >= 50 * MINUTE).length;
console.log(
  `${tokens} tokens of ${took.size} keys; ${tries} times one was tried here, in a review and by ${VERIFIERS} verifiers`,
);
console.log(`refused here: ${refused.here}, in a review: ${refused.review}, elsewhere: ${refused.elsewhere}`);
console.log(`key sets were up to ${(at(ages, 1) / MINUTE).toFixed(1)} minutes old, ${old} times more than 50`);
console.log(`a revoked key: refused after ${refusedAfter.toFixed(0)} ms (${tried} tries before)`);
await server.destroy();
process.exitCode = refused.here + refused.review + refused.elsewhere === 0 ? 0 : 1;
