import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ApiObject } from '../../src/api/kind.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { FakeHub } from '../../src/sync/hub.fixture.ts';
import { Person } from './support/cli.ts';
import { addCluster, relabel, removeCluster } from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { grant, REGISTRY_GROUP } from './support/rbac.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { type StartedCommand, startCommand } from './support/sync-command.ts';

/** `clusterpass sync` between a server and a hub. */

const PROFILE_GROUP = 'multicluster.x-k8s.io';
const PROFILES = `${PROFILE_GROUP}/clusterprofiles`;
const OCM_GROUP = 'cluster.open-cluster-management.io';

const server = sharedServer();
let hub: FakeHub;
let admin: Person;
let kubeconfig: string;

beforeAll(async () => {
  hub = await new FakeHub({
    [PROFILE_GROUP]: ['v1alpha1'],
    'cluster.x-k8s.io': ['v1beta1', 'v1beta2'],
    [OCM_GROUP]: ['v1'],
  }).start();
  admin = await Person.as(server);
  kubeconfig = join(admin.home, 'hub.yaml');
  await writeFile(kubeconfig, hub.kubeconfig);
  const endpoints = [
    { clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1:6443' },
    { clientCIDR: '0.0.0.0/0', serverAddress: 'https://prod.example:6443' },
  ];
  const spec = { orchestratorApiEndpoints: { serverEndpoints: endpoints } };
  await addCluster(server, 'prod-1', { labels: { env: 'prod' }, spec, annotations: { note: 'secret' } });
  await addCluster(server, 'prod-2', { labels: { env: 'prod' }, spec });
  await addCluster(server, 'dev-1', { labels: { env: 'dev' }, spec });
});
afterAll(() => hub?.stop());

/** Starts a command that runs until it is stopped, in this process. */
const start = (name: 'sync export' | 'sync import', options: Readonly<Record<string, unknown>>): StartedCommand =>
  startCommand(name, { person: admin, server }, { kubeconfig, ...options });

const profiles = (): string[] => [...hub.objects(PROFILES).keys()].sort();

describe('clusterpass sync export', () => {
  const once = ['sync', 'export', '--kubeconfig', 'hub.yaml', '--namespace', 'inv', '--once'];

  it('CP-86: writes the selected clusters once, and nothing the second time', async () => {
    const dry = await admin.ok([...once, '-l', 'env=prod', '--dry-run', 'client']);
    expect(dry).toContain('clusterprofile.multicluster.x-k8s.io/inv/prod-1 created (dry run)\n');
    expect(await admin.ok([...once, '-l', 'env=prod', '--dry-run', 'server'])).toContain('(server dry run)');
    expect(hub.writes).toEqual([]);
    await admin.ok([...once, '-l', 'env=prod', '--endpoint-for', '10.1.2.3']);
    expect(profiles()).toEqual(['inv/prod-1', 'inv/prod-2']);
    const text = JSON.stringify(hub.objects(PROFILES).get('inv/prod-1'));
    expect(text).toContain('"server":"https://10.0.0.1:6443"');
    expect(text).toContain(`"clusterpass.dev/exported-from":"${server.url}"`);
    expect(text).not.toContain('secret');
    hub.writes.length = 0;
    expect(await admin.ok([...once, '-l', 'env=prod', '--endpoint-for', '10.1.2.3'])).toBe('');
    expect(hub.writes).toEqual([]);
  });

  it('CP-86: a caller who sees an empty fleet does not empty the hub', async () => {
    const { code, stderr } = await admin.run([...once, '-l', 'env=none', '--prune', '--max-delete', '1']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('2 objects would be deleted, more than --max-delete 1'),
    ]);
    expect(profiles()).toHaveLength(2);
    await admin.ok([...once, '-l', 'env=none', '--prune', '--max-delete', '2']);
    expect(profiles()).toEqual([]);
  });

  it('needs no more in the hub than the Role of its manifest', () => {
    const text = readFileSync(new URL('../../deploy/kubernetes/examples/sync-export.yaml', import.meta.url), 'utf8');
    const role = parseAllDocuments(text)
      .map((document) => document.toJS())
      .find(({ kind }) => kind === 'Role');
    const granted = new Set<string>(
      role.rules.flatMap(({ verbs, resources }: { verbs: string[]; resources: string[] }) =>
        verbs.map((verb) => `${verb} ${resources[0]}`),
      ),
    );
    const needed = hub.requests.flatMap((request) => {
      const [method = '', path = ''] = request.split(' ');
      const [, rest, query] = /\/clusterprofiles([^?]*)(.*)$/.exec(path) ?? [];
      if (rest === undefined) return [];
      if (rest.endsWith('/status')) return ['patch clusterprofiles/status'];
      const read = query?.includes('watch=true') ? 'watch' : rest === '' ? 'list' : 'get';
      const verbs: Record<string, string[]> = { GET: [read], PATCH: ['create', 'patch'], DELETE: ['delete'] };
      return (verbs[method] ?? [method]).map((verb) => `${verb} clusterprofiles`);
    });
    expect([...new Set(needed)].filter((each) => !granted.has(each))).toEqual([]);
    expect(needed).toContain('delete clusterprofiles');
  });

  it('follows the fleet while the hub and the server restart', async () => {
    await hub.stop();
    const sync = start('sync export', {
      namespace: 'inv',
      selector: 'env=prod',
      prune: true,
      pruneWindow: '100ms',
      metricsListen: '127.0.0.1:0',
    });
    await expect.poll(() => sync.written.err).toContain('TargetConnected=False');
    await hub.start();
    await expect.poll(profiles).toHaveLength(2);
    await expect.poll(() => sync.written.err).toContain('Synced=True');

    const metricsUrl = /http:\S+\/metrics/.exec(sync.written.err)?.[0] ?? '';
    expect(await (await fetch(metricsUrl)).text()).toContain('clusterpass_sync_condition{type="Synced"} 1');
    expect((await fetch(metricsUrl.replace('metrics', 'readyz'))).status).toBe(200);

    await relabel(server, 'dev-1', { env: 'prod' });
    await expect.poll(profiles).toHaveLength(3);
    const readiness = async (): Promise<number> => (await fetch(metricsUrl.replace('metrics', 'readyz'))).status;
    await server.stop();
    await expect.poll(readiness).toBe(503);
    await server.restart();
    await expect.poll(readiness).toBe(200);
    await hub.stop();
    await expect.poll(readiness).toBe(503);
    await hub.start();
    await expect.poll(readiness).toBe(200);
    await removeCluster(server, 'dev-1');
    await expect.poll(profiles).toHaveLength(2);
    expect(await sync.stop()).toBe(0);
    expect(sync.written.out).toContain('/inv/dev-1 deleted\n');
  });
});

