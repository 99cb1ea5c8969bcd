import { generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { readNetwork } from '../../lib/network.ts';
import { unverifiableToken } from '../../lib/unverifiable-token.ts';
import { refreshTimes } from '../../tokens/keys/ring-state.ts';
import { startApiServer } from '../upstream/api-server.fixture.ts';
import { createAuthority } from '../upstream/certificates.fixture.ts';
import { createUpstream } from '../upstream/upstream.ts';
import { type UpstreamCluster, UpstreamError } from '../upstream/upstream-contract.ts';
import { createProbe } from './probe.ts';
import { type PublishedKey, RemoteKeySet } from './remote-key-set.fixture.ts';

const HOUR = 3_600_000;
const ISSUER = 'https://clusterpass.example/orchestrator/a';
const authority = createAuthority('cluster CA');
const LOOPBACK = [readNetwork('127.0.0.0/8')].filter((network) => network !== undefined);

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function newKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk: PublishedKey = { ...publicKey.export({ format: 'jwk' }), kid };
  const input = `${encode({ alg: 'ES256', kid })}.${encode({ iss: ISSUER })}`;
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return { jwk, token: `${input}.${signature.toString('base64url')}` };
}

const [old, current] = [newKey('old'), newKey('current')];
let published: readonly { readonly jwk: PublishedKey }[];
let now: number;
let keySet: RemoteKeySet;
let isReady: boolean;

const server = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), ({ path, headers }) => {
  const [, token] = /^Bearer (.*)$/.exec(headers.authorization ?? '') ?? [];
  if (token !== undefined && !keySet.verifies(token)) return { status: 401 };
  return path === '/readyz' && !isReady ? { status: 500 } : { status: 200, body: '{"gitVersion":"v1.36.4"}' };
});
beforeEach(() => {
  published = [old, current];
  now = Date.UTC(2026, 0, 1);
  isReady = true;
  server.requests.length = 0;
  keySet = new RemoteKeySet(
    () => ({ keys: published.map(({ jwk }) => jwk), maxAgeSeconds: 3600 }),
    () => now,
  );
});
afterAll(() => server.close());

async function probe(refresh: boolean) {
  const cluster: UpstreamCluster = {
    name: 'a',
    uid: 'u',
    generation: 1,
    endpoints: {
      serverEndpoints: [{ serverAddress: `https://127.0.0.1:${server.port}` }],
      caBundle: Buffer.from(authority.cert).toString('base64'),
    },
    controller: undefined,
    confirmed: false,
  };
  const credentials = { read: async () => Promise.reject(new UpstreamError('credential', 'there is none')) };
  const upstream = createUpstream({ rules: createAddressRules(LOOPBACK), credentials, limits: { connections: 1 } });
  const token = unverifiableToken({ issuer: ISSUER, audience: ISSUER, algorithm: 'ES256', now });
  try {
    const run = createProbe({ upstream, hasCredentials: false });
    return await run(cluster, new AbortController().signal, refresh ? token : undefined);
  } finally {
    await upstream.close();
  }
}

describe('A43: after a key was revoked, a probe with a token that no key verifies', () => {
  it('ends its tokens at once at an API server whose key set has expired', async () => {
    expect(keySet.verifies(old.token)).toBe(true);
    now += 2 * HOUR;
    published = [current];
    // Without it the API server accepts them for as long as it has the key.
    expect(await probe(false)).toEqual({ ready: true, version: 'v1.36.4' });
    expect(keySet.verifies(old.token)).toBe(true);
    expect(await probe(true)).toEqual({ ready: true, version: 'v1.36.4', refreshed: true });
    expect(keySet.verifies(old.token)).toBe(false);
    expect(keySet.verifies(current.token)).toBe(true);
    expect(keySet.fetches).toBe(2);
  });

  it('ends them an hour later at one that had just read the keys', async () => {
    const revokedAt = now;
    expect(keySet.verifies(old.token)).toBe(true);
    published = [current];
    const [first = 0, second = 0] = refreshTimes([revokedAt]);
    now = first;
    await probe(true);
    expect(keySet.verifies(old.token)).toBe(true);
    now = second;
    await probe(true);
    expect(keySet.verifies(old.token)).toBe(false);
  });

  it('goes over new connections, because several API servers may be behind one address', async () => {
    const connections = server.connections;
    await probe(true);
    expect(server.connections - connections).toBe(4);
    expect(server.requests.map(({ headers }) => headers.authorization !== undefined)).toEqual([
      ...[false, false],
      ...[true, true, true],
    ]);
  });

  it('is not sent to a cluster that is not ready', async () => {
    isReady = false;
    expect(await probe(true)).toMatchObject({ ready: false, fault: 'unready' });
    expect(server.requests.map(({ path }) => path)).toEqual(['/readyz']);
  });
});
