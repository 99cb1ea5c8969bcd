import { readFileSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Person } from './support/cli.ts';
import { expectStatus } from './support/expect-status.ts';
import { addCluster, grantClusters, patchCluster } from './support/fleet.ts';
import { describeWithKubectl, kubectlBinary } from './support/kubectl.ts';
import { type Answer, TLS, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** kubeconfigs: of one cluster from the API, and of many by clusterpass kubeconfig. */

const CA = readFileSync(TLS.caFile).toString('base64');

const server = sharedServer();

describe('from the API', () => {
  const GROUP = 'clusterregistry.k8s.io';
  const endpoint = (clientCIDR: string, serverAddress: string) => ({ clientCIDR, serverAddress });
  const spec = (serverEndpoints: object[], caBundle?: string) => ({
    orchestratorApiEndpoints: { serverEndpoints, caBundle },
    authInfo: { controller: { kind: 'Secret', name: 'hidden-controller', namespace: 'hidden-namespace' } },
  });

  beforeAll(async () => {
    const near = endpoint('127.0.0.0/8', 'https://near.example.com:6443');
    const far = endpoint('0.0.0.0/0', 'https://far.example.com');
    await addCluster(server, 'alpha', {
      labels: { env: 'live' },
      spec: spec([endpoint('10.0.0.0/8', 'https://x'), near, far], CA),
    });
    await addCluster(server, 'beta', { labels: { env: 'test' }, spec: spec([far]) });
    await addCluster(server, 'plain');
    await grantClusters(server, 'prod-only', 'kim', { clusters: 'env=live' });
  });

  const path = (name: string, as: string | null = 'ci/builder'): string =>
    `/auth/v1/clusters/${name}/kubeconfig${as === null ? '' : `?as=${encodeURIComponent(as)}`}`;
  const get = (name: string, token = server.adminToken, headers: Record<string, string> = {}): Promise<Answer> =>
    server.call('GET', path(name), { token, headers });

  describe('the kubeconfig of a cluster', () => {
    it('E-07: has everything that a client needs, and no secret', async () => {
      const { code, json, text, headers } = await get('alpha', tokenOf('kim'));
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
                provideClusterInfo: true,
              },
            },
          },
        ],
        contexts: [{ name: 'alpha', context: { cluster: 'alpha', user: 'ci:builder@alpha', namespace: 'ci' } }],
        'current-context': 'alpha',
      });
      expect(text).not.toContain(tokenOf('kim'));
      expect(text).not.toContain('hidden');
      expect((await get('alpha')).text).toBe(text);
    });

    it('leaves out the authority of a cluster that has none', async () => {
      expect((await get('beta')).json.clusters).toEqual([
        { name: 'beta', cluster: { server: 'https://far.example.com' } },
      ]);
    });

    it('is chosen by the address of the connection, not by a header', async () => {
      const forged = await get('alpha', server.adminToken, {
        'X-Forwarded-For': '10.1.2.3',
        'X-Real-IP': '10.1.2.3',
        Forwarded: 'for=10.1.2.3',
      });
      expect(forged.json.clusters[0].cluster.server).toBe('https://near.example.com:6443');
    });

    it('does not exist for a cluster without an address', async () => {
      expectStatus(await get('plain'), {
        code: 409,
        reason: 'Conflict',
        message: `Operation cannot be fulfilled on clusters.${GROUP} "plain": the cluster has no server endpoint`,
        details: { name: 'plain', group: GROUP, kind: 'clusters' },
      });
    });
  });

  describe('permissions', () => {
    const refused = (user: string, name: string) => ({
      code: 403,
      reason: 'Forbidden',
      message: `clusters.${GROUP} "${name}" is forbidden: User "${user}" cannot get resource "clusters" in API group "${GROUP}" at the cluster scope`,
      details: { name, group: GROUP, kind: 'clusters' },
    });

    it('decision 12: a caller who may not get the cluster gets the same error whether or not it exists', async () => {
      for (const name of ['beta', 'no-such-cluster']) {
        expectStatus(await get(name, tokenOf('kim')), refused('kim', name));
        const asked = await server.call('GET', `/apis/${GROUP}/v1alpha1/clusters/${name}`, { token: tokenOf('kim') });
        expectStatus(asked, refused('kim', name));
      }
      expectStatus(await get('alpha', tokenOf('nobody')), refused('nobody', 'alpha'));
    });

    it('a caller without permission learns nothing about the parameters', async () => {
      const answer = await server.call('GET', path('beta', null), { token: tokenOf('kim') });
      expectStatus(answer, refused('kim', 'beta'));
    });
  });

  describe('parameters', () => {
    const ACCOUNT = 'the service account to get tokens for, as namespace/name, or me for passes of the person';

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

    it('are valid names, because they become arguments of a program', async () => {
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
  });
});