describe('clusterpass sync import', () => {
  const CAPI = 'cluster.x-k8s.io/clusters';
  const once = ['sync', 'import', '--from', 'capi', '--kubeconfig', 'hub.yaml', '--hub-name', 'hub', '-A', '--once'];
  const ADMIN_KEY = Buffer.from('the key of an administrator').toString('base64');
  let ca: string;

  const addCapi = (name: string, host: string, labels: Record<string, string> = {}): void => {
    hub.put('/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-kubeconfig`, namespace: 'team', labels: { 'cluster.x-k8s.io/cluster-name': name } },
      type: 'cluster.x-k8s.io/secret',
      data: { value: Buffer.from(kubeconfigOf(`https://${host}:6443`)).toString('base64') },
    });
    hub.put(CAPI, {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, namespace: 'team', labels },
      spec: { controlPlaneEndpoint: { host, port: 6443 } },
      status: {
        initialization: { controlPlaneInitialized: true },
        conditions: [
          { type: 'Available', status: 'True', reason: 'Available', lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    });
  };
  const kubeconfigOf = (address: string): string =>
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'admin' } }],
      clusters: [{ name: 'c', cluster: { server: address, 'certificate-authority-data': ca } }],
      users: [{ name: 'admin', user: { 'client-key-data': ADMIN_KEY } }],
    });
  const clusterOf = async (name: string) => (await server.call('GET', `${CLUSTERS}/${name}`)).json;
  const names = async (): Promise<string[]> =>
    (await server.call('GET', CLUSTERS)).json.items.map((item: { metadata: { name: string } }) => item.metadata.name);

  beforeAll(() => {
    ca = Buffer.from(createAuthority('CA of team').cert).toString('base64');
    addCapi('team-1', '10.0.1.1', { env: 'prod', 'protected.clusterpass.dev/tier': 'gold' });
    addCapi('team-2', '10.0.1.2');
    // Registered by people, under a name that the hub has, too.
    addCapi('prod-1', '10.0.1.3');
  });

  it('CP-88 to CP-91: registers clusters with address and CA, without labels and without a credential', async () => {
    const before = await clusterOf('prod-1');
    const { code, stdout, stderr } = await admin.run([...once, '--ready']);
    expect([code, stdout.trim().split('\n').sort()]).toEqual([
      1,
      ['cluster.clusterregistry.k8s.io/team-1 created', 'cluster.clusterregistry.k8s.io/team-2 created'],
    ]);
    expect(stderr).toContain('prod-1 exists and is not of this synchronization');
    expect(await clusterOf('prod-1')).toEqual(before);
    const imported = await clusterOf('team-1');
    expect(imported).toMatchObject({
      metadata: { annotations: { 'clusterpass.dev/imported-from': 'capi/hub/team/team-1' } },
      spec: { orchestratorApiEndpoints: { caBundle: ca } },
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'HubAvailable' }] },
    });
    expect(imported.metadata.labels ?? {}).toEqual({});
    expect(JSON.stringify(imported)).not.toContain(ADMIN_KEY);
    expect([code, stdout, stderr].join()).not.toContain(ADMIN_KEY);

    const version = imported.metadata.resourceVersion;
    expect((await admin.run([...once, '--ready'])).stdout).toBe('');
    expect((await clusterOf('team-1')).metadata.resourceVersion).toBe(version);
  });

  it('CP-89: adds and removes labels that are named, and leaves those of others', async () => {
    await relabel(server, 'team-1', { theirs: 'x' });
    await admin.run([...once, '--ready', '--copy-label', 'env', '--set-label', 'from=capi']);
    expect((await clusterOf('team-1')).metadata.labels).toEqual({ theirs: 'x', env: 'prod', from: 'capi' });
    await admin.run([...once, '--ready']);
    expect((await clusterOf('team-1')).metadata.labels).toEqual({ theirs: 'x' });
  });

  it('ends with 1 if a Secret cannot be read, and with 0 if a cluster has no address yet', async () => {
    const other = await new FakeHub({ 'cluster.x-k8s.io': ['v1beta2'] }).start();
    onTestFinished(() => other.stop());
    await writeFile(join(admin.home, 'other.yaml'), other.kubeconfig);
    const put = (name: string, spec: object): ApiObject =>
      other.put(CAPI, {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name, namespace: 'team' },
        spec,
        status: { initialization: { controlPlaneInitialized: true } },
      });
    const imports = () =>
      admin.run(['sync', 'import', '--from', 'capi', '--kubeconfig', 'other.yaml', '-A', '--once', '--hub-name', 'eu']);
    put('new-1', {});
    const waiting = await imports();
    expect([waiting.code, waiting.stderr]).toEqual([0, expect.stringContaining('is not set yet')]);
    other.fault = (_, path) => (path.includes('/secrets/') ? { code: 403 } : undefined);
    put('new-2', { controlPlaneEndpoint: { host: '10.0.5.1', port: 6443 } });
    const refused = await imports();
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Synced=False: 1 object of the source cannot be synchronized'),
    ]);
  });

  it('needs to update clusters, because their public view has no mark', async () => {
    const verbs = ['get', 'list', 'watch', 'create', 'patch'];
    const rule = (more: string[]) => ({
      verbs: [...verbs, ...more],
      apiGroups: [REGISTRY_GROUP],
      resources: ['clusters'],
    });
    const env = { CLUSTERPASS_TOKEN: tokenOf('importer') };
    const take = await grant(server, { to: 'importer', rules: [rule([])] });
    expect((await admin.run(once, { env })).stderr).toContain('team-1 exists and is not of this synchronization');
    await take();
    await grant(server, { to: 'importer', rules: [rule(['update'])] });
    expect((await admin.run(once, { env })).stderr).not.toContain('team-1 ');
  });

  it('CP-89: does not start in a Pod without --hub-name, whose default many hubs have', async () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const inPod = ['sync', 'import', '--from', 'capi', '-A', '--prune', '--once'];
    expect(await admin.fails(inPod, { env })).toBe(
      'error: --hub-name is required in a Pod: the default would be the address 10.96.0.1, which is the same in many ' +
        'clusters, and with --prune hubs of one name delete the clusters of each other\n',
    );
    expect(await admin.fails([...inPod, '--hub-name', 'eu'], { env })).not.toContain('--hub-name');
  });

  it('follows the hub across restarts, and keeps clusters whose Secret cannot be read', async () => {
    const sync = start('sync import', {
      from: 'capi',
      hubName: 'hub',
      allNamespaces: true,
      ready: true,
      prune: true,
      pruneWindow: '100ms',
    });
    await expect.poll(() => sync.written.err).toMatch(/\d names? taken/);
    hub.fault = (_, path) => (path.endsWith('/secrets/team-1-kubeconfig') ? { code: 403 } : undefined);
    addCapi('team-1', '10.0.1.9');
    hub.remove(CAPI, 'team/team-2');
    await expect.poll(names).not.toContain('team-2');
    expect(JSON.stringify(await clusterOf('team-1'))).toContain('https://10.0.1.1:6443');
    expect(sync.written.err).toContain('team/team-1: the Secret team-1-kubeconfig cannot be read');
    hub.fault = () => undefined;
    await hub.stop();
    await hub.start();
    addCapi('team-3', '10.0.1.4');
    await expect.poll(names).toContain('team-3');
    await expect.poll(async () => JSON.stringify(await clusterOf('team-1'))).toContain('https://10.0.1.9:6443');
    expect(await names()).toContain('prod-1');
    await sync.stop();
  });
});
