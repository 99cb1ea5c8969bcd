/**
 * Does a rotation cost anybody anything? Token requests without a pause, three rotations, and two who verify every token:
 * the server itself, and a library with a key set that it read before the rotation. Then the current key is revoked,
 * and the tokens that it signed are tried until they are refused.
 *
 *   node bench/rotation.ts [seconds between rotations] [requests at once] [algorithm]
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { startServer } from '../test/e2e/support/server.ts';

const [seconds = '5', atOnce = '8', algorithm = 'ES256'] = process.argv.slice(2);
const KEYS = '/apis/clusterpass.dev/v1alpha1/signingkeys';
const IN_ALPHA = '/orchestrator/alpha';
const TOKEN = `${IN_ALPHA}/api/v1/namespaces/ci/serviceaccounts/builder/token`;
const FORCE = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey', spec: { force: true } };

const server = await startServer({ args: ['--signing-algorithm', algorithm, '--log-level', 'error'] });
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

const readKeySet = async (): Promise<ReturnType<typeof createLocalJWKSet>> =>
  createLocalJWKSet((await server.call('GET', `${IN_ALPHA}/openid/v1/jwks`, { token: null })).json as JSONWebKeySet);

let keySet = await readKeySet();
let phase = 'quiet';
let stopped = false;
const took = new Map<string, number[]>();
const signers = new Map<string, number>();
let refusedHere = 0;
let refusedElsewhere = 0;
let last = '';

async function work(): Promise<void> {
  while (!stopped) {
    const begun = performance.now();
    const { token } = (await create(TOKEN, { spec: { audiences: [] } })).status;
    const times = took.get(phase) ?? [];
    times.push(performance.now() - begun);
    took.set(phase, times);
    const { kid = '' } = decodeProtectedHeader(token);
    if (!signers.has(kid)) signers.set(kid, performance.now());
    last = token;
    const { code } = await server.call('GET', '/auth/v1/clusters?limit=1', { token });
    if (code !== 200) refusedHere++;
    await jwtVerify(token, keySet, { issuer }).catch(() => refusedElsewhere++);
  }
}

const workers = Array.from({ length: Number(atOnce) }, work);
const waits: number[] = [];
await delay(Number(seconds) * 1000);
for (let turn = 1; turn <= 3; turn++) {
  phase = `rotation ${turn}`;
  // Read before the rotation, and not again until the next: it knows the next key, and that has to be enough.
  keySet = await readKeySet();
  const asked = performance.now();
  const { metadata } = await create(KEYS, FORCE);
  await delay(Number(seconds) * 1000);
  waits.push((signers.get(metadata.name) ?? Number.NaN) - asked);
}
stopped = true;
await Promise.all(workers);

const { kid } = decodeProtectedHeader(last);
const asked = performance.now();
const revoked = server.call('DELETE', `${KEYS}/${kid}`);
let tried = 0;
while ((await server.call('GET', '/auth/v1/clusters?limit=1', { token: last })).code !== 401) tried++;
const refusedAfter = performance.now() - asked;
await revoked;

const at = (sorted: readonly number[], part: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN).toFixed(1);
console.log(`${algorithm}, ${atOnce} requests at once`);
for (const [name, times] of took) {
  const sorted = times.toSorted((a, b) => a - b);
  const rate = (times.length / Number(seconds)).toFixed(0);
  console.log(
    `${name}: ${rate} tokens/s, p50 ${at(sorted, 0.5)} ms, p99 ${at(sorted, 0.99)} ms, longest ${at(sorted, 1)} ms`,
  );
}
const issued = [...took.values()].reduce((sum, times) => sum + times.length, 0);
console.log(`${issued} tokens of ${signers.size} keys; refused here: ${refusedHere}, elsewhere: ${refusedElsewhere}`);
console.log(`first token of the new key after ${waits.map((wait) => `${wait.toFixed(0)} ms`).join(', ')}`);
console.log(`revoked: refused after ${refusedAfter.toFixed(0)} ms (${tried} tries before)`);
await server.destroy();
