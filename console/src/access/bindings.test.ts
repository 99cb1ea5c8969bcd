import { expect, it, onTestFinished } from 'vitest';
import type { ApiError } from '../../../src/api/status.ts';
import { type Client, createClient, StatusError } from '../../../src/client/index.ts';
import { json, type Responder, scriptServer, status } from '../../../src/client/script-server.fixture.ts';
import type { JsonValue } from '../../../src/lib/json.ts';
import { applyJsonPatch } from '../../../src/objects/patches/json-patch.ts';
import { servePages } from '../paged-server.fixture.ts';
import {
  type Binding,
  changeScope,
  deleteBinding,
  keepSubjects,
  listBindings,
  lossOf,
  scopeOfGrant,
} from './bindings.ts';

it('lists the bindings again as one page if the server no longer has the version of the first pages', async () => {
  const binding = (name: string) => ({ metadata: { name }, roleRef: { kind: 'ClusterRole', name: 'view' } });
  const client = await servePages([[binding('a')], [binding('b')]], { expires: true });
  const names = (await listBindings(client)).map(({ kind, name }) => `${kind} ${name}`);
  const kinds = ['FleetRoleBinding', 'ClusterRoleBinding', 'RoleBinding'];
  expect(names).toEqual(kinds.flatMap((kind) => [`${kind} a`, `${kind} b`]));
});

it('shows the fields and the reach of a FleetRoleBinding', async () => {
  const spec = {
    subjects: [{ kind: 'Group', name: 'team' }],
    roleRef: { kind: 'ClusterRole', name: 'view' },
    clusters: { names: ['a', 'b'] },
    namespaces: ['shop', 'ci'],
    expiresAt: '2026-12-01T10:00:00Z',
  };
  const status = { clusters: 2, conditions: [{ type: 'RoleMissing', message: 'There is no such role.' }] };
  const [binding] = await listBindings(await servePages([[{ metadata: { name: 'x' }, spec, status }]]));
  expect(binding).toMatchObject({
    ...{ kind: 'FleetRoleBinding', namespace: 'shop, ci', role: 'ClusterRole view', clusters: { names: ['a', 'b'] } },
    ...{ reach: 2, problem: 'There is no such role.', expiresAt: '2026-12-01T10:00:00Z' },
  });
});

it('knows the clusters that a role names, if it allows nothing elsewhere', async () => {
  const rule = (resourceNames: string[], group = 'clusterregistry.k8s.io') => ({
    ...{ apiGroups: [group], resources: ['clusters'], verbs: ['get'] },
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
  });
  // Each is a role, and a binding of the role with its name.
  const item = (name: string, rules: object[] | null) => ({
    ...{ metadata: { name }, rules, roleRef: { kind: 'ClusterRole', name } },
  });
  const items = [
    item('named', [rule(['a']), rule(['a', 'b'])]),
    item('wide', [rule(['a']), rule([])]),
    item('other', [rule(['a'], '')]),
    item('empty', null),
  ];
  const bindings = (await listBindings(await servePages([items]))).filter(({ kind }) => kind === 'ClusterRoleBinding');
  expect(bindings.map(({ names }) => names)).toEqual([['a', 'b'], undefined, undefined, undefined]);
  expect(bindings.map(scopeOfGrant)).toEqual([{ names: ['a', 'b'] }, { all: true }, { all: true }, { all: true }]);
});

it('lists bindings without the names of roles only for a user who may not read roles', async () => {
  const item = { metadata: { name: 'a' }, roleRef: { kind: 'ClusterRole', name: 'view' } };
  const listWith = async (code: number) => {
    const respond: Responder = (response, request) =>
      (request.url?.includes('/clusterroles') ? status(code, 'Refused') : json(200, { metadata: {}, items: [item] }))(
        response,
        request,
      );
    const server = await scriptServer(Array<Responder>(4).fill(respond));
    onTestFinished(server.close);
    return listBindings(createClient({ server: server.url, token: 'token' }));
  };
  expect(await listWith(403)).toHaveLength(3);
  await expect(listWith(400)).rejects.toThrow('Refused');
});

const BINDING: Binding = {
  kind: 'RoleBinding',
  namespace: 'shop',
  name: 'a',
  uid: 'u-1',
  role: 'Role deployer-token',
  subjects: [
    { kind: 'User', name: 'jane' },
    { kind: 'Group', name: 'team' },
  ],
  clusters: { selector: { matchLabels: { env: 'dev' } } },
  reach: undefined,
  problem: '',
  expiresAt: '',
  manifest: '',
  searchText: '',
};

