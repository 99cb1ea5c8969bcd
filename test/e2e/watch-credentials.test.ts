import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { addCluster, grantClusters, PUBLIC_LIST, removeCluster, revisionNow } from './support/fleet.ts';
import {
  create,
  createAccount,
  createNamespace,
  createPod,
  createSecret,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { type Server, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await addCluster(server, 'alpha', { labels: { env: 'dev' } });
  await createNamespace(server, 'ci');
});

const UNAUTHORIZED = {
  type: 'ERROR',
  object: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Unauthorized',
    reason: 'Unauthorized',
    code: 401,
  },
};

describe('A18, decision 13: the watch ends with the credential', () => {
  /** The object that the token depends on, and its deletion. */
  it.each<[string, () => Promise<{ token: string; end: () => Promise<void> }>]>([
    [
      'the account is deleted',
      async () => {
        await createAccount(server, 'sa-1');
        const end = () => remove(server, inNamespace('serviceaccounts/sa-1'));
        return { token: await issue(server, tokenPath('sa-1')), end };
      },
    ],
    [
      'the account is deleted and created again',
      async () => {
        await createAccount(server, 'sa-2');
        const end = async () => {
          await remove(server, inNamespace('serviceaccounts/sa-2'));
          await createAccount(server, 'sa-2');
        };
        return { token: await issue(server, tokenPath('sa-2')), end };
      },
    ],
    [
      'the pod it is bound to is deleted',
      async () => {
        await createAccount(server, 'sa-3');
        await createPod(server, 'pod-3', { serviceAccountName: 'sa-3' });
        const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'pod-3' };
        const end = () => remove(server, inNamespace('pods/pod-3'));
        return { token: await issue(server, tokenPath('sa-3'), { audiences: [], boundObjectRef }), end };
      },
    ],
    [
      'the secret it is bound to is deleted',
      async () => {
        await createAccount(server, 'sa-4');
        await createSecret(server, 'secret-4');
        const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 'secret-4' };
        const end = () => remove(server, inNamespace('secrets/secret-4'));
        return { token: await issue(server, tokenPath('sa-4'), { audiences: [], boundObjectRef }), end };
      },
    ],
    [
      'the namespace is deleted',
      async () => {
        await createNamespace(server, 'short');
        await createAccount(server, 'sa-5', 'short');
        const end = () => remove(server, '/orchestrator/alpha/api/v1/namespaces/short');
        return { token: await issue(server, tokenPath('sa-5', 'short')), end };
      },
    ],
    [
      'the cluster is deleted',
      async () => {
        await addCluster(server, 'beta');
        await createNamespace(server, 'ci', 'beta');
        await createAccount(server, 'sa-6', 'ci', 'beta');
        const end = () => removeCluster(server, 'beta');
        return { token: await issue(server, tokenPath('sa-6', 'ci', 'beta')), end };
      },
    ],
  ])('%s', async (_, prepare) => {
    const { token, end } = await prepare();
    const watches = await Promise.all([
      Watch.open(server, `${PUBLIC_LIST}?watch=true`, token),
      Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=1000000`, token),
    ]);
    await end();
    for (const watch of watches) expect((await watch.rest()).at(-1)).toEqual(UNAUTHORIZED);
  });

  it('the token file no longer has the token, or gives it to another user', async () => {
    const now = await revisionNow(server);
    const paths = [`${PUBLIC_LIST}?watch=true`, `${CLUSTERS}?watch=true&resourceVersion=${now}`];
    const jane = await Promise.all(paths.map((path) => Watch.open(server, path, tokenOf('jane'))));
    const joe = await Promise.all(paths.map((path) => Watch.open(server, path, tokenOf('joe'))));
    const stays = await Watch.open(server, `${PUBLIC_LIST}?watch=true`, tokenOf('pods'));
    const file = join(server.dataDir, 'users.csv');
    const before = await readFile(file, 'utf8');
    const rows = before.split('\n').filter((row) => !row.startsWith(tokenOf('jane')));
    const changed = rows.map((row) => (row.startsWith(tokenOf('joe')) ? row.replace(/"[^"]*"$/, '"other"') : row));
    await writeFile(file, changed.join('\n'));
    for (const watch of [...jane, ...joe]) expect((await watch.rest()).at(-1)).toEqual(UNAUTHORIZED);
    await grantClusters(server, 'pods-sees', 'pods', { names: ['alpha'] });
    expect((await stays.take(1)).map(brief)).toEqual(['ADDED alpha']);
    stays.close();
    // Other test files need these users.
    await writeFile(file, before);
    await expect.poll(async () => (await server.call('GET', PUBLIC_LIST, { token: tokenOf('jane') })).code).toBe(200);
  });
});

describe('decision 13: watches of other kinds end with the permission', () => {
  const podsPath = inNamespace('pods');
  const rule = { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] };

  async function bindPods(name: string, user: string, options: { clusters?: string; names?: string[] } = {}) {
    const { clusters, names } = options;
    await create(server, `${RBAC}/namespaces/ci/roles`, {
      metadata: { name },
      rules: [{ ...rule, resourceNames: names }],
    });
    const fields = { roleRef: { kind: 'Role', name }, namespaces: ['ci'] };
    await create(server, FLEET_BINDINGS, fleetBinding({ name, to: [user], role: name, clusters, fields }));
  }
  const forbidden = (user: string, message = `pods is forbidden: User "${user}" cannot watch resource "pods"`) => ({
    type: 'ERROR',
    object: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `${message} in API group "" in the namespace "ci"`,
      reason: 'Forbidden',
      details: { ...(message.startsWith('pods "') ? { name: 'web' } : {}), kind: 'pods' },
      code: 403,
    },
  });

  it('the binding is removed', async () => {
    await bindPods('pods-1', 'pods');
    const watch = await Watch.open(server, `${podsPath}?watch=true`, tokenOf('pods'));
    await createAccount(server, 'runner');
    await createPod(server, 'web', { serviceAccountName: 'runner' });
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED web']);
    await remove(server, `${FLEET_BINDINGS}/pods-1`);
    expect(await watch.rest()).toEqual([forbidden('pods')]);
  });
});
