import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { type Network, readNetwork } from '../../lib/network.ts';
import { Secret } from '../../observability/secret.ts';
import { type FakeApiServer, startApiServer } from './api-server.fixture.ts';
import { createAuthority, type Pair } from './certificates.fixture.ts';
import type { Credential } from './credentials.ts';
import { ask, bundle, clusterAt } from './upstream.fixture.ts';
import { createUpstream, type UpstreamOptions } from './upstream.ts';
import type { Upstream, UpstreamCluster } from './upstream-contract.ts';

const authority = createAuthority('cluster CA');
const other = createAuthority('other CA');
const valid = authority.issue({ names: ['api.example.com', '127.0.0.1'] });

const LOOPBACK = readNetwork('127.0.0.0/8') as Network;
const TOKEN: Credential = { type: 'token', token: new Secret('canary-of-alpha') };

const opened: Upstream[] = [];

const server = await startApiServer(valid, () => ({ status: 200 }));
beforeEach(() => {
  server.answer = () => ({ status: 200 });
  server.requests.length = 0;
  server.connections = 0;
});
afterAll(async () => {
  await Promise.all(opened.map((upstream) => upstream.close()));
  await server.close();
});

function open(options: Partial<UpstreamOptions> = {}): Upstream {
  const upstream = createUpstream({
    rules: createAddressRules([LOOPBACK]),
    credentials: { read: async () => TOKEN },
    resolve: async () => ['127.0.0.1'],
    ...options,
  });
  opened.push(upstream);
  return upstream;
}

const cluster = (changes: Partial<UpstreamCluster> = {}, address = `https://api.example.com:${server.port}`) => ({
  ...clusterAt(server.port, authority),
  uid: 'uid-alpha',
  endpoints: { serverEndpoints: [{ serverAddress: address }], caBundle: bundle(authority) },
  ...changes,
});

/** A cluster at the port of a server that a test starts itself. */
const at = (port: number, ca: Pair = authority, host?: string): UpstreamCluster => clusterAt(port, ca, host);

