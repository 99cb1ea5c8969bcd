import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { describeWith } from '../describe-with.ts';
import { eventsOf } from './support/audit.ts';
import { bytes, clientHello } from './support/client-hello.ts';
import {
  type ForeignProxy,
  HAPROXY,
  LYING_NGINX,
  NGINX,
  type ProxyKind,
  SHARING_HAPROXY,
} from './support/foreign-proxy.ts';
import { createFloods, type Flood } from './support/hostile-floods.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { CLUSTERS } from './support/paths.ts';
import { attack, PLAIN_REQUEST } from './support/proxy-attack.ts';
import { ask } from './support/proxy-clients.ts';
import { sendRaw } from './support/raw-http.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { openRelay, type Relay } from './support/tcp-relay.ts';
import { Watch } from './support/watch.ts';

/**
 * Hostile TLS handshakes and floods of connections; A22 and common requests behind nginx and HAProxy, with the
 * configuration of deploy/.
 */

const TOKEN_PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const bearer = (token: string): { Authorization: string } => ({ Authorization: `Bearer ${token}` });

let server: Server;
let auditLog: string;
beforeAll(async () => {
  server = await startServer({
    args: ['--demo', '--keep-alive-timeout', '75s'],
    users: { anna: [], bad: ['system:masters'], mallory: [] },
    tls: true,
  });
  auditLog = join(server.dataDir, 'audit', 'audit.log');
});
afterAll(() => server.destroy());

/** C-H: names in a TLS handshake that no client library would send. */

const isAlert = (answer: string): boolean => answer.charCodeAt(0) === 0x15;
const isServerHello = (answer: string): boolean => answer.charCodeAt(0) === 0x16 && answer.charCodeAt(5) === 2;

describe('C-H, A20: the name in a TLS handshake', () => {
  it('the ClientHello of this test gets a response', async () => {
    expect(isServerHello(await sendRaw(server, clientHello({ name: Buffer.from('localhost') })))).toBe(true);
  });

  it.each<[string, Uint8Array]>([
    ['with a NUL', Buffer.from('localhost\0.evil.example')],
    ['of nothing but NUL', bytes(0)],
    ['without a letter', bytes()],
    ['of 500 characters', Buffer.from(`${'a'.repeat(492)}.example`)],
    ['of 16,000 characters', Buffer.from('a'.repeat(16_000))],
    ['that is no text', bytes(0xff, 0xfe, 0x0d, 0x0a)],
  ])('%s does no harm', async (_, name) => {
    const answer = await sendRaw(server, clientHello({ name }));
    expect(isAlert(answer) || isServerHello(answer), Buffer.from(answer, 'latin1').toString('hex').slice(0, 40)).toBe(
      true,
    );
    expect((await server.call('GET', '/livez', { token: null })).text).toBe('ok');
  });
});

describe('floods', () => {
  /** Sends one attempt, and ends with the response or when the connection is closed. */
  function send({ over, leaves }: Flood, bytes: string | Uint8Array): Promise<void> {
    const port = Number(new URL(server.url).port);
    return new Promise((resolve) => {
      const socket: Socket =
        over === 'raw'
          ? connect(port, '127.0.0.1')
          : connectSecurely({ port, host: 'localhost', servername: 'localhost' });
      socket.on('error', () => {});
      socket.once('close', () => resolve());
      socket.once('data', () => socket.destroy());
      socket.write(bytes, () => {
        if (leaves === true) socket.destroy();
      });
    });
  }

  it.each(createFloods(tokenOf('bad')).map((flood) => [flood.name, flood] as const))(
    '%s: the process survives, and other clients are served',
    async (_, flood) => {
      await Promise.all(flood.sent.slice(0, 40).map((bytes) => send(flood, bytes)));
      const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
      expect((await server.call('POST', path, { body: { spec: { audiences: ['x'] } } })).code).toBe(201);
      expect(process.kill(server.pid, 0)).toBe(true);
    },
  );

  it('A20: the floods caused no unexpected error', () => {
    expect(server.output.stderr).not.toMatch(/"level":"(error|fatal)"|uncaught|unhandled/i);
  });
});

