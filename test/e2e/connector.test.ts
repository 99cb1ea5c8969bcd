import { describe, expect, it } from 'vitest';
import { connectorAudience } from '../../src/api/connector.ts';
import { Person } from './support/cli.ts';
import {
  BOOTSTRAP,
  bootstrap,
  ClusterIssuer,
  CONNECTORS,
  connectorOf,
  ordersOf,
  TestConnector,
} from './support/connector.ts';
import { inNamespace } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

/** Connectors: a program in a cluster that identifies itself by its account there, and issues the tokens. */

const server = sharedServer();

describe('its identity', () => {
  it('is recorded when it registers its cluster, once', async () => {
    const connector = await new TestConnector(server, 'conn-1').login();
    expect((await connector.call('GET', CLUSTERS)).code).toBe(401);
    const token = await bootstrap(server, 'conn-1');
    expect((await connector.register(token)).code).toBe(201);
    expect((await connector.register(token)).code).toBe(200);
    const { json } = await server.call('GET', `${CONNECTORS}/conn-1`);
    const cluster = (await server.call('GET', `${CLUSTERS}/conn-1`)).json;
    expect(json.spec).toEqual({
      clusterUID: cluster.metadata.uid,
      issuer: 'https://kubernetes.default.svc',
      subject: 'system:serviceaccount:clusterpass:connector',
      accountUID: 'account-1',
      keys: JSON.stringify(connector.issuer.keys),
    });
    expect(cluster.spec.authInfo).toEqual({ controller: { kind: 'Connector', name: 'conn-1' } });
    expect(JSON.stringify(cluster)).not.toContain(connector.token);
    expect((await connector.call('GET', `${CONNECTORS}/conn-1`)).code).toBe(200);
    expect((await connector.report({ version: '1.0' })).json.status).toMatchObject({ version: '1.0', contract: 1 });

    // Deleting it ends its tokens, and the bootstrap token makes no other.
    expect((await server.call('DELETE', `${CONNECTORS}/conn-1`)).code).toBe(200);
    expect((await connector.call('GET', `${CONNECTORS}/conn-1`)).code).toBe(401);
    expect((await connector.register(token)).code).toBe(200);
    expect((await server.call('GET', `${CONNECTORS}/conn-1`)).code).toBe(404);
  });

  it('A49: of a cluster that has none is registered by a token of that name alone, by whom may change the cluster', async () => {
    await connectorOf(server, 'conn-10');
    const before = (await server.call('GET', `${CLUSTERS}/conn-10`)).json;
    const path = `${CONNECTORS}/conn-10`;
    // It was installed again: its account is another one.
    const again = await new TestConnector(server, 'conn-10').login();
    expect((await again.register(await bootstrap(server, 'conn-10'))).code).toBe(409);
    expect((await server.call('DELETE', path)).code).toBe(200);
    expect((await again.register(await bootstrap(server, 'conn-1*'))).code).toBe(409);

    const group = 'clusterregistry.k8s.io';
    const creates = [may('create', 'bootstraptokens', 'clusterpass.dev'), may('create', 'clusters', group)];
    const jane = await Person.as(server, 'jane');
    const tokenOfJane = async (...rules: ReturnType<typeof may>[]): Promise<string> => {
      await grant(server, { to: 'jane', rules: [...creates, ...rules] });
      return (await jane.ok(['create', 'bootstrap-token', '--name-pattern', 'conn-10'])).trim();
    };
    const refused = [await again.register(await tokenOfJane())];
    refused.push(await again.register(await tokenOfJane(may('update', 'clusters', group))));
    expect(refused.map(({ code, json }) => [code, json.message])).toEqual(
      refused.map(() => [403, expect.stringContaining('its creator may not register this cluster')]),
    );
    const registered = await again.register(await tokenOfJane(may('mirror', 'serviceaccounts')));
    expect([registered.code, registered.json.spec]).toEqual([200, undefined]);
    expect((await again.call('GET', path)).json.spec.keys).toBe(JSON.stringify(again.issuer.keys));
    const { metadata, spec } = (await server.call('GET', `${CLUSTERS}/conn-10`)).json;
    expect([metadata.uid, metadata.labels, spec]).toEqual([before.metadata.uid, before.metadata.labels, before.spec]);
  });

  it('is proved by a token of its own keys, for its own audience alone', async () => {
    const connector = new TestConnector(server, 'conn-2');
    const audience = connectorAudience(server.url, 'conn-2');
    const token = await bootstrap(server, 'conn-2');
    const { issuer } = connector;
    const refused = async (projected: Promise<string>, why: string): Promise<void> => {
      connector.token = await projected;
      const { code, json } = await connector.register(token);
      expect([code, json.message]).toEqual([422, expect.stringContaining(why)]);
      expect(json.details.causes[0].field).toBe('metadata.annotations[clusterpass.dev/connector]');
    };
    await refused(new ClusterIssuer(issuer.jwk.kid).projected(audience), 'signature verification failed');
    await refused(issuer.projected(connectorAudience(server.url, 'conn-1')), 'token audience');
    await refused(issuer.projected([audience, 'https://other.example']), 'token audience');
    await refused(issuer.projected(audience, {}, -60), '"exp" claim timestamp check failed');
    await refused(issuer.projected(audience, { 'kubernetes.io': undefined }), 'not that of a service account');
    await refused(issuer.projected(audience, { sub: 'system:serviceaccount:kube-system:admin' }), 'token subject');
    expect((await server.call('GET', `${CLUSTERS}/conn-2`)).code).toBe(404);
    await connector.login();
    expect((await connector.register(token)).code).toBe(201);

    const codeWith = async (projected: Promise<string>): Promise<number> =>
      (await server.call('GET', `${CONNECTORS}/conn-2`, { token: await projected })).code;
    const other = { namespace: 'clusterpass', serviceaccount: { name: 'connector', uid: 'account-2' } };
    expect(await codeWith(issuer.projected(audience))).toBe(200);
    expect(await codeWith(issuer.projected(audience, { 'kubernetes.io': other }))).toBe(401);
    expect(await codeWith(issuer.projected(audience, { iss: 'https://other.example' }))).toBe(401);
    expect(await codeWith(issuer.projected([audience, 'https://other.example']))).toBe(401);
    expect(await codeWith(issuer.projected(audience, {}, -60))).toBe(401);
    expect(await codeWith(new ClusterIssuer(issuer.jwk.kid).projected(audience))).toBe(401);
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${connector.token.split('.')[1]}.`;
    expect(await codeWith(Promise.resolve(unsigned))).toBe(401);
  });

  it('A51: keeps to its own cluster', async () => {
    const first = await connectorOf(server, 'conn-3');
    const second = await connectorOf(server, 'conn-4');
    // The keys of another cluster say nothing about this one.
    const posing = await first.issuer.projected(connectorAudience(server.url, 'conn-4'));
    expect((await server.call('GET', `${CONNECTORS}/conn-4`, { token: posing })).code).toBe(401);
    const codes = (...calls: [string, string, object?][]): Promise<number[]> =>
      Promise.all(calls.map(async ([method, path, body]) => (await second.call(method, path, { body })).code));
    const namespace = { metadata: { name: 'shop' } };
    expect(
      await codes(
        ['GET', ordersOf('conn-4')],
        ['POST', '/orchestrator/conn-4/api/v1/namespaces', namespace],
        ['GET', inNamespace('serviceaccounts', 'shop', 'conn-4')],
      ),
    ).toEqual([200, 201, 200]);
    expect(
      await codes(
        ['GET', `${CONNECTORS}/conn-3`],
        ['GET', CONNECTORS],
        ['DELETE', `${CONNECTORS}/conn-4`],
        ['GET', ordersOf('conn-3')],
        ['POST', '/orchestrator/conn-3/api/v1/namespaces', namespace],
        ['POST', inNamespace('serviceaccounts/a/token', 'shop', 'conn-4'), { spec: { audiences: [] } }],
        ['GET', inNamespace('secrets', 'shop', 'conn-4')],
        ['POST', BOOTSTRAP, { metadata: { name: 'other' } }],
      ),
    ).toEqual([403, 403, 403, 403, 403, 403, 403, 403]);
    expect((await second.call('GET', CLUSTERS)).json.items).toEqual([]);
    const who = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    expect((await second.call('POST', path, { body: who })).json.status.userInfo).toMatchObject({
      username: 'system:connector:conn-4',
      groups: ['system:connectors', 'system:authenticated'],
    });
  });

  it('A51: ends with its Connector and with its cluster, in open watches too', async () => {
    const connector = await connectorOf(server, 'conn-5');
    const watch = await Watch.open(server, `${ordersOf('conn-5')}?watch=true`, connector.token);
    expect((await server.call('DELETE', `${CLUSTERS}/conn-5`)).code).toBe(200);
    expect((await watch.rest()).at(-1)?.object.code ?? 401).toBe(401);
    expect((await connector.call('GET', `${CONNECTORS}/conn-5`)).code).toBe(401);
    // A later cluster of the name has its own connector.
    const later = await connectorOf(server, 'conn-5');
    expect((await later.call('GET', ordersOf('conn-5'))).code).toBe(200);
    expect((await connector.call('GET', ordersOf('conn-5'))).code).toBe(401);
  });

  it('follows the keys of its cluster, with a token of the former ones', async () => {
    const connector = await connectorOf(server, 'conn-6');
    const next = new ClusterIssuer();
    const keys = (...issuers: ClusterIssuer[]): Promise<Answer> =>
      connector.report({ keys: JSON.stringify({ keys: issuers.map(({ jwk }) => jwk) }) });
    expect((await keys(connector.issuer, next)).code).toBe(200);
    expect((await connector.report()).code).toBe(200);
    connector.token = await next.projected(connectorAudience(server.url, 'conn-6'));
    expect((await keys(next)).code).toBe(200);
    expect((await connector.login().then((old) => old.report())).code).toBe(401);
  });

  it('A57: says whether its cluster is ready, and which version it has; nothing is probed', async () => {
    const connector = await connectorOf(server, 'conn-8');
    const ready = async (): Promise<string> => {
      const { status = {} } = (await server.call('GET', `${CLUSTERS}/conn-8`)).json;
      const found = status.conditions?.find(({ type }: { type: string }) => type === 'Ready') ?? {};
      return [found.status, found.reason, found.message, status.version, status.type].join('|');
    };
    await expect.poll(ready).toMatch(/^Unknown\|ConnectorLost\|.* since its registration\.\|/);
    await connector.report({ clusterVersion: 'v1.36.4+k3s1', nodes: { ready: 2, total: 3 } });
    const up = 'True|ConnectorReady|The API server is ready. 2 of 3 nodes are ready.|v1.36.4+k3s1|k3s';
    await expect.poll(ready).toBe(up);
    await connector.report({ ready: false, readyMessage: 'etcd failed' });
    await expect.poll(ready).toMatch(/^False\|ConnectorNotReady\|The API server is not ready: etcd failed\|v1\.36/);
    await connector.report({ renewTime: '2026-01-01T00:00:00Z' });
    await expect.poll(ready).toMatch(/^Unknown\|ConnectorLost\|.* since 2026-01-01T00:00:00Z\.\|/);
    await connector.report();
    await expect.poll(ready).toMatch(/^True/);
    expect((await server.call('DELETE', `${CONNECTORS}/conn-8`)).code).toBe(200);
    await expect.poll(ready).toMatch(/^Unknown\|ConnectorLost/);
  });

  it('is deleted with its cluster', async () => {
    await connectorOf(server, 'conn-9');
    expect((await server.call('DELETE', `${CLUSTERS}/conn-9`)).code).toBe(200);
    await expect.poll(async () => (await server.call('GET', `${CONNECTORS}/conn-9`)).code).toBe(404);
  });

  it('mirrors without orders if it says so', async () => {
    await connectorOf(server, 'conn-7', { orders: false });
    expect((await server.call('GET', `${CLUSTERS}/conn-7`)).json.spec.authInfo).toBeUndefined();
    expect((await server.call('GET', `${CONNECTORS}/conn-7`)).code).toBe(200);
  });
});
