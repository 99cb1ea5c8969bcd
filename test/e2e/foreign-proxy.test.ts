import { Agent } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../describe-with.ts';
import { eventsOf, readAudit } from './support/audit.ts';
import { type ForeignProxy, HAPROXY, NGINX, type ProxyKind, SHARING_HAPROXY } from './support/foreign-proxy.ts';
import { refusedRequests, splitRequests } from './support/hostile-wire.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { ask, type ProxyAnswer, sendBytes } from './support/proxy-clients.ts';
import { openSecondDoor, type SecondDoor } from './support/second-door.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { Watch } from './support/watch.ts';

/** A22 and the everyday behind nginx and HAProxy, which are set up as in deploy/. */

const CLUSTERS = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const TOKEN_PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const bearer = (token: string): { Authorization: string } => ({ Authorization: `Bearer ${token}` });

let server: Server;
let auditLog: string;
beforeAll(async () => {
  server = await startServer({
    args: ['--demo', '--keep-alive-timeout', '75s'],
    users: { anna: [], mallory: [] },
    tls: true,
  });
  auditLog = join(server.dataDir, 'audit', 'audit.log');
});
afterAll(() => server.destroy());

/** The corpus as mallory sends it, and behind each the request that makes the proxy close the connection. */
function corpus(): readonly (readonly [name: string, bytes: string])[] {
  const head = `Host: localhost\r\nAuthorization: Bearer ${tokenOf('mallory')}\r\n`;
  const get = (name: string, more = ''): string => `GET ${CLUSTERS}/${name} HTTP/1.1\r\n${head}${more}\r\n`;
  const aim = { get: `${CLUSTERS}/hostile`, post: TOKEN_PATH, head };
  return [
    ...refusedRequests(aim).map(([name, , bytes]) => [name, bytes] as const),
    ...splitRequests(aim, get('smuggled')).map(({ name, bytes }) => [name, bytes] as const),
  ].map(([name, bytes]) => [name, `${bytes}${get('last', 'Connection: close\r\n')}`]);
}

/** Starts one of them before the tests around it, with a door to the server that counts connections. */
function behind(kind: ProxyKind): { readonly proxy: ForeignProxy; readonly door: SecondDoor } {
  let door: SecondDoor | undefined;
  let proxy: ForeignProxy | undefined;
  beforeAll(async () => {
    door = await openSecondDoor(server.url);
    proxy = await kind.start(Number(new URL(door.url).port));
  });
  afterAll(async () => {
    await proxy?.destroy();
    await door?.close();
  });
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error(`${kind.name} was not started`);
    return part;
  };
  return {
    get proxy() {
      return started(proxy);
    },
    get door() {
      return started(door);
    },
  };
}

