import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { failure } from './support/expect-status.ts';
import { addCluster, grantClusters, PUBLIC_LIST, removeCluster, revisionNow } from './support/fleet.ts';
import {
  create,
  createAccount,
  createNamespace,
  createPod,
  inNamespace,
  issue,
  remove,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

const server = sharedServer();

beforeAll(async () => {
  await addCluster(server, 'alpha', { labels: { env: 'dev' } });
  await createNamespace(server, 'ci');
});

const UNAUTHORIZED = {
  type: 'ERROR',
  object: failure({ message: 'Unauthorized', reason: 'Unauthorized', code: 401 }),
};

describe('A18, decision 13: the watch ends with the credential', () => {
  /** All that a token depends on: src/tokens/dependencies.test.ts. */
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
    object: failure({
      message: `${message} in API group "" in the namespace "ci"`,
      reason: 'Forbidden',
      details: { ...(message.startsWith('pods "') ? { name: 'web' } : {}), kind: 'pods' },
      code: 403,
    }),
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
