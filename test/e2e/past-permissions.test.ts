import { beforeAll, describe, expect, it } from 'vitest';
import {
  addCluster,
  grantClusters,
  namesIn,
  patchCluster,
  relabel,
  removeCluster,
  revisionNow,
} from './support/fleet.ts';
import { create, createAccount, createNamespace, inNamespace, remove, tokenPath } from './support/objects.ts';
import { RBAC, RBAC_GROUP } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { brief, Watch } from './support/watch.ts';

/** Lists and watches of a version from before the rules of their caller changed are 410. */

const server = sharedServer();
const CANARY = 'canary-before-the-grant';

const exactly = (version: number): string => `?resourceVersion=${version}&resourceVersionMatch=Exact`;
const as = (user: string, path: string): Promise<Answer> => server.call('GET', path, { token: tokenOf(user) });

/** The events of a watch from a version, up to a bookmark or an error. */
async function watched(user: string, path: string, version: number): Promise<string[]> {
  const query = `?watch=true&resourceVersion=${version}&timeoutSeconds=1`;
  const watch = await Watch.open(server, `${path}${query}`, tokenOf(user));
  return (await watch.rest()).map(brief);
}

describe('A17, A18: other kinds that are filtered object by object', () => {
  const GROUP = 'clusterpass.dev';
  const at = (resource: string): string => `/apis/${GROUP}/v1alpha1/${resource}`;
  const TYPE = { apiVersion: `${GROUP}/v1alpha1` };

  it('cluster profiles are not listed or watched at a version before the grant', async () => {
    const path = '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/clusterprofiles';
    await addCluster(server, 'profiled');
    const then = await revisionNow(server);
    await removeCluster(server, 'profiled');
    await grantClusters(server, 'profiles', 'profiles');
    const answer = await as('profiles', `${path}${exactly(then)}`);
    expect(answer.code).toBe(410);
    expect(await watched('profiles', path, then)).toEqual(['ERROR 410']);
    expect(namesIn(await server.call('GET', `${path}${exactly(then)}`))).toContain('profiled');
  });

  it('requests, passes and tokens of others are 410 at a version before the grant', async () => {
    await addCluster(server, 'asked');
    await createNamespace(server, 'ci', 'asked');
    await createAccount(server, 'robot', 'ci', 'asked');
    const account = { cluster: 'asked', serviceAccount: { namespace: 'ci', name: 'robot' } };
    const request = { metadata: { generateName: 'asked-' }, spec: { cluster: 'asked', reason: CANARY } };
    await create(server, at('accessrequests'), { ...TYPE, kind: 'AccessRequest', ...request });
    await create(server, at('passes'), { ...TYPE, kind: 'Pass', spec: { ...account, purpose: CANARY } });
    const tracked = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
    const token = await server.call('POST', tokenPath('robot', 'ci', 'asked'), { body: tracked });
    expect(token.code, token.text).toBe(201);
    const then = await revisionNow(server);
    const resources = ['accessrequests', 'passes', 'issuedtokens'];
    await grant(server, {
      to: 'reader',
      rules: resources.flatMap((resource) => [may('list', resource, GROUP), may('watch', resource, GROUP)]),
    });
    const now = await revisionNow(server);
    for (const path of resources.map(at)) {
      for (const query of [exactly(then), `?resourceVersion=${then}&limit=5`]) {
        const answer = await as('reader', `${path}${query}`);
        expect([answer.code, answer.json.reason], path).toEqual([410, 'Expired']);
      }
      expect((await as('reader', `${path}${exactly(now)}`)).json.items, path).toHaveLength(1);
      expect((await as('late', `${path}${exactly(then)}`)).text).not.toContain(CANARY);
    }
  });
});

