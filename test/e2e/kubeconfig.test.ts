import { readFileSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { expectStatus, expectUnauthorized, notFound } from './support/expect-status.ts';
import { addCluster, grant, patchCluster } from './support/fleet.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';

const GROUP = 'clusterregistry.k8s.io';
const CA = readFileSync(TLS.caFile).toString('base64');
const endpoint = (clientCIDR: string, serverAddress: string) => ({ clientCIDR, serverAddress });
const spec = (serverEndpoints: object[], caBundle?: string) => ({
  orchestratorApiEndpoints: { serverEndpoints, caBundle },
  authInfo: { controller: { kind: 'Secret', name: 'hidden-controller', namespace: 'hidden-namespace' } },
});

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { jane: [], nobody: [] } });
  const near = endpoint('127.0.0.0/8', 'https://near.example.com:6443');
  const far = endpoint('0.0.0.0/0', 'https://far.example.com');
  await addCluster(server, 'alpha', {
    labels: { env: 'prod' },
    spec: spec([endpoint('10.0.0.0/8', 'https://x'), near, far], CA),
  });
  await addCluster(server, 'beta', { labels: { env: 'dev' }, spec: spec([far]) });
  await addCluster(server, 'bare');
  await grant(server, 'prod-only', 'jane', { clusters: 'env=prod' });
});
afterAll(() => server.destroy());

const path = (name: string, as: string | null = 'ci/builder'): string =>
  `/auth/v1/clusters/${name}/kubeconfig${as === null ? '' : `?as=${encodeURIComponent(as)}`}`;
const get = (name: string, token = server.adminToken, headers: Record<string, string> = {}): Promise<Answer> =>
  server.call('GET', path(name), { token, headers });

