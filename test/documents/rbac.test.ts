import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { BOOTSTRAP_CLUSTER_ROLES } from '../../src/authz/install-bootstrap-roles.ts';
import { FLEET_BINDINGS, fleetBinding } from '../e2e/support/bindings.ts';
import { addCluster } from '../e2e/support/fleet.ts';
import { CLUSTERS, RBAC } from '../e2e/support/paths.ts';
import { TLS, tokenOf } from '../e2e/support/server.ts';
import { sharedTlsServer } from '../e2e/support/shared-server.ts';
import { blocksOf, isRun, readPage } from './support/blocks.ts';
import { everyCommandWasRun } from './support/every-command.ts';
import { PageRunner } from './support/page-runner.ts';

const page = readPage('docs/rbac.md');
const blocks = blocksOf('docs/rbac.md');

const KUBECONFIG = {
  'current-context': 'prod',
  contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod' } }],
  clusters: [{ name: 'prod', cluster: { server: 'https://prod.example.com', 'certificate-authority': 'ca.crt' } }],
  users: [{ name: 'prod', user: {} }],
};

describe('docs/rbac.md', () => {
  const server = sharedTlsServer();
  let runner: PageRunner;
  beforeAll(async () => {
    runner = await PageRunner.create(() => [], {
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: server.adminToken,
      CLUSTERPASS_CA: TLS.caFile,
    });
    writeFileSync(join(runner.folder, 'prod.yaml'), JSON.stringify(KUBECONFIG));
    copyFileSync(TLS.caFile, join(runner.folder, 'ca.crt'));
    await addCluster(server, 'dev-eu-1', { labels: { env: 'dev', region: 'eu' } });
    await addCluster(server, 'dev-us-1', { labels: { env: 'dev', region: 'us' } });
    await addCluster(server, 'staging-eu-1', { labels: { env: 'staging', region: 'eu' } });
    await addCluster(server, 'bare', {});
  });
  afterAll(() => runner.destroy());

  it('its commands succeed, in the order of the page', async () => {
    expect(blocks.filter(isRun).length).toBeGreaterThan(4);
    for (const block of blocks) {
      const ran = await runner.run(block);
      if (ran !== undefined) expect(ran.code, `${block.text}\n${ran.output}`).toBe(0);
    }
  });

  const sees = async (user: string): Promise<string[]> =>
    (await server.call('GET', '/auth/v1/clusters', { token: tokenOf(user) })).json.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
  /** 404: permitted, and there is no such account. */
  const requestsPass = async (user: string, cluster: string, account: string): Promise<number> => {
    const path = `/orchestrator/${cluster}/api/v1/namespaces/${account.replace('/', '/serviceaccounts/')}/token`;
    return (await server.call('POST', path, { token: tokenOf(user), body: { spec: { audiences: [] } } })).code;
  };

  it('grants one cluster by name', async () => {
    expect(await sees('kim')).toEqual(['dev-eu-1']);
    expect(await requestsPass('kim', 'dev-eu-1', 'ci/builder')).toBe(404);
    expect(await requestsPass('kim', 'dev-eu-1', 'ci/other')).toBe(403);
    expect(await requestsPass('kim', 'dev-us-1', 'ci/builder')).toBe(403);
  });

  it('grants a team its environments, and production to its leads', async () => {
    expect(await sees('tom')).toEqual(['dev-eu-1', 'dev-us-1', 'prod-eu-1', 'staging-eu-1']);
    expect(await requestsPass('tom', 'staging-eu-1', 'shop/any')).toBe(404);
    expect(await requestsPass('tom', 'staging-eu-1', 'ci/any')).toBe(403);
    expect(await requestsPass('tom', 'prod-eu-1', 'shop/deployer')).toBe(403);
    expect(await requestsPass('lea', 'prod-eu-1', 'shop/deployer')).toBe(404);
    expect(await requestsPass('lea', 'prod-eu-1', 'shop/any')).toBe(403);
  });

  it('its table of clusters says where a binding holds', async () => {
    const table = page.slice(page.indexOf('| `spec.clusters` |'));
    const fields = [...table.slice(0, table.indexOf('\n\n')).matchAll(/^\| `(.*?)` \|/gm)].map(
      ([, text]) => text ?? '',
    );
    const every = ['bare', 'dev-eu-1', 'dev-us-1', 'prod-eu-1', 'staging-eu-1'];
    const dev = ['dev-eu-1', 'dev-us-1'];
    // The heading is the first row.
    const holds = [every, dev, dev, ['bare', 'dev-eu-1', 'dev-us-1', 'staging-eu-1'], every];
    expect(fields.slice(1)).toHaveLength(holds.length);
    // jane has no other binding for clusters.
    const bind = async (clusters: object): Promise<number> => {
      await server.call('DELETE', `${FLEET_BINDINGS}/selected`);
      const fields = { clusters };
      const body = fleetBinding({ name: 'selected', to: ['jane'], role: 'clusterpass:viewer', fields });
      return (await server.call('POST', FLEET_BINDINGS, { body })).code;
    };
    for (const [index, names] of holds.entries()) {
      const field = fields[index + 1] ?? '';
      expect(await bind(parse(`{${field}}`)), field).toBe(201);
      expect(await sees('jane'), field).toEqual(names);
    }
    expect(await bind({ selector: {} }), 'an empty selector').toBe(422);
    await server.call('DELETE', `${FLEET_BINDINGS}/selected`);
  });

  it('protected labels need the verb protect', async () => {
    const body = { metadata: { name: 'jane-labels' }, rules: [] as object[] };
    body.rules.push({ apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'], verbs: ['get', 'patch'] });
    await server.call('POST', `${RBAC}/clusterroles`, { body });
    const subjects = [{ kind: 'User', name: 'jane' }];
    const roleRef = { kind: 'ClusterRole', name: 'jane-labels' };
    const binding = { metadata: { name: 'jane-labels' }, subjects, roleRef };
    expect((await server.call('POST', `${RBAC}/clusterrolebindings`, { body: binding })).code).toBe(201);
    const relabel = async (key: string): Promise<number> => {
      const patch = { metadata: { labels: { [key]: null } } };
      return (await server.call('PATCH', `${CLUSTERS}/prod-eu-1`, { body: patch, token: tokenOf('jane') })).code;
    };
    expect(await relabel('env')).toBe(200);
    expect(await relabel('protected.clusterpass.dev/env')).toBe(403);
  });

  it('its table of roles has every role that a person may be bound to', () => {
    const table = page.slice(page.indexOf('| ClusterRole |'), page.indexOf('## A FleetRoleBinding'));
    const named = [...table.matchAll(/^\| `([\w:-]+)` \|/gm)].map(([, name]) => name);
    const automatic = ['system:basic-user', 'system:discovery'];
    const roles = BOOTSTRAP_CLUSTER_ROLES.map(({ metadata }) => metadata.name ?? '');
    expect(named.sort()).toEqual(roles.filter((name) => !automatic.includes(name)).sort());
  });

  everyCommandWasRun('docs/rbac.md');
});
