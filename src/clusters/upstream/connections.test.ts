import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { readNetwork } from '../../lib/network.ts';
import { Secret } from '../../observability/secret.ts';
import { startApiServer } from './api-server.fixture.ts';
import { createAuthority } from './certificates.fixture.ts';
import type { ConnectionLimits } from './connections.ts';
import { createUpstream } from './upstream.ts';
import type { Upstream, UpstreamCluster, UpstreamRequest } from './upstream-contract.ts';

const authority = createAuthority('cluster CA');
const LOOPBACK = [readNetwork('127.0.0.0/8')].filter((network) => network !== undefined);
const HOUR_MS = 3_600_000;

let time = 0;
const opened: Upstream[] = [];

const server = await startApiServer(
  authority.issue({ names: ['127.0.0.1'], notAfter: Date.now() + 24 * HOUR_MS }),
  () => ({
    status: 200,
  }),
);
beforeEach(() => {
  server.answer = () => ({ status: 200 });
  server.requests.length = 0;
  server.connections = 0;
  time = 0;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((upstream) => upstream.close()));
  await expect.poll(() => server.open).toBe(0);
});
afterAll(() => server.close());

/** With the limits of the prober: one connection for a cluster, which stays open after `release`. */
function open(limits: Partial<ConnectionLimits> = {}): Upstream {
  const upstream = createUpstream({
    rules: createAddressRules(LOOPBACK),
    credentials: { read: async () => ({ type: 'token', token: new Secret('canary') }) },
    limits: { connections: 1, idle: 10, clusters: 20, idleMs: HOUR_MS, maxAgeMs: HOUR_MS, ...limits },
    environment: { now: () => time, random: () => 0.5 },
  });
  opened.push(upstream);
  return upstream;
}

const cluster = (name = 'alpha', generation = 1, port = server.port): UpstreamCluster => ({
  name,
  uid: `uid-${name}`,
  generation,
  endpoints: {
    serverEndpoints: [{ serverAddress: `https://127.0.0.1:${port}` }],
    caBundle: Buffer.from(authority.cert).toString('base64'),
  },
  controller: { namespace: 'fleet', name },
  confirmed: true,
});

const GET: UpstreamRequest = { method: 'GET', path: '/readyz', credential: false, timeoutMs: 5_000, last: true };
const POST: UpstreamRequest = { ...GET, method: 'POST', path: '/x', body: Buffer.from('{}') };

describe('an idle connection', () => {
  it('is closed when the limit is reached, and closes no other one', async () => {
    const upstream = open({ idle: 1 });
    for (const name of ['alpha', 'beta', 'beta', 'alpha']) await upstream.request(cluster(name), GET);
    expect(server.connections).toBe(3);
    await expect.poll(() => server.open).toBe(1);
  });

  it('A14: belongs to one generation of one cluster', async () => {
    const upstream = open();
    await upstream.request(cluster('alpha', 1), GET);
    await upstream.request(cluster('alpha', 2), GET);
    await upstream.request(cluster('beta', 1), GET);
    // One that was opened without a credential never carries one.
    await upstream.request(cluster('alpha', 2), { ...GET, credential: true });
    expect(server.connections).toBe(4);
  });

  it('A13: is replaced at its maximum age, so that the certificate is verified again', async () => {
    const upstream = open();
    await upstream.request(cluster(), GET);
    time = HOUR_MS - 1;
    await upstream.request(cluster(), GET);
    expect(server.connections).toBe(1);
    time = HOUR_MS;
    await upstream.request(cluster(), GET);
    expect(server.connections).toBe(2);
  });

  it('A13: ends when its certificate expires', async () => {
    const upstream = open({ maxAgeMs: 100 * HOUR_MS, idleMs: 100 * HOUR_MS });
    await upstream.request(cluster(), GET);
    time = 23 * HOUR_MS;
    await upstream.request(cluster(), GET);
    expect(server.connections).toBe(1);
    time = 25 * HOUR_MS;
    await upstream.request(cluster(), GET);
    expect(server.connections).toBe(2);
  });

  /** Closes the connection when a request arrives, and answers the one after that. */
  const hangUpOnce = (): void => {
    server.answer = (_, socket) => {
      socket.destroy();
      server.answer = () => ({ status: 200 });
      return undefined;
    };
  };

  it('that the server closed: a GET is sent again over a new one', async () => {
    const upstream = open();
    await upstream.request(cluster(), GET);
    hangUpOnce();
    expect((await upstream.request(cluster(), GET)).status).toBe(200);
    expect([server.requests.length, server.connections]).toEqual([3, 2]);
  });

  it('that the server closed: a POST is not sent again', async () => {
    const upstream = open();
    await upstream.request(cluster(), GET);
    hangUpOnce();
    await expect(upstream.request(cluster(), POST)).rejects.toMatchObject({ reason: 'network' });
    expect(server.requests).toHaveLength(2);
  });
});