describe('clusterpass kubeconfig', () => {
  let jane: Person;

  const AS = ['kubeconfig', '--as', 'ci/builder'];

  const endpoints = (...list: [cidr: string, address: string][]) => ({
    orchestratorApiEndpoints: {
      serverEndpoints: list.map(([clientCIDR, serverAddress]) => ({ clientCIDR, serverAddress })),
      caBundle: CA,
    },
  });

  beforeAll(async () => {
    await addCluster(server, 'dev-1', {
      labels: { env: 'dev', zone: 'a' },
      // No machine has the first address, every machine has the second.
      spec: endpoints(['203.0.113.0/24', 'https://far'], ['127.0.0.0/8', 'https://near'], ['0.0.0.0/0', 'https://any']),
    });
    const spec = endpoints(['0.0.0.0/0', 'https://dev-2']);
    await addCluster(server, 'dev-2', { labels: { env: 'dev', zone: 'b' }, spec });
    await addCluster(server, 'bare', { labels: { env: 'dev' } });
    await addCluster(server, 'hidden', { labels: { env: 'prod' }, spec: endpoints(['0.0.0.0/0', 'https://hidden']) });
    await grantClusters(server, 'jane-sees', 'jane', { clusters: 'env=dev' });
  });
  beforeEach(async () => {
    jane = await Person.as(server, 'jane');
  });

  const file = (name = '.kube/config'): string => join(jane.home, name);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into files of every shape
  const config = async (name?: string): Promise<any> => parse(await readFile(file(name), 'utf8'));
  const contexts = async (name?: string): Promise<string[]> =>
    (await config(name)).contexts.map((entry: { name: string }) => entry.name);

  describe('clusterpass kubeconfig', () => {
    it('writes a context for every cluster that the caller sees, and no secret', async () => {
      const { code, stdout, stderr } = await jane.run(AS);
      expect(code).toBe(0);
      expect(stdout).toBe('');
      expect(stderr).toContain('Warning: skipped bare: it has no https address\n');
      expect((await stat(file())).mode & 0o777).toBe(0o600);
      const written = await config();
      expect(await contexts()).toEqual(['dev-1', 'dev-2']);
      const mark = { server: server.url, cluster: 'dev-1', account: 'ci/builder' };
      expect(written.clusters[0]).toEqual({
        name: 'dev-1',
        cluster: {
          server: 'https://near',
          'certificate-authority-data': CA,
          extensions: [
            {
              name: 'clusterpass.dev',
              extension: { ...mark, name: 'dev-1', endpoints: expect.stringMatching(/^sha256-[0-9a-f]{64}$/) },
            },
          ],
        },
      });
      expect(written.contexts[0].context).toMatchObject({
        cluster: 'dev-1',
        user: 'ci:builder@dev-1',
        namespace: 'ci',
      });
      expect(written.users[0].user.exec).toMatchObject({
        apiVersion: 'client.authentication.k8s.io/v1',
        interactiveMode: 'Never',
        args: expect.arrayContaining(['credential', '--cluster', 'dev-1', '--server', server.url]),
      });
      expect(await readFile(file(), 'utf8')).not.toContain('token-of-jane');
    });

    it('keeps entries of others: in the first file of KUBECONFIG, with comments and order', async () => {
      const before = [
        '# mine',
        'apiVersion: v1',
        'kind: Config',
        'current-context: home',
        'contexts:',
        '- context: {cluster: home, user: me} # by hand',
        '  name: home',
        'clusters:',
        '- cluster: {server: "https://home"}',
        '  name: home',
        'users:',
        '- {name: me, user: {token: abc}}',
        '',
      ].join('\n');
      await writeFile(file('a'), before, { mode: 0o644 });
      await writeFile(file('b'), 'kind: Config # untouched');
      await jane.run(AS, { env: { KUBECONFIG: `${file('a')}:${file('b')}` } });
      const after = await readFile(file('a'), 'utf8');
      for (const comment of ['# mine', '# by hand']) expect(after).toContain(comment);
      const [was, is] = [parse(before), parse(after)];
      for (const section of ['contexts', 'clusters', 'users']) expect(is[section][0]).toEqual(was[section][0]);
      expect(Object.keys(is)).toEqual(Object.keys(was));
      expect(await contexts('a')).toEqual(['home', 'dev-1', 'dev-2']);
      expect((await config('a'))['current-context']).toBe('home');
      expect(await readFile(file('b'), 'utf8')).toBe('kind: Config # untouched');
      expect((await stat(file('a'))).mode & 0o777).toBe(0o600);
    });

    it.each([
      [['kubeconfig'], 'kubectl sends no token over http'],
      [['kubeconfig', '--as', 'builder'], 'is not a service account in the form namespace/name'],
      [['kubeconfig', '--as', '--x/y'], 'is not a service account'],
      [[...AS, '--context-name', 'fixed'], '--context-name must contain {cluster}'],
      [[...AS, '--context-name', '{cluster}{x}'], '{x} is unknown'],
    ])('%j: %s', async (args, message) => {
      expect(await jane.fails(args)).toContain(message);
    });
  });

  describeWithKubectl('with kubectl', () => {
    it('reads the file and renames a context, and the new name stays', async () => {
      await jane.run(AS);
      const kubectl = (args: string[]): Promise<string> => kubectlBinary(args, { KUBECONFIG: file(), HOME: jane.home });
      expect((await kubectl(['config', 'get-contexts', '-o', 'name'])).trim().split('\n')).toEqual(['dev-1', 'dev-2']);
      await kubectl(['config', 'rename-context', 'dev-1', 'work']);
      await kubectl(['config', 'set-context', 'dev-2', '--namespace=other']);
      await patchCluster(server, 'dev-1', { metadata: { annotations: { note: 'x' } } });
      await jane.run([...AS, '--prune']);
      expect((await contexts()).sort()).toEqual(['dev-2', 'work']);
      await jane.run([...AS, '--context-name', 'cp-{cluster}']);
      expect((await contexts()).sort()).toEqual(['cp-dev-2', 'work']);
      const { contexts: list } = await config();
      const renamed = list.find(({ name }: { name: string }) => name === 'cp-dev-2');
      expect(renamed.context).toMatchObject({ namespace: 'other', cluster: 'cp-dev-2', user: 'ci:builder@cp-dev-2' });
    });
  });
});
