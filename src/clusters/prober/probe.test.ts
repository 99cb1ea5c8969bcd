import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { readNetwork } from '../../lib/network.ts';
import { Secret } from '../../observability/secret.ts';
import { type FakeApiServer, startApiServer } from '../upstream/api-server.fixture.ts';
import { createAuthority } from '../upstream/certificates.fixture.ts';
import type { Credentials } from '../upstream/credentials.ts';
import { createUpstream } from '../upstream/upstream.ts';
import { type UpstreamCluster, UpstreamError } from '../upstream/upstream-contract.ts';
import { createProbe } from './probe.ts';

const authority = createAuthority('cluster CA');
const other = createAuthority('other CA');
const LOOPBACK = [readNetwork('127.0.0.0/8')].filter((network) => network !== undefined);

const HEALTHY: FakeApiServer['answer'] = ({ path }) =>
  path === '/version' ? { status: 200, body: '{"gitVersion":"v1.36.4+k3s1"}' } : { status: 200, body: 'ok' };

const server = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), HEALTHY);
beforeEach(() => {
  server.answer = HEALTHY;
  server.requests.length = 0;
  server.connections = 0;
});
afterAll(() => server.close());

const cluster = (changes: Partial<UpstreamCluster> = {}): UpstreamCluster => ({
  name: 'a',
  uid: 'u',
  generation: 1,
  endpoints: {
    serverEndpoints: [{ serverAddress: `https://127.0.0.1:${server.port}` }],
    caBundle: Buffer.from(authority.cert).toString('base64'),
  },
  controller: undefined,
  confirmed: false,
  ...changes,
});

async function probe(
  target = cluster(),
  options: { credentials?: Credentials; allowed?: typeof LOOPBACK; signal?: AbortSignal } = {},
) {
  const { credentials, allowed = LOOPBACK, signal = new AbortController().signal } = options;
  const none: Credentials = { read: async () => Promise.reject(new UpstreamError('credential', 'there is none')) };
  const upstream = createUpstream({
    rules: createAddressRules(allowed),
    credentials: credentials ?? none,
    limits: { connections: 1 },
  });
  try {
    return await createProbe({ upstream, hasCredentials: credentials !== undefined })(target, signal);
  } finally {
    await upstream.close();
  }
}

const answers = (status: number, body = ''): void => {
  server.answer = () => ({ status, body });
};

describe('a probe of a cluster', () => {
  it('finds it ready and learns its version, over one connection', async () => {
    expect(await probe()).toEqual({ ready: true, version: 'v1.36.4+k3s1' });
    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /readyz', 'GET /version']);
    expect(server.connections).toBe(1);
  });

  it.each([
    [500, 'unready'],
    [503, 'unready'],
    [429, 'unready'],
    [401, 'credential'],
    [403, 'credential'],
    [404, 'answer'],
    [204, 'answer'],
    [307, 'answer'],
  ])('takes %i from /readyz for the fault %s', async (status, fault) => {
    answers(status);
    expect(await probe()).toMatchObject({ ready: false, fault });
  });

  it('names the checks that failed, and nothing else of what the server wrote', async () => {
    const lines = ['[+]ping ok', '[-]etcd failed: <script>', '[-]<b> failed: x', '[-]poststarthook/x failed: withheld'];
    answers(500, lines.join('\n'));
    expect(await probe()).toMatchObject({
      message: 'The API server says that it is not ready (500 from /readyz); failed checks: etcd, poststarthook/x.',
    });
  });

  it('A11: distinguishes TLS, the network and a refused address', async () => {
    const caBundle = Buffer.from(other.cert).toString('base64');
    const { endpoints } = cluster();
    expect(await probe(cluster({ endpoints: { ...endpoints, caBundle } }))).toEqual({
      ready: false,
      fault: 'tls',
      message:
        '/readyz could not be asked: its certificate was signed by an authority that is not in the caBundle of the cluster.',
    });
    expect(await probe(cluster(), { allowed: [] })).toMatchObject({ fault: 'address' });
    const closed = { ...endpoints, serverEndpoints: [{ serverAddress: 'https://127.0.0.1:1' }] };
    expect(await probe(cluster({ endpoints: closed }))).toMatchObject({ fault: 'network' });
    expect(await probe(cluster({ endpoints: {} }))).toMatchObject({ fault: 'address' });
    expect(server.requests).toEqual([]);
  });

  it('sends the credential of the cluster only if it is confirmed', async () => {
    const credentials: Credentials = { read: async () => ({ type: 'token', token: new Secret('canary') }) };
    const controller = { namespace: 'fleet', name: 'a' };
    await probe(cluster({ controller, confirmed: true }), { credentials });
    await probe(cluster({ controller, confirmed: false }), { credentials });
    await probe(cluster({ controller, confirmed: true }));
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer canary',
      'Bearer canary',
      ...Array(4).fill(undefined),
    ]);
  });

  it('has the fault credential when the credential cannot be read', async () => {
    const credentials: Credentials = {
      read: async () => Promise.reject(new UpstreamError('credential', 'it cannot be read')),
    };
    const target = cluster({ controller: { namespace: 'fleet', name: 'a' }, confirmed: true });
    expect(await probe(target, { credentials })).toMatchObject({ fault: 'credential' });
  });
});
