/**
 * Does a rotation of the signing key reject a valid token? Token requests are sent without a pause while keys rotate by
 * age. Three kinds of verifiers check the tokens: the server itself, a TokenReview, and libraries that read the key set
 * once an hour, each at another minute. A sample of the tokens is checked when new and again before it expires. Then
 * the current key is revoked, and a token that it signed is sent until it is refused.
 *
 *   npm run bench -- rotation [rotations] [requests at once] [algorithm] [speed]
 *
 * Keys rotate every two hours, the shortest interval. The clock of the server runs faster than real time, 120 times by
 * default (an hour is half a minute).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { startServer } from '../../test/e2e/support/server.ts';
import { percentile } from '../support/numbers.ts';

const [rotations = '3', atOnce = '8', algorithm = 'ES256', speed = '120'] = process.argv.slice(2);
const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const IN_ALPHA = '/orchestrator/alpha';
const TOKEN = `${IN_ALPHA}/api/v1/namespaces/ci/serviceaccounts/builder/token`;
const REVIEW = `${IN_ALPHA}/apis/authentication.k8s.io/v1/tokenreviews`;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const VERIFIERS = 12;
/** The latest check of a token that is valid for an hour. */
const LAST_CHECK_MS = 59 * MINUTE;
/** Age at which a verifier reads the key set again. */
const MAX_AGE_MS = HOUR;
/** One token in so many is checked. The others keep the server busy. */
const CHECKED = 10;

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
    NODE_OPTIONS: `--import=${new URL('../support/fast-clock.mjs', import.meta.url).href}`,
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

/** Reads the key set when its copy is an hour old, and not earlier for a key that it does not know. */
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
/** Milliseconds of the token requests by signing key, in the order of first use. */
const took = new Map<string, number[]>();
const refused = { server: 0, review: 0, verifiers: 0 };
const ages: number[] = [];
let checks = 0;
let tokens = 0;
let last = '';
let stopped = false;
/** Tokens to be checked again, and when. */
const kept: { readonly token: string; readonly againAt: number }[] = [];

async function checkEverywhere(token: string): Promise<void> {
  checks++;
  const { code } = await server.call('GET', '/auth/v1/clusters?limit=1', { token });
  if (code !== 200) refused.server++;
  const review = await server.call('POST', REVIEW, { body: { spec: { token } } });
  if (review.json.status?.authenticated !== true) refused.review++;
  for (const { good, age } of await Promise.all(verifiers.map((verifier) => verifier.verify(token)))) {
    ages.push(age);
    if (!good) refused.verifiers++;
  }
}

async function requestTokens(): Promise<void> {
  while (!stopped) {
    const sentAt = performance.now();
    const issuedAt = now();
    const { token } = (await create(TOKEN, { spec: { audiences: [], expirationSeconds: 3600 } })).status;
    const { kid = '' } = decodeProtectedHeader(token);
    const times = took.get(kid) ?? [];
    times.push(performance.now() - sentAt);
    took.set(kid, times);
    last = token;
    if (tokens++ % CHECKED !== 0) continue;
    await checkEverywhere(token);
    kept.push({ token, againAt: issuedAt + LAST_CHECK_MS * Math.sqrt(Math.random()) });
  }
}

async function checkAgain(): Promise<void> {
  while (!stopped) {
    const due = kept.findIndex(({ againAt }) => againAt <= now());
    const [found] = due === -1 ? [] : kept.splice(due, 1);
    if (found === undefined) await sleep(5);
    else await checkEverywhere(found.token);
  }
}

const running = Promise.all([...Array.from({ length: Number(atOnce) }, requestTokens), checkAgain()]);
// After the last rotation, tokens of the key before are valid for an hour more.
while (took.size <= Number(rotations)) await Promise.race([sleep(100), running]);
await Promise.race([sleep(HOUR / Number(speed)), running]);
stopped = true;
await running;

const { kid } = decodeProtectedHeader(last);
const sentAt = performance.now();
const revoked = server.call('DELETE', `${KEYS}/${kid}`);
let accepted = 0;
while ((await server.call('GET', '/auth/v1/clusters?limit=1', { token: last })).code !== 401) accepted++;
const refusedAfter = performance.now() - sentAt;
await revoked;

const hours = (now() - begun) / HOUR;
const realSeconds = ((Date.now() - begun) / 1000).toFixed(0);
console.log(`${algorithm}, ${atOnce} requests at once, ${hours.toFixed(1)} hours in ${realSeconds} s`);
for (const [index, times] of [...took.values()].entries()) {
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => `${percentile(times, share).toFixed(1)} ms`);
  console.log(`key ${index + 1}: ${times.length} tokens, p50 ${p50}, p99 ${p99}, longest ${longest}`);
}
const old = ages.filter((age) => age >= 50 * MINUTE).length;
console.log(
  `${tokens} tokens of ${took.size} keys; ${checks} checks by the server, a TokenReview and ${VERIFIERS} verifiers`,
);
console.log(`refused by server: ${refused.server}, TokenReview: ${refused.review}, verifiers: ${refused.verifiers}`);
console.log(`key sets were up to ${(percentile(ages, 1) / MINUTE).toFixed(1)} minutes old, ${old} times more than 50`);
console.log(`revoked key: refused after ${refusedAfter.toFixed(0)} ms, after ${accepted} accepted requests`);
await server.destroy();
process.exitCode = refused.server + refused.review + refused.verifiers === 0 ? 0 : 1;