describe('the kubeconfig of a cluster', () => {
  it('E-07: has everything that a client needs, and no secret', async () => {
    const { code, json, text, headers } = await get('alpha', tokenOf('jane'));
    expect(code).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('cache-control')).toBe('no-cache, private');
    expect(json).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'alpha', cluster: { server: 'https://near.example.com:6443', 'certificate-authority-data': CA } },
      ],
      users: [
        {
          name: 'ci:builder@alpha',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              command: 'clusterpass',
              args: [
                'credential',
                '--server',
                server.url,
                '--cluster',
                'alpha',
                '--namespace',
                'ci',
                '--service-account',
                'builder',
              ],
              installHint: expect.stringContaining('clusterpass login'),
              interactiveMode: 'Never',
              provideClusterInfo: false,
            },
          },
        },
      ],
      contexts: [{ name: 'alpha', context: { cluster: 'alpha', user: 'ci:builder@alpha', namespace: 'ci' } }],
      'current-context': 'alpha',
    });
    expect(text).not.toContain(tokenOf('jane'));
    expect(text).not.toContain('hidden');
    expect((await get('alpha')).text).toBe(text);
  });

  it('is the same in YAML', async () => {
    const yaml = await get('alpha', server.adminToken, { Accept: 'application/yaml' });
    expect(yaml.headers.get('content-type')).toBe('application/yaml');
    expect(parse(yaml.text)).toEqual((await get('alpha')).json);
    expect((await get('alpha', server.adminToken, { Accept: 'text/html' })).code).toBe(406);
  });

  it('is read by the official client, in both forms', async () => {
    for (const accept of ['application/json', 'application/yaml']) {
      const config = new KubeConfig();
      config.loadFromString((await get('alpha', server.adminToken, { Accept: accept })).text);
      expect(config.getCurrentContext()).toBe('alpha');
      expect(config.getContextObject('alpha')).toMatchObject({ cluster: 'alpha', namespace: 'ci' });
      expect(config.getCurrentCluster()).toMatchObject({
        name: 'alpha',
        server: 'https://near.example.com:6443',
        caData: CA,
        skipTLSVerify: false,
      });
      expect(config.getCurrentUser()?.exec).toMatchObject({ command: 'clusterpass', provideClusterInfo: false });
      expect(config.getCurrentUser()?.token).toBeUndefined();
    }
  });

  it('leaves out the authority of a cluster that has none', async () => {
    expect((await get('beta')).json.clusters).toEqual([
      { name: 'beta', cluster: { server: 'https://far.example.com' } },
    ]);
  });

  it('goes by the address of the connection, not by what a header says', async () => {
    const forged = await get('alpha', server.adminToken, {
      'X-Forwarded-For': '10.1.2.3',
      'X-Real-IP': '10.1.2.3',
      Forwarded: 'for=10.1.2.3',
    });
    expect(forged.json.clusters[0].cluster.server).toBe('https://near.example.com:6443');
  });

  it('follows the cluster', async () => {
    await patchCluster(server, 'beta', {
      spec: { orchestratorApiEndpoints: { serverEndpoints: [endpoint('', 'https://moved.example.com')] } },
    });
    expect((await get('beta')).json.clusters[0].cluster.server).toBe('https://moved.example.com');
  });

  it('cannot be had of a cluster without an address', async () => {
    expectStatus(await get('bare'), {
      code: 409,
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on clusters.${GROUP} "bare": the cluster has no server endpoint`,
      details: { name: 'bare', group: GROUP, kind: 'clusters' },
    });
  });
});

describe('who may have it', () => {
  const refused = (user: string, name: string) => ({
    code: 403,
    reason: 'Forbidden',
    message: `clusters.${GROUP} "${name}" is forbidden: User "${user}" cannot get resource "clusters" in API group "${GROUP}" at the cluster scope`,
    details: { name, group: GROUP, kind: 'clusters' },
  });

  it('decision 12: who may not get the cluster is told the same whether it exists or not', async () => {
    for (const name of ['beta', 'no-such-cluster']) {
      expectStatus(await get(name, tokenOf('jane')), refused('jane', name));
      const asked = await server.call('GET', `/apis/${GROUP}/v1alpha1/clusters/${name}`, { token: tokenOf('jane') });
      expectStatus(asked, refused('jane', name));
    }
    expectStatus(await get('alpha', tokenOf('nobody')), refused('nobody', 'alpha'));
  });

  it('who may get any cluster is told that one does not exist', async () => {
    expectStatus(await get('no-such-cluster'), notFound('clusters', 'no-such-cluster', GROUP));
  });

  it('nobody without a credential', async () => {
    expectUnauthorized(await server.call('GET', path('alpha'), { token: null }));
  });

  it('permission comes before what was asked', async () => {
    const answer = await server.call('GET', path('beta', null), { token: tokenOf('jane') });
    expectStatus(answer, refused('jane', 'beta'));
  });
});

describe('what can be asked', () => {
  const ACCOUNT = 'the service account to get tokens for, as namespace/name';

  it('the account is required', async () => {
    for (const as of [null, '']) {
      const message = `Required value: ${ACCOUNT}`;
      expectStatus(await server.call('GET', path('alpha', as)), {
        code: 422,
        reason: 'Invalid',
        message: `KubeconfigOptions.${GROUP} "" is invalid: as: ${message}`,
        details: {
          group: GROUP,
          kind: 'KubeconfigOptions',
          causes: [{ reason: 'FieldValueRequired', message, field: 'as' }],
        },
      });
    }
  });

  it('and must be names, since they become arguments of a program', async () => {
    const refuses = [
      'builder',
      '/',
      'ci/',
      '/builder',
      'ci/a/b',
      'CI/builder',
      'a.b/builder',
      '--x/builder',
      'ci/--server=https://evil.example.com',
      'ci/builder\n',
      'ci/$(id)',
      `ci/${'a'.repeat(254)}`,
      `${'a'.repeat(64)}/builder`,
    ];
    for (const as of refuses) {
      const { code, json } = await server.call('GET', path('alpha', as));
      expect(code, as).toBe(422);
      expect(json.details.causes[0], as).toMatchObject({ reason: 'FieldValueInvalid', field: 'as' });
    }
    for (const as of ['ci/builder', 'c-i/build.er-2']) {
      expect((await server.call('GET', path('alpha', as))).code, as).toBe(200);
    }
  });

  it('it can be read, and nothing else', async () => {
    expect((await server.call('HEAD', path('alpha'))).code).toBe(200);
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await server.call(method, path('alpha'), { body: {} });
      expect(answer.code, method).toBe(405);
      expect(answer.json.reason, method).toBe('MethodNotAllowed');
    }
    for (const other of ['/auth/v1/clusters/alpha', '/auth/v1/clusters//kubeconfig', `${path('alpha', null)}/x`]) {
      expect((await server.call('GET', other)).code, other).toBe(404);
    }
    // It is no part of the API below /apis.
    expect((await server.call('GET', `/apis/${GROUP}/v1alpha1/clusters/alpha/kubeconfig`)).code).toBe(404);
  });
});
