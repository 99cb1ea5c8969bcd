import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { type Network, readNetwork } from '../../lib/network.ts';
import { Secret } from '../../observability/secret.ts';
import { startApiServer } from './api-server.fixture.ts';
import { createAuthority, type Pair, selfSigned } from './certificates.fixture.ts';
import { ask, clusterAt } from './upstream.fixture.ts';
import { createUpstream } from './upstream.ts';
import type { Upstream } from './upstream-contract.ts';

const authority = createAuthority('cluster CA');
const other = createAuthority('other CA');
const opened: Upstream[] = [];

const server = await startApiServer(authority.issue({ names: ['api.example.com', '127.0.0.1'] }), () => ({
  status: 200,
}));
afterEach(() => Promise.all(opened.splice(0).map((upstream) => upstream.close())));
afterAll(() => server.close());

function open(): Upstream {
  const upstream = createUpstream({
    rules: createAddressRules([readNetwork('127.0.0.0/8') as Network]),
    credentials: { read: async () => ({ type: 'token', token: new Secret('canary-of-alpha') }) },
    resolve: async () => ['127.0.0.1'],
  });
  opened.push(upstream);
  return upstream;
}

describe('A13: only the authorities of the cluster', () => {
  it.each<[string, Pair, string]>([
    ['self-signed', selfSigned('api.example.com', { names: ['api.example.com'] }), 'self-signed'],
    ['of another name', authority.issue({ names: ['other.example.com'] }), 'another name'],
    ['expired', authority.issue({ names: ['api.example.com'], notAfter: Date.now() - 1000 }), 'expired'],
    ["of another cluster's authority", other.issue({ names: ['api.example.com'] }), 'not in the caBundle'],
    ['of an authority that is none', chained(), 'not accepted'],
  ])('a certificate that is %s: no byte of a request is sent', async (_, pair, text) => {
    const bad = await startApiServer(pair, () => ({ status: 200 }));
    const request = ask({ method: 'POST', body: Buffer.from('{}'), credential: true });
    await expect(open().request(clusterAt(bad.port, authority), request)).rejects.toMatchObject({
      reason: 'tls',
      message: expect.stringContaining(text),
    });
    expect([bad.connections, bad.receivedBytes, bad.requests]).toEqual([1, 0, []]);
    await bad.close();
  });

  it('a certificate for an IP address is checked against it', async () => {
    expect((await open().request(clusterAt(server.port, authority, '127.0.0.1'), ask())).status).toBe(200);
    const named = await startApiServer(authority.issue({ names: ['api.example.com'] }), () => ({ status: 200 }));
    await expect(open().request(clusterAt(named.port, authority, '127.0.0.1'), ask())).rejects.toMatchObject({
      reason: 'tls',
    });
    expect(named.requests).toEqual([]);
    await named.close();
  });

  it.each(['', 'bm90IGEgY2VydGlmaWNhdGU='])(
    'without a caBundle no authority is trusted, not even the system’s: %j',
    async (ca) => {
      const endpoints = {
        serverEndpoints: [{ serverAddress: `https://api.example.com:${server.port}` }],
        caBundle: ca,
      };
      await expect(open().request({ ...clusterAt(server.port, authority), endpoints }, ask())).rejects.toMatchObject({
        reason: 'tls',
      });
    },
  );
});

/** Signed with a certificate of the right authority that is not a CA certificate. */
function chained(): Pair {
  const middle = authority.issue({ names: ['other.example.com'] });
  const { cert, key } = middle.issue({ names: ['api.example.com'] });
  return { cert: `${cert}${middle.cert}`, key };
}