for (const { kind, opening } of [
  { kind: NGINX, opening: [] },
  // Only what is not the first request of its client goes over a connection that others use.
  { kind: HAPROXY, opening: [`GET ${CLUSTERS}/first HTTP/1.1\r\nHost: localhost\r\n\r\n`] },
  { kind: SHARING_HAPROXY, opening: [] },
]) {
  describeWith(kind.program, `attacks through ${kind.name}`, () => {
    const at = behind(kind);

    it('A22: every answer is that of its request, and the server sees no request that the proxy does not', async () => {
      const { proxy, door } = at;
      const problems: string[] = [];
      const before = (await readAudit(auditLog)).length;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const innocent: ProxyAnswer[] = [];
      const askInnocently = async (): Promise<void> => {
        const name = `innocent-${innocent.length}`;
        const answer = await ask(proxy.port, {
          path: `${CLUSTERS}/${name}`,
          headers: { ...bearer(tokenOf('anna')), Host: 'localhost' },
          agent,
        });
        if (answer.code !== 403 || !answer.text.includes(`\\"${name}\\" is forbidden: User \\"anna\\"`)) {
          problems.push(`${name} got ${answer.code} ${answer.text}`);
        }
        innocent.push(answer);
      };

      const hostile: { name: string; port: number; answers: readonly ProxyAnswer[] }[] = [];
      await askInnocently();
      for (const [name, bytes] of corpus()) {
        const [outcome] = await Promise.all([sendBytes(proxy.port, [...opening, bytes]), askInnocently()]);
        hostile.push({ name, ...outcome });
        await askInnocently();
      }
      agent.destroy();

      // Both logs are written in order: with the last request, all are there.
      const last = innocent.at(-1)?.auditId;
      await expect.poll(async () => (await proxy.log()).some(({ auditId }) => auditId === last)).toBe(true);
      await eventsOf(auditLog, last ?? null);
      const lines = await proxy.log();
      const lineOf = new Map(lines.map((line) => [line.auditId, line]));
      const events = (await readAudit(auditLog)).slice(before).filter(({ requestURI }) => requestURI !== '/readyz');

      for (const { port, auditId } of [...innocent, ...hostile.flatMap(({ answers }) => answers)]) {
        if (auditId !== undefined && lineOf.get(auditId)?.clientPort !== port) {
          problems.push(
            `${port} got the answer ${auditId}, which the proxy gave to ${lineOf.get(auditId)?.clientPort}`,
          );
        }
      }
      for (const { name, port, answers } of hostile) {
        const requests = lines.filter(({ clientPort }) => clientPort === port).length;
        if (answers.length !== requests) problems.push(`${name}: ${answers.length} answers to ${requests} requests`);
      }
      for (const { auditID, requestURI, user } of events) {
        const line = lineOf.get(auditID);
        if (line === undefined) problems.push(`the proxy does not know of ${auditID} ${requestURI}`);
        // The proxy decodes what it writes down; where there is nothing to decode, both have to say the same.
        else if (/^[\w./-]+$/.test(requestURI) && line.path !== requestURI) {
          problems.push(`${auditID} is ${line.path} to the proxy and ${requestURI} to the server`);
        }
        if ((user.username === 'anna') !== /\/innocent-\d+$/.test(requestURI)) {
          problems.push(`${requestURI} by ${user.username}`);
        }
      }
      expect(problems).toEqual([]);
      expect(events.filter(({ user }) => user.username === 'anna')).toHaveLength(innocent.length);
      // Or the requests did not meet, and there was nothing to mix up.
      expect(door.opened).toBeLessThan(events.length / 2);
    });
  });
}

for (const kind of [NGINX, HAPROXY]) {
  describeWith(kind.program, `behind ${kind.name}`, () => {
    const at = behind(kind);

    it('a watch hears of a change at once, and ends when its client leaves', async () => {
      const watch = await Watch.open({ ...server, url: at.proxy.url }, `${CLUSTERS}?watch=true&labelSelector=is=new`);
      const auditId = watch.headers.get('audit-id');
      for (const name of [`${kind.program.name}-1`, `${kind.program.name}-2`]) {
        const { code } = await server.call('POST', CLUSTERS, {
          body: {
            apiVersion: 'clusterregistry.k8s.io/v1alpha1',
            kind: 'Cluster',
            metadata: { name, labels: { is: 'new' } },
          },
        });
        expect(code).toBe(201);
        const heard = await watch.until(({ object }) => object.metadata.name === name);
        expect(heard.at(-1)?.type).toBe('ADDED');
      }
      watch.close();
      const [, ended] = await eventsOf(auditLog, auditId, 2);
      expect(ended.stage).toBe('ResponseComplete');
    });

    it('A8: who asked for a token is in the log of the proxy, and not what they claim to be', async () => {
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

    it('takes what the server takes, and no more', async () => {
      const padded = (bytes: number): string => '{"spec":{"audiences":["vault"]}}'.padEnd(bytes);
      const send = (bytes: number) =>
        ask(at.proxy.port, {
          method: 'POST',
          path: TOKEN_PATH,
          headers: { ...bearer(server.adminToken), ...JSON_TYPE },
          body: padded(bytes),
        });
      expect((await send(3 * 1024 * 1024)).code).toBe(201);
      expect((await send(3 * 1024 * 1024 + 1)).code).toBe(413);
      const long = await ask(at.proxy.port, { path: CLUSTERS, headers: bearer('a'.repeat(15_800)) });
      expect(long).toMatchObject({ code: 401, auditId: expect.any(String) });
    });

    it('a client is not told how long the server keeps connections', async () => {
      const direct = await fetch(`${server.url}/livez`);
      expect(direct.headers.get('keep-alive')).toBe('timeout=75');
      const response = await fetch(`${at.proxy.url}/livez`);
      expect(response.headers.get('keep-alive')).toBeNull();
    });

    describeWithKubectl('kubectl', () => {
      it('gets a token', async () => {
        const desk = { url: at.proxy.url, adminToken: server.adminToken };
        const args = ['create', 'token', 'builder', '-n', 'ci', '--audience', 'vault'];
        expect(await kubectlOk(desk, args, { clusterPath: '/orchestrator/prod-eu-1' })).toMatch(/^ey\S+$/);
      });
    });
  });
}