/** Starts one of them before the tests around it, with a relay to the server that counts connections. */
function behind(kind: ProxyKind): { readonly proxy: ForeignProxy; readonly relay: Relay } {
  let relay: Relay | undefined;
  let proxy: ForeignProxy | undefined;
  beforeAll(async () => {
    relay = await openRelay(server.url);
    proxy = await kind.start(Number(new URL(relay.url).port));
  });
  afterAll(async () => {
    await proxy?.destroy();
    await relay?.close();
  });
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error(`${kind.name} was not started`);
    return part;
  };
  return {
    get proxy() {
      return started(proxy);
    },
    get relay() {
      return started(relay);
    },
  };
}

for (const { kind, opening } of [
  { kind: NGINX, opening: [] },
  { kind: HAPROXY, opening: [PLAIN_REQUEST] },
  { kind: SHARING_HAPROXY, opening: [] },
]) {
  describeWith(kind.program, `attacks through ${kind.name}`, () => {
    const at = behind(kind);

    it('A22: every response belongs to its request, and the server gets no request that the proxy did not send', async () => {
      const { problems, served } = await attack(server, at.proxy, { opening });
      expect(problems).toEqual([]);
      // Otherwise the requests did not share connections, and nothing could be mixed up.
      expect(at.relay.opened).toBeLessThan(served / 2);
    });
  });
}

describeWith(LYING_NGINX.program, `attacks through ${LYING_NGINX.name}`, () => {
  const at = behind(LYING_NGINX);

  it('A22: the test finds requests that are mixed up', async () => {
    const { problems } = await attack(server, at.proxy, { only: 'a body' });
    // As a request that the proxy does not know, or takes for another one: it depends on the timing.
    expect(problems.join('\n')).toContain('/clusters/smuggled');
  });
});

for (const kind of [NGINX, HAPROXY]) {
  describeWith(kind.program, `behind ${kind.name}`, () => {
    const at = behind(kind);

    it('a watch gets a change at once, and ends when its client disconnects', async () => {
      const watch = await Watch.open({ ...server, url: at.proxy.url }, `${CLUSTERS}?watch=true&labelSelector=is=new`);
      const auditId = watch.headers.get('audit-id');
      for (const name of [`${kind.program.name}-1`, `${kind.program.name}-2`]) {
        const { code } = await server.call('POST', CLUSTERS, {
          body: { ...CLUSTER_TYPE, metadata: { name, labels: { is: 'new' } } },
        });
        expect(code).toBe(201);
        const heard = await watch.until(({ object }) => object.metadata.name === name);
        expect(heard.at(-1)?.type).toBe('ADDED');
      }
      watch.close();
      const [, ended] = await eventsOf(auditLog, auditId, 2);
      expect(ended.stage).toBe('ResponseComplete');
    });

    it('A8: the log of the proxy has the address of the client, not the one in its headers', async () => {
      const answer = await ask(at.proxy.port, {
        method: 'POST',
        path: `${TOKEN_PATH}?secret=canary`,
        headers: {
          ...bearer(server.adminToken),
          ...JSON_TYPE,
          'X-Forwarded-For': '203.0.113.9',
          Forwarded: 'for=203.0.113.9',
        },
        body: '{"spec":{"audiences":["vault"]}}',
        from: '127.0.0.2',
      });
      expect(answer.code).toBe(201);
      const [event] = await eventsOf(auditLog, answer.auditId ?? null);
      expect(event.sourceIPs).toEqual(['127.0.0.1']);
      const lines = async () => (await at.proxy.log()).filter(({ auditId }) => auditId === answer.auditId);
      await expect.poll(lines).toMatchObject([{ clientAddress: '127.0.0.2', code: 201, path: TOKEN_PATH }]);
    });

    describeWithKubectl('kubectl', () => {
      it('gets a token', async () => {
        const proxied = { url: at.proxy.url, adminToken: server.adminToken };
        const args = ['create', 'token', 'builder', '-n', 'ci', '--audience', 'vault'];
        expect(await kubectlOk(proxied, args, { clusterPath: '/orchestrator/prod-eu-1' })).toMatch(/^ey\S+$/);
      });
    });
  });
}
