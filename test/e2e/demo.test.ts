import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNodeFetch } from '../../src/client/node.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { openDemoFront } from '../../src/server/demo-front.ts';
import { createNamespace } from './support/objects.ts';
import { run } from './support/run.ts';
import { type Answer, type Server, startServer } from './support/server.ts';

/** The fleet of --demo, from start to stop. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ args: ['--demo', '--demo-tls-listen', '127.0.0.1:0'] });
});
afterAll(() => server.destroy());

describe('accounts of the callers', () => {
  async function accountsOf(cluster: string, user?: string): Promise<Answer> {
    const token =
      user === undefined
        ? server.adminToken
        : (await readFile(join(server.dataDir, 'demo', `${user}.token`), 'utf8')).trim();
    return server.call('GET', `/auth/v1/clusters/${cluster}/accounts`, { token });
  }

  const named = ({ json }: Answer): string[] =>
    json.items.map(({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`);

  it('shows each caller the accounts for which it may request a token, and no others', async () => {
    const answer = await accountsOf('prod-eu-1', 'carl');
    expect([answer.code, answer.json.kind, answer.json.incomplete]).toEqual([200, 'UsableAccountList', false]);
    expect(named(answer)).toEqual(['ci/builder']);
    expect(named(await accountsOf('dev-eu-1', 'devi'))).toEqual(['shop/deployer']);
    expect(named(await accountsOf('dev-eu-1', 'dana'))).toEqual([
      'ci/builder',
      'monitoring/scraper',
      'shop/deployer',
      'shop/web',
    ]);
  });
});

describe('the demo over TLS', () => {
  const contextsIn = async (dataDir: string) => JSON.parse(await readFile(join(dataDir, 'kubeconfig'), 'utf8'));

  it('has a kubeconfig with a context for each caller, and a certificate that is made once', async () => {
    const { dataDir, url } = server;
    const { clusters, users, contexts, ...rest } = await contextsIn(dataDir);
    expect(rest['current-context']).toBe('dana');
    expect(contexts.map(({ name }: { name: string }) => name)).toEqual(['dana', 'devi', 'carl']);
    const [{ cluster }] = clusters;
    const ca = Buffer.from(cluster['certificate-authority-data'], 'base64').toString();
    const fetch = createNodeFetch({ ca });
    const clustersOf = async (name: string): Promise<number> => {
      const { token } = users.find((user: { name: string }) => user.name === name).user;
      const response = await fetch(`${cluster.server}/auth/v1/clusters`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return JSON.parse(await response.text()).items.length;
    };
    expect(await Promise.all(['dana', 'devi', 'carl'].map(clustersOf))).toEqual([12, 7, 1]);
    const { mode } = await stat(join(dataDir, 'kubeconfig'));
    expect(mode & 0o777).toBe(0o600);
    // What another start does, while the first one has the port.
    const demoTlsListen = { host: '127.0.0.1', port: Number(new URL(cluster.server).port) };
    const options = { dataDir, demo: true, demoTlsListen, listen: { ...demoTlsListen, port: 0 }, tls: undefined };
    const again = await openDemoFront(options, url, createLogger({ level: 'error', write: () => {} }));
    again?.close();
    const [{ cluster: kept }] = (await contextsIn(dataDir)).clusters;
    expect([kept, kept.server === cluster.server]).toEqual([{ ...cluster, server: again?.url }, false]);
  });
});

describe('the same data without --demo', () => {
  const GRANTS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const finalizers = (names: readonly string[]) =>
    server.call('PATCH', `${GRANTS}/demo-carl-view`, { body: { metadata: { finalizers: names } } });

  it('is not served while the grants of the demo are in it', async () => {
    await createNamespace(server, 'real', 'dev-eu-1');
    // A binding that waits for its finalizers grants nothing.
    expect((await finalizers(['example.com/keep'])).code).toBe(200);
    expect(await server.stop()).toBe(0);
    const { code, stderr, stdout } = await run(['serve', '--data-dir', server.dataDir, '--listen', '127.0.0.1:0']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('clusterrolebindings demo-carl-view, demo-platform-admins-issue,');
    expect(stderr).toContain('and fleetrolebindings demo-carl-issue,');
    expect(stderr).toContain('use another --data-dir or --store');
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
