import { expect, it } from 'vitest';
import { create, remove } from './support/objects.ts';
import { RBAC, RBAC_GROUP } from './support/paths.ts';
import { user } from './support/rbac.ts';
import { sharedServer } from './support/shared-server.ts';

const server = sharedServer();

const AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';
const ROLES = [
  'cluster-admin',
  'clusterpass:access-approver',
  'clusterpass:access-requester',
  'clusterpass:pass-approver',
  'clusterpass:token-creator',
  'clusterpass:token-revoker',
  'clusterpass:viewer',
  'system:basic-user',
  'system:discovery',
  'system:monitoring',
];
const patch = (path: string, body: object) => server.call('PATCH', `${RBAC}/${path}`, { body });
const get = async (path: string) => (await server.call('GET', `${RBAC}/${path}`)).json;
const namesOf = async (resource: string): Promise<string[]> =>
  (await get(resource)).items.map((item: { metadata: { name: string } }) => item.metadata.name);

it('P-21: a restart restores default roles that were changed or deleted, unless their annotation forbids it, and writes no other', async () => {
  const fresh = { roles: await get('clusterroles'), bindings: await get('clusterrolebindings') };
  await remove(server, `${RBAC}/clusterroles/clusterpass:viewer`);
  await patch('clusterroles/clusterpass:token-creator', {
    rules: [],
    metadata: { annotations: null, labels: { own: 'x' } },
  });
  const kept = await patch('clusterroles/system:discovery', {
    rules: [],
    metadata: { annotations: { [AUTO_UPDATE]: 'false' } },
  });
  // The role of a binding cannot be changed, but the binding can be deleted and created again.
  await remove(server, `${RBAC}/clusterrolebindings/cluster-admin`);
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'cluster-admin' },
    subjects: [user('jane')],
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'clusterpass:viewer' },
  });
  await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'my-own' }, rules: [] });
  const [role, monitoring] = ['clusterroles/clusterpass:token-revoker', 'clusterrolebindings/system:monitoring'];
  const before = { rules: (await get(role)).rules, subjects: (await get(monitoring)).subjects };
  const secrets = { verbs: ['get'], apiGroups: [''], resources: ['secrets'] };
  const added = [
    await patch(role, { rules: [...before.rules, secrets] }),
    await patch(monitoring, { subjects: [...before.subjects, user('jane')] }),
  ];
  expect(added.map(({ code }) => code)).toEqual([200, 200]);
  const untouched = ['clusterroles/system:basic-user', 'clusterrolebindings/system:discovery'];
  const unchanged = await Promise.all(untouched.map(get));
  expect(await server.stop()).toBe(0);
  await server.restart();
  expect(await Promise.all(untouched.map(get))).toEqual(unchanged);
  expect({ rules: (await get(role)).rules, subjects: (await get(monitoring)).subjects }).toEqual(before);

  expect(await namesOf('clusterroles')).toEqual([...ROLES, 'my-own'].sort());
  expect(await get('clusterroles/system:discovery')).toEqual(kept.json);
  const rulesOf = (list: { items: { metadata: { name: string }; rules: object }[] }, name: string) =>
    list.items.find(({ metadata }) => metadata.name === name)?.rules;
  for (const name of ['clusterpass:viewer', 'clusterpass:token-creator']) {
    expect((await get(`clusterroles/${name}`)).rules).toEqual(rulesOf(fresh.roles, name));
  }
  const restored = await get('clusterroles/clusterpass:token-creator');
  expect(restored.metadata.annotations).toEqual({ [AUTO_UPDATE]: 'true' });
  expect(restored.metadata.labels).toEqual({ own: 'x', 'kubernetes.io/bootstrapping': 'rbac-defaults' });
  const binding = await get('clusterrolebindings/cluster-admin');
  const { subjects, roleRef } = fresh.bindings.items[0];
  expect({ subjects: binding.subjects, roleRef: binding.roleRef }).toEqual({ subjects, roleRef });
});