describe('a request', () => {
  it('reaches the address that was resolved, with the name of the cluster, and headers made here', async () => {
    const asked: string[] = [];
    const upstream = open({
      resolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
    });
    server.answer = () => ({ status: 201, body: '{"a":1}' });
    const answer = await upstream.request(
      cluster(),
      ask({ method: 'POST', path: '/api/v1/x', body: Buffer.from('{}'), credential: true }),
    );
    expect([answer.status, answer.body.toString()]).toEqual([201, '{"a":1}']);
    expect(asked).toEqual(['api.example.com']);
    expect(server.receivedBytes).toBeGreaterThan(0);
    expect(server.requests[0]?.headers).toEqual({
      host: `api.example.com:${server.port}`,
      connection: 'keep-alive',
      accept: 'application/json',
      'user-agent': 'clusterpass',
      'content-type': 'application/json',
      'content-length': '2',
      authorization: 'Bearer canary-of-alpha',
    });
  });

  it('carries no credential unless asked to', async () => {
    await open().request(cluster(), ask());
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it('shows a certificate where the credential is one', async () => {
    const clients = createAuthority('clients');
    const { cert, key } = clients.issue({ commonName: 'clusterpass' });
    const mutual = await startApiServer(valid, () => ({ status: 200 }), { ca: clients.cert, requestCert: true });
    const credential: Credential = { type: 'certificate', cert: Buffer.from(cert), key: new Secret(key), digest: 'd' };
    const upstream = open({ credentials: { read: async () => credential } });
    await upstream.request(at(mutual.port), ask({ credential: true }));
    await upstream.request(at(mutual.port), ask());
    // The second has no certificate to show although a connection with one was open.
    expect(mutual.requests.map(({ clientName }) => clientName)).toEqual(['clusterpass', undefined]);
    await mutual.close();
  });

  it('uses the endpoint for its own network', async () => {
    const { port } = server;
    const serverEndpoints = [
      { clientCIDR: '10.0.0.0/8', serverAddress: 'https://unreachable.example.com' },
      { clientCIDR: '192.168.0.0/16', serverAddress: `https://api.example.com:${port}` },
    ];
    const upstream = open({ ownAddresses: () => ['192.168.7.7'] });
    const there = cluster({ endpoints: { serverEndpoints, caBundle: bundle(authority) } });
    expect((await upstream.request(there, ask())).status).toBe(200);
  });

  it.each([401, 403, 404, 500, 503])('an answer of %i is an answer', async (status) => {
    server.answer = () => ({ status });
    expect((await open().request(cluster(), ask())).status).toBe(status);
  });
});

describe('A11: addresses', () => {
  const refused = (options: Partial<UpstreamOptions>, address: string) =>
    expect(open(options).request(cluster({}, address), ask())).rejects.toMatchObject({
      name: 'UpstreamError',
      reason: 'address',
    });

  it.each([
    'https://127.0.0.1',
    'https://[::1]',
    'https://[::ffff:7f00:1]',
    'https://169.254.169.254',
    'https://0.0.0.0',
  ])('%s is not connected to', async (address) => {
    await refused({ rules: createAddressRules() }, `${address}:${server.port}`);
    expect(server.connections).toBe(0);
  });

  const allowing = (...cidrs: string[]) =>
    createAddressRules(cidrs.map(readNetwork).filter((network) => network !== undefined));
  /** Connects to addresses that no machine has (RFC 5737), which stand for public ones. */
  const PUBLIC = allowing('203.0.113.0/24');

  it('a name that resolves to one allowed and one refused address is not connected to', async () => {
    await refused(
      { rules: PUBLIC, resolve: async () => ['203.0.113.7', '127.0.0.1'] },
      `https://api.example.com:${server.port}`,
    );
    expect(server.connections).toBe(0);
  });

  it('DNS rebinding: each connection goes to an address of the answer that was checked', async () => {
    const answers = [['203.0.113.7'], ['127.0.0.1']];
    let asked = 0;
    const upstream = open({
      rules: PUBLIC,
      // A public address first, then loopback: a client that resolves twice connects to the second.
      resolve: async () => answers[asked++] ?? ['127.0.0.1'],
    });
    await expect(upstream.request(cluster(), ask({ timeoutMs: 300 }))).rejects.toMatchObject({
      name: 'UpstreamError',
      // A proxy of the network may answer for the public address, with its own certificate.
      reason: expect.stringMatching(/^(?:network|timeout|tls)$/),
    });
    expect(asked).toBe(1);
    await expect(upstream.request(cluster(), ask())).rejects.toMatchObject({ reason: 'address' });
    expect(server.connections).toBe(0);
  });

  it('Clusterpass does not connect to itself, even where loopback is allowed', async () => {
    await refused({ ownPort: server.port }, `https://api.example.com:${server.port}`);
    for (const host of ['127.0.0.1', '127.9.9.9', '[::1]', '[::ffff:7f00:1]', '0.0.0.0', '[::]', '[2001:db8::7]']) {
      const rules = allowing('127.0.0.0/8', '0.0.0.0/8', '::1/128', '::/128', '2001:db8::/32');
      const options = { rules, ownAddresses: () => ['2001:db8::7'] };
      await refused({ ...options, ownPort: server.port }, `https://${host}:${server.port}`);
    }
    expect(server.connections).toBe(0);
  });

  it.each(['', 'http://api.example.com', 'https://u:p@api.example.com', 'https://api.example.com/x', 'nonsense'])(
    'an address that validation would refuse is refused here too: %j',
    (address) => refused({}, address),
  );
});

describe('A12, C-I: invalid answers', () => {
  it.each([301, 302, 303, 307, 308])('a %i is not followed', async (status) => {
    const second = await startApiServer(valid, () => ({ status: 200 }));
    const location = `https://api.example.com:${second.port}/elsewhere`;
    server.answer = () => ({ status, headers: { location } });
    const request = ask({ method: 'POST', body: Buffer.from('{}'), credential: true });
    await expect(open().request(cluster(), request)).rejects.toMatchObject({ reason: 'server' });
    expect(second.connections).toBe(0);
    expect(server.requests).toHaveLength(1);
    await second.close();
  });

  it('a body is cut at 1 MiB', async () => {
    server.answer = (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n');
      const chunk = Buffer.alloc(64 * 1024);
      const more = (): void => {
        if (!socket.destroyed && socket.bytesWritten < 100 * 1024 * 1024 && socket.write(chunk)) setImmediate(more);
        else socket.once('drain', more);
      };
      more();
      return undefined;
    };
    await expect(open().request(cluster(), ask())).rejects.toMatchObject({
      reason: 'server',
      message: 'its answer is too large',
    });
  });

  it('endless headers are cut', async () => {
    server.answer = (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = (): void => {
        if (!socket.destroyed) socket.write(`X-More: ${'a'.repeat(1000)}\r\n`, () => setImmediate(more));
      };
      more();
      return undefined;
    };
    await expect(open().request(cluster(), ask())).rejects.toMatchObject({ reason: 'server' });
  });

  it.each([
    ['in the headers', 'HTTP/1.1 200 OK\r\nX-A: '],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n'],
    ['before the first byte', ''],
  ])('an answer that stops %s ends at the deadline', async (_, bytes) => {
    server.answer = (_seen, socket) => {
      if (bytes !== '') socket.write(bytes);
      return undefined;
    };
    await expect(open().request(cluster(), ask({ timeoutMs: 200 }))).rejects.toMatchObject({ reason: 'timeout' });
  });

  it.each(['SSH-2.0-OpenSSH\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'])(
    'bytes that are not HTTP are an error: %j',
    async (bytes) => {
      server.answer = (_, socket) => {
        socket.end(bytes);
        return undefined;
      };
      await expect(open().request(cluster(), ask())).rejects.toMatchObject({ reason: 'server' });
    },
  );

  it('a POST whose connection breaks is not sent again', async () => {
    server.answer = (_, socket) => {
      socket.destroy();
      return undefined;
    };
    const request = ask({ method: 'POST', body: Buffer.from('{}') });
    await expect(open().request(cluster(), request)).rejects.toMatchObject({ reason: 'network' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('A14: the credential of a cluster goes to that cluster', () => {
  it('neither a changed CA nor a changed address uses an old connection', async () => {
    const upstream = open();
    await upstream.request(cluster(), ask());
    const changed = cluster({
      generation: 2,
      endpoints: { ...cluster().endpoints, caBundle: bundle(other) },
    });
    await expect(upstream.request(changed, ask())).rejects.toMatchObject({ reason: 'tls' });
    expect(server.requests).toHaveLength(1);
  });

  it('two clusters at one address, with other ports and authorities, each see only their own credential', async () => {
    const beta = await startApiServer(other.issue({ names: ['api.example.com'] }), () => ({ status: 200 }));
    const tokens: Record<string, string> = { alpha: 'canary-of-alpha', beta: 'canary-of-beta' };
    const upstream = open({
      credentials: { read: async ({ name }) => ({ type: 'token', token: new Secret(tokens[name] ?? '') }) },
    });
    const one = cluster();
    const two = { ...at(beta.port, other), uid: 'uid-beta', controller: { namespace: 'fleet', name: 'beta' } };
    const swapped = (by: UpstreamCluster, generation: number): UpstreamCluster => ({
      ...by,
      generation,
      endpoints: { ...by.endpoints, serverEndpoints: (by === one ? two : one).endpoints.serverEndpoints ?? [] },
    });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) => {
        const by = index % 2 === 0 ? one : two;
        // Every fifth request comes with the addresses exchanged, as after a change of the objects.
        return upstream.request(
          index % 5 === 0 ? swapped(by, index) : { ...by, generation: index },
          ask({ credential: true }),
        );
      }),
    );
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(10);
    const seen = (fake: FakeApiServer) => new Set(fake.requests.map(({ headers }) => headers.authorization));
    expect(seen(server)).toEqual(new Set(['Bearer canary-of-alpha']));
    expect(seen(beta)).toEqual(new Set(['Bearer canary-of-beta']));
    await beta.close();
  });

  it('a credential that is not confirmed for this address is not even read', async () => {
    let reads = 0;
    const upstream = open({
      credentials: {
        read: async () => {
          reads++;
          return TOKEN;
        },
      },
    });
    const request = ask({ credential: true });
    await expect(upstream.request(cluster({ confirmed: false }), request)).rejects.toMatchObject({
      reason: 'credential',
    });
    await expect(upstream.request(cluster({ controller: undefined }), request)).rejects.toMatchObject({
      reason: 'credential',
    });
    expect([reads, server.connections]).toEqual([0, 0]);
  });
});

describe('A16: paths', () => {
  it.each([
    '/api/v1/namespaces/../serviceaccounts/x/token',
    '/api/v1/namespaces/%2e%2e/serviceaccounts/x/token',
    '/a\\b',
    '/a b',
    '//evil.example.com/x',
    'https://evil.example.com/',
    'readyz',
    '',
    '/x#y',
    '@evil.example.com/',
    '/a\r\nX: y',
    '/a\tb',
  ])('%j is not sent', async (path) => {
    await expect(open().request(cluster(), ask({ path }))).rejects.toMatchObject({ name: 'UpstreamError' });
    expect(server.connections).toBe(0);
  });
});
