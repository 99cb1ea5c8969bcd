import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCluster, CLUSTERS, listAs, namesIn, RBAC } from './support/fleet.ts';
import { type Server, startServer } from './support/server.ts';
import {
  ASK,
  asUser,
  create,
  createAccount,
  createNamespace,
  inNamespace,
  post,
  tokenPath,
} from './support/token-world.ts';

/** P-20: the roles that come with the program, by what their holders can and can not do. */

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { viewer: [], issuer: [], admin2: [] } });
  await addCluster(server, 'alpha');
  await createNamespace(server, 'ci');
  await createAccount(server, 'builder');
  for (const [user, role] of [
    ['viewer', 'clusterpass:viewer'],
    ['issuer', 'clusterpass:token-creator'],
    ['admin2', 'cluster-admin'],
  ] as const) {
    await create(server, `${RBAC}/clusterrolebindings`, {
      metadata: { name: `test-${user}` },
      subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    });
  }
});
afterAll(() => server.destroy());

describe('P-20: the roles that are there', () => {
  it.each(['edit', 'admin', 'view'])('%s is not among them', async (name) => {
    expect((await server.call('GET', `${RBAC}/clusterroles/${name}`)).code).toBe(404);
  });

  it.each([
    ['viewer', { lists: ['alpha'], get: 200, token: 403, pods: 403, edit: 403, roles: 403 }],
    ['issuer', { lists: [], get: 403, token: 201, pods: 403, edit: 403, roles: 403 }],
    ['admin2', { lists: ['alpha'], get: 200, token: 201, pods: 200, edit: 200, roles: 200 }],
  ])('%s', async (user, can) => {
    const call = async (method: string, path: string, body?: object): Promise<number> =>
      (
        await server.call(method, path, {
          ...asUser(user),
          body,
          ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/merge-patch+json' } }),
        })
      ).code;
    expect({
      lists: namesIn(await listAs(server, user)),
      get: await call('GET', `${CLUSTERS}/alpha`),
      token: (await post(server, ASK, { path: tokenPath(), ...asUser(user) })).code,
      pods: await call('GET', inNamespace('pods')),
      edit: await call('PATCH', `${CLUSTERS}/alpha`, { metadata: { annotations: { note: user } } }),
      roles: await call('GET', `${RBAC}/clusterroles`),
    }).toEqual(can);
  });
});