describe('A17, A18: kinds that are allowed as a whole', () => {
  const ACCOUNTS = inNamespace('serviceaccounts', 'ci', 'home');
  const seeAccounts = { verbs: ['list', 'watch'], apiGroups: [''], resources: ['serviceaccounts'] };

  beforeAll(async () => {
    await addCluster(server, 'home', { labels: { env: 'dev' } });
    await createNamespace(server, 'ci', 'home');
  });

  const expectGone = async (user: string, path: string, version: number): Promise<void> => {
    for (const query of [exactly(version), `?resourceVersion=${version}&limit=5`]) {
      const answer = await as(user, `${path}${query}`);
      expect([answer.code, answer.json.reason]).toEqual([410, 'Expired']);
      expect(answer.text).not.toContain('secret-robot');
    }
    expect(await watched(user, path, version)).toEqual(['ERROR 410']);
  };

  it('are 410 at a version before the grant, in lists and in watches', async () => {
    await createAccount(server, 'secret-robot-1', 'ci', 'home');
    const then = await revisionNow(server);
    await remove(server, `${ACCOUNTS}/secret-robot-1`);
    await grant(server, { to: 'late', rules: [seeAccounts] });
    await expectGone('late', ACCOUNTS, then);
    const now = await revisionNow(server);
    expect((await as('late', `${ACCOUNTS}${exactly(now)}`)).code).toBe(200);
    await createAccount(server, 'visible', 'ci', 'home');
    expect(await watched('late', ACCOUNTS, now)).toEqual(['ADDED visible']);
  });

  it('are 410 at a version before the cluster got the label of the binding', async () => {
    await grant(server, { to: 'labelled', rules: [seeAccounts], clusters: 'env=open' });
    await createAccount(server, 'secret-robot-2', 'ci', 'home');
    const then = await revisionNow(server);
    await remove(server, `${ACCOUNTS}/secret-robot-2`);
    await relabel(server, 'home', { env: 'open' });
    await expectGone('labelled', ACCOUNTS, then);
    const now = await revisionNow(server);
    expect((await as('labelled', `${ACCOUNTS}${exactly(now)}`)).code).toBe(200);
    // Closed and opened again: what happened in between is not replayed.
    await relabel(server, 'home', { env: 'dev' });
    await createAccount(server, 'secret-robot-3', 'ci', 'home');
    await remove(server, `${ACCOUNTS}/secret-robot-3`);
    await relabel(server, 'home', { env: 'open' });
    expect(await watched('labelled', ACCOUNTS, now)).toEqual(['ERROR 410']);
    expect((await as('labelled', `${ACCOUNTS}${exactly(now)}`)).code).toBe(410);
  });

  it('resume after changes of other clusters, and of a cluster whose labels stay', async () => {
    await addCluster(server, 'steady', { labels: { env: 'steady' } });
    await addCluster(server, 'restless', { labels: { env: 'steady' } });
    await createNamespace(server, 'ci', 'steady');
    await grant(server, { to: 'watcher', rules: [seeAccounts], clusters: 'env=steady' });
    const then = await revisionNow(server);
    for (let count = 0; count < 9; count++) {
      await relabel(server, 'restless', { env: `x-${count}` });
      await patchCluster(server, 'steady', { metadata: { annotations: { count: String(count) } } });
    }
    const path = inNamespace('serviceaccounts', 'ci', 'steady');
    await createAccount(server, 'after', 'ci', 'steady');
    expect(await watched('watcher', path, then)).toEqual(['ADDED after']);
    // Any label may be that of a binding.
    const now = await revisionNow(server);
    await relabel(server, 'steady', { env: 'steady', count: 'last' });
    expect(await watched('watcher', path, now)).toEqual(['ERROR 410']);
  });

  it('are 410 between a revocation and a new grant', async () => {
    const revoke = await grant(server, { to: 'moved', rules: [seeAccounts], namespace: 'ci' });
    const before = await revisionNow(server);
    await revoke();
    await createAccount(server, 'secret-robot-4', 'ci', 'home');
    const between = await revisionNow(server);
    await remove(server, `${ACCOUNTS}/secret-robot-4`);
    await grant(server, { to: 'moved', rules: [seeAccounts], namespace: 'ci' });
    await expectGone('moved', ACCOUNTS, between);
    expect(await watched('moved', ACCOUNTS, before)).toEqual(['ERROR 410']);
    expect((await as('moved', `${ACCOUNTS}${exactly(before)}`)).code).toBe(410);
  });

  it('at the fleet too, and unchanged permissions resume as before', async () => {
    const bindings = `${RBAC}/clusterrolebindings`;
    const then = await revisionNow(server);
    await grant(server, {
      to: 'late',
      rules: [may('list', 'clusterrolebindings', RBAC_GROUP), may('watch', 'clusterrolebindings', RBAC_GROUP)],
    });
    expect((await as('late', `${bindings}${exactly(then)}`)).code).toBe(410);
    expect(await watched('late', bindings, then)).toEqual(['ERROR 410']);
    const now = await revisionNow(server);
    await grant(server, { to: 'early', rules: [seeAccounts] });
    const events = await watched('late', bindings, now);
    expect(events).toEqual([expect.stringMatching(/^ADDED granted-\d+$/)]);
    const administrator = await server.call('GET', `${bindings}${exactly(then)}`);
    expect(administrator.code).toBe(200);
  });
});
