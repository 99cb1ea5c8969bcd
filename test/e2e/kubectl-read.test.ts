import { beforeAll, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { describeWithKubectl, kubectl, kubectlOk } from './support/kubectl.ts';
import { create, remove } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** Commands that read, with the real kubectl, at the fleet and at a cluster. */

const ALPHA = { clusterPath: '/orchestrator/alpha' } as const;
const server = sharedTlsServer();

async function addCluster(name: string, env: string, type: string): Promise<void> {
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://${name}.example.com:6443` }];
  const authInfo = { user: { kind: 'Secret', name: 'hidden', namespace: 'x' } };
  await create(server, CLUSTERS, {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name, labels: { env } },
    spec: { orchestratorApiEndpoints: { serverEndpoints }, authInfo },
    status: { type, version: 'v1.36.4', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  const body = { status: { type, version: 'v1.36.4', conditions: [{ type: 'Ready', status: 'True' }] } };
  expect((await server.call('PATCH', `${CLUSTERS}/${name}/status`, { body })).code).toBe(200);
}

beforeAll(async () => {
  await addCluster('alpha', 'prod', 'EKS');
  await addCluster('beta', 'dev', 'k3s');
  await addCluster('gamma', 'dev', 'k3s');
  await create(server, '/orchestrator/alpha/api/v1/namespaces', { metadata: { name: 'ci' } });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }];
  await create(server, `${rbac}/clusterroles`, { metadata: { name: 'view-clusters' }, rules });
  const subjects = ['viewer', { kind: 'Group', name: 'devs' }, 'kim'];
  const to = [...subjects, { kind: 'ServiceAccount', namespace: 'ci', name: 'builder' }];
  const name = 'view-clusters';
  await create(server, FLEET_BINDINGS, fleetBinding({ name, to, role: name, clusters: 'env=dev' }));
  await create(server, `${rbac}/namespaces/ci/roles`, { metadata: { name: 'in-ci' }, rules });
  await create(server, `${rbac}/namespaces/ci/rolebindings`, {
    metadata: { name: 'in-ci' },
    subjects: [{ kind: 'User', name: 'viewer' }],
    roleRef: { kind: 'Role', name: 'in-ci' },
  });
});

const lines = (text: string): string[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(/\s{2,}/).map((cell) => cell.trim()));

describeWithKubectl('kubectl looks around', () => {
  it('api-resources, at the fleet', async () => {
    const rows = lines(await kubectlOk(server, ['api-resources', '--no-headers', '-o', 'name'])).flat();
    expect(rows).toEqual(
      expect.arrayContaining([
        'clusters.clusterregistry.k8s.io',
        'clusterroles.rbac.authorization.k8s.io',
        'clusterrolebindings.rbac.authorization.k8s.io',
        'roles.rbac.authorization.k8s.io',
        'rolebindings.rbac.authorization.k8s.io',
      ]),
    );
    const readable = await kubectlOk(server, ['api-resources', '--verbs=list', '-o', 'name']);
    expect(lines(readable).flat()).not.toContain('pods');
  });

  it('api-resources, at a cluster', async () => {
    const rows = lines(await kubectlOk(server, ['api-resources', '--no-headers', '-o', 'name'], ALPHA)).flat();
    expect(rows).toEqual(expect.arrayContaining(['namespaces', 'pods', 'secrets', 'serviceaccounts']));
    expect(rows).not.toContain('clusters.clusterregistry.k8s.io');
    expect(await kubectlOk(server, ['api-versions'], ALPHA)).toMatch(/^v1$/m);
  });

  it('explain describes every field', async () => {
    const text = await kubectlOk(server, ['explain', 'cluster.spec.orchestratorApiEndpoints']);
    expect(text).toContain('Certificate authorities of the API server, PEM in base64.');
    for (const [what, at] of [
      ['cluster', {}],
      ['cluster.spec', {}],
      ['cluster.status.conditions', {}],
      ['clusterrole.rules', {}],
      ['rolebinding.subjects', {}],
      ['fleetrolebinding.spec.clusters.selector.matchExpressions', {}],
      ['serviceaccount', ALPHA],
      ['pod.spec', ALPHA],
      ['secret', ALPHA],
      ['namespace.metadata', ALPHA],
    ] as const) {
      const explained = await kubectlOk(server, ['explain', what], at);
      expect(explained, what).not.toMatch(/<no description>|<empty>/);
    }
  });

  it('get: a table', async () => {
    const rows = lines(await kubectlOk(server, ['get', 'clusters']));
    expect(rows[0]).toEqual(['NAME', 'READY', 'TYPE', 'VERSION', 'AGE']);
    expect(rows.slice(1).map((row) => row.slice(0, 4))).toEqual([
      ['alpha', 'True', 'EKS', 'v1.36.4'],
      ['beta', 'True', 'k3s', 'v1.36.4'],
      ['gamma', 'True', 'k3s', 'v1.36.4'],
    ]);
    expect(rows.slice(1).every(([, , , , age]) => /^\d+[smh]/.test(age ?? ''))).toBe(true);
    const wide = lines(await kubectlOk(server, ['get', 'clusters', '-o', 'wide']));
    expect(wide[0]?.slice(5)).toEqual(['REASON', 'ENDPOINT', 'LABELS']);
    // No cluster has a reason: all are ready.
    expect(wide.slice(1).map((row) => row.slice(5))).toEqual([
      ['https://alpha.example.com:6443', 'env=prod'],
      ['https://beta.example.com:6443', 'env=dev'],
      ['https://gamma.example.com:6443', 'env=dev'],
    ]);
  });

  it('B-02: get: the columns of RBAC kinds are those of kube-apiserver, and the clusters of a binding', async () => {
    const [header, row] = lines(await kubectlOk(server, ['get', 'frb', 'view-clusters', '-o', 'wide']));
    expect(header).toEqual([
      ...['NAME', 'ROLE', 'CLUSTERS', 'REACHES', 'NAMESPACES', 'EXPIRES', 'PROBLEM', 'AGE'],
      ...['USERS', 'GROUPS', 'SERVICEACCOUNTS'],
    ]);
    expect(row?.slice(0, 3)).toEqual(['view-clusters', 'ClusterRole/view-clusters', 'env=dev']);
    expect(row?.slice(-3)).toEqual(['viewer, kim', 'devs', 'ci/builder']);
    const everywhere = lines(await kubectlOk(server, ['get', 'rolebinding', 'in-ci', '-n', 'ci', '-o', 'wide']));
    expect(everywhere[0]).toEqual(['NAME', 'ROLE', 'AGE', 'USERS', 'GROUPS', 'SERVICEACCOUNTS']);
    expect(everywhere[1]?.[1]).toBe('Role/in-ci');
    const bySubject = ['get', 'frb', '--field-selector', 'spec.subjects.name=kim,spec.roleRef.name=view-clusters'];
    expect(await kubectlOk(server, [...bySubject, '-o', 'name'])).toBe(
      'fleetrolebinding.clusterpass.dev/view-clusters\n',
    );
    expect(await kubectlOk(server, ['get', 'frb', '--field-selector', 'spec.subjects.name=ki', '-o', 'name'])).toBe('');
    for (const of of [
      ['clusterrole', 'view-clusters'],
      ['role', 'in-ci', '-n', 'ci'],
    ]) {
      const [titles, cells] = lines(await kubectlOk(server, ['get', ...of]));
      expect(titles).toEqual(['NAME', 'CREATED AT']);
      expect(cells?.[1]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    }
  });

  it.each<[string, object, string[], string[]]>([
    ['namespaces', {}, ['NAME', 'STATUS', 'AGE'], ['shown', 'Active']],
    ['serviceaccounts', { secrets: [{ name: 'a' }, { name: 'b' }] }, ['NAME', 'SECRETS', 'AGE'], ['shown', '2']],
    ['secrets', {}, ['NAME', 'TYPE', 'AGE'], ['shown', 'Opaque']],
    [
      'pods',
      { spec: { nodeName: 'node-1' } },
      ['NAME', 'SERVICE ACCOUNT', 'NODE', 'AGE'],
      ['shown', 'default', 'node-1'],
    ],
  ])('B-02: get %s: the columns of stored fields', async (resource, content, header, cells) => {
    const path = `/orchestrator/alpha/api/v1/${resource === 'namespaces' ? '' : 'namespaces/ci/'}${resource}`;
    await create(server, path, { metadata: { name: 'shown' }, ...content });
    const rows = lines(await kubectlOk(server, ['get', resource, 'shown', '-n', 'ci'], ALPHA));
    await remove(server, `${path}/shown`);
    expect([rows[0], rows[1]?.slice(0, -1)]).toEqual([header, cells]);
  });

  it.each<[string, string[], string]>([
    [
      'name',
      ['-o', 'name'],
      'cluster.clusterregistry.k8s.io/alpha\ncluster.clusterregistry.k8s.io/beta\ncluster.clusterregistry.k8s.io/gamma\n',
    ],
    ['jsonpath', ['-o', 'jsonpath={.items[*].status.type}'], 'EKS k3s k3s'],
    [
      'custom-columns',
      ['-o', 'custom-columns=N:.metadata.name,E:.metadata.labels.env'],
      'N       E\nalpha   prod\nbeta    dev\ngamma   dev\n',
    ],
    ['-l', ['-l', 'env=dev', '-o', 'jsonpath={.items[*].metadata.name}'], 'beta gamma'],
    ['-l with a set', ['-l', 'env notin (dev)', '-o', 'name'], 'cluster.clusterregistry.k8s.io/alpha\n'],
    [
      '--field-selector',
      ['--field-selector', 'metadata.name=beta', '-o', 'name'],
      'cluster.clusterregistry.k8s.io/beta\n',
    ],
    [
      '--field-selector of the status',
      ['--field-selector', 'status.type=EKS', '-o', 'name'],
      'cluster.clusterregistry.k8s.io/alpha\n',
    ],
    ['--chunk-size', ['--chunk-size', '1', '-o', 'jsonpath={.items[*].metadata.name}'], 'alpha beta gamma'],
  ])('get %s', async (_, args, output) => {
    expect(await kubectlOk(server, ['get', 'clusters', ...args])).toBe(output);
  });

  it('get as a viewer: only visible clusters, in the public view', async () => {
    const viewer = { token: tokenOf('viewer') };
    expect(await kubectlOk(server, ['get', 'clusters', '-o', 'jsonpath={.items[*].metadata.name}'], viewer)).toBe(
      'beta gamma',
    );
    expect(await kubectlOk(server, ['get', 'clusters', '-o', 'yaml'], viewer)).not.toContain('authInfo');
    const refused = await kubectl(server, ['get', 'cluster', 'alpha'], viewer);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^Error from server \(Forbidden\): clusters\.clusterregistry\.k8s\.io "alpha" is forbidden/,
    );
    expect((await kubectl(server, ['get', 'clusters'], { token: tokenOf('nobody') })).stderr).toBe(
      'No resources found\n',
    );
  });

  it('X-12: get -w follows what changes', async () => {
    let labelled = false;
    const { stdout } = await kubectl(server, ['get', 'clusters', '-l', 'env=dev', '-w', '-L', 'note'], {
      until: (text) => {
        // After the list is printed: the watch continues from its version, whether it is open already or not.
        if (!labelled && text.includes('gamma')) {
          labelled = true;
          void kubectlOk(server, ['label', 'cluster', 'gamma', 'note=changed']);
        }
        return text.includes('changed');
      },
    });
    expect(lines(stdout).map(([name]) => name)).toEqual(['NAME', 'beta', 'gamma', 'gamma']);
  });
});