it('names the manifest that a binding comes from', async () => {
  const annotations = { 'clusterpass.dev/manifest': 'manifests:team/rbac.yaml' };
  const client = await servePages([[{ metadata: { name: 'a', annotations } }, { metadata: { name: 'b' } }]]);
  const bindings = (await listBindings(client)).filter(({ kind }) => kind === 'RoleBinding');
  expect(bindings.map(({ manifest }) => manifest)).toEqual(['team/rbac.yaml', '']);
});

it('deletes the binding that was shown, not a later one of its name', async () => {
  const sent: unknown[] = [];
  const client = { request: async (...call: unknown[]) => sent.push(call) } as unknown as Client;
  await deleteBinding(client, BINDING);
  await deleteBinding(client, { ...BINDING, kind: 'ClusterRoleBinding', namespace: '' });
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const body = expect.objectContaining({ preconditions: { uid: 'u-1' } });
  expect(sent).toEqual([
    ['DELETE', `${rbac}/namespaces/shop/rolebindings/a`, { body }],
    ['DELETE', `${rbac}/clusterrolebindings/a`, { body }],
  ]);
});

it('replaces where and until when the binding holds, of the binding that was shown', async () => {
  const sent: unknown[] = [];
  const client = { request: async (...call: unknown[]) => sent.push(call) } as unknown as Client;
  await changeScope(client, { ...BINDING, kind: 'FleetRoleBinding' }, { clusters: { all: true }, expiresAt: '' });
  const clusters = { all: true, names: null, uid: null, selector: null };
  expect(sent).toMatchObject([
    [
      'PATCH',
      '/apis/clusterpass.dev/v1alpha1/fleetrolebindings/a',
      { body: { metadata: { uid: 'u-1' }, spec: { clusters, expiresAt: null } } },
    ],
  ]);
});

it('keeps the other subjects of the binding that was shown, unless they have changed; its status may', async () => {
  const [jane, team] = [
    { kind: 'User', name: 'jane' },
    { kind: 'Group', name: 'team' },
  ];
  const removeFrom = async (uid: string, subjects: JsonValue[]): Promise<unknown> => {
    const stored = { metadata: { uid, resourceVersion: '8' }, spec: { subjects }, status: { clusters: 2 } };
    let kept: unknown;
    const request = async (_: string, path: string, { body }: { body: JsonValue }) => {
      expect(path).toBe('/apis/clusterpass.dev/v1alpha1/fleetrolebindings/a');
      try {
        kept = applyJsonPatch(stored, body);
      } catch (error) {
        throw new StatusError((error as ApiError).status);
      }
    };
    await keepSubjects({ request } as unknown as Client, { ...BINDING, kind: 'FleetRoleBinding' }, [team]);
    return kept;
  };
  expect(await removeFrom('u-1', [jane, team])).toMatchObject({ spec: { subjects: [team] }, status: { clusters: 2 } });
  for (const changed of [removeFrom('u-2', [jane, team]), removeFrom('u-1', [jane, team, { ...team, name: 'ops' }])])
    await expect(changed).rejects.toThrow('Its subjects have changed meanwhile');
});

it('a binding that another user has deleted is deleted; any other error is one', async () => {
  const server = await scriptServer([status(404, 'NotFound'), status(409, 'Conflict')]);
  onTestFinished(server.close);
  const client = createClient({ server: server.url, token: 'token' });
  await expect(deleteBinding(client, BINDING)).resolves.toBeUndefined();
  await expect(deleteBinding(client, BINDING)).rejects.toMatchObject({ code: 409 });
});

it.each<[Partial<Binding>, string]>([
  [{}, 'User jane and Group team lose Role deployer-token in the namespace shop of clusters with env=dev'],
  [
    { namespace: '', clusters: { all: true }, role: 'ClusterRole view', subjects: [{ kind: 'User', name: 'jane' }] },
    'User jane loses ClusterRole view in all clusters',
  ],
  [
    { clusters: { all: true }, subjects: [{ kind: 'ServiceAccount', namespace: 'ci', name: 'builder' }] },
    'ServiceAccount ci/builder loses Role deployer-token in the namespace shop of all clusters',
  ],
  [
    { namespace: '', clusters: { all: true }, names: ['a'] },
    'User jane and Group team lose Role deployer-token in the cluster a',
  ],
  [{ namespace: '', clusters: { names: ['a'] } }, 'User jane and Group team lose Role deployer-token in the cluster a'],
])('without %j: %s', (change, text) => {
  expect(lossOf({ ...BINDING, ...change })).toBe(`${text}, unless another binding grants the same.`);
});

it('without a binding that has no subjects: no one loses access', () => {
  expect(lossOf({ ...BINDING, subjects: [] })).toBe('No one loses access: it has no subjects.');
});
