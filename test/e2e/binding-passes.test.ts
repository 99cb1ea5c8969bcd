import { decodeJwt } from 'jose';
import { beforeAll, expect, it } from 'vitest';
import { asUser, create, createObjects, remove, tokenPath } from './support/objects.ts';
import { RBAC } from './support/paths.ts';
import { inCluster, TOKEN } from './support/reviews.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** No pass outlives the permission behind it. */

const PATH = '/apis/clusterpass.dev/v1alpha1/fleetrolebindings';
const ACCOUNT = { cluster: 'alpha', namespace: 'ci', serviceAccount: 'builder' };

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  await create(server, `${RBAC}/clusterroles`, ROLE);
});

const ROLE = {
  metadata: { name: 'gives-tokens' },
  rules: [
    { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
    { apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'], verbs: ['create'] },
  ],
};

/** A binding of its own name for the user. */
const allow = (user: string, spec: object, name = user) =>
  create(server, PATH, {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name },
    spec: {
      subjects: [{ kind: 'User', name: user }],
      roleRef: { kind: 'ClusterRole', name: ROLE.metadata.name },
      clusters: { names: ['alpha'] },
      ...spec,
    },
  });

/** A token of the account, for an hour if it may last so long. */
const issueFor = (user: string, { tracked = false, query = '' } = {}) =>
  server.call('POST', `${tokenPath()}${query}`, {
    body: {
      metadata: { annotations: { 'clusterpass.dev/tracked': String(tracked) } },
      spec: { audiences: [], expirationSeconds: 3600 },
    },
    ...asUser(user),
  });

async function isAccepted(token: string): Promise<boolean> {
  const { json } = await server.call('POST', inCluster(TOKEN), { body: { spec: { token } } });
  return json.status.authenticated === true;
}

const secondsOf = (token: string): number => {
  const { exp = 0, iat = 0 } = decodeJwt(token);
  return exp - iat;
};

const inMinutes = (minutes: number): string =>
  new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+Z$/, 'Z');

it('maxPassSeconds bounds a TokenRequest, a dry run, a list, an exchange and a pass for a person', async () => {
  await allow('ann', { maxPassSeconds: 90 });
  const single = await issueFor('ann');
  expect(single.headers.get('warning')).toContain('shortened to 90 seconds: the permission allows no more');
  const dry = await issueFor('ann', { query: '?dryRun=All' });
  const silent = await server.call('POST', tokenPath(), { body: { spec: { audiences: [] } }, ...asUser('ann') });
  // No lifetime was requested, so none was shortened.
  expect([silent.code, silent.json.spec.expirationSeconds, silent.headers.get('warning')]).toEqual([201, 90, null]);
  expect([single, dry].map(({ json }) => json.spec.expirationSeconds)).toEqual([90, 90]);
  const person = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/alpha/userpass';
  const own = await server.call('POST', person, { body: {}, ...asUser('ann') });
  const list = await server.call('POST', '/auth/v1/passes', {
    body: { items: [ACCOUNT, { cluster: 'alpha', userpass: true }] },
    ...asUser('ann'),
  });
  const tokens = [single, own].map(({ json }) => json.status.token);
  tokens.push(...list.json.items.map(({ token }: { token: string }) => token));
  expect(tokens.map(secondsOf)).toEqual([90, 90, 90, 90]);
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: asUser('ann').token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: 'alpha:ci:builder',
  });
  const exchanged = await server.call('POST', '/oauth/token', {
    body: form.toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    token: null,
  });
  expect([exchanged.code, exchanged.json.expires_in]).toEqual([200, 90]);
});

it('a pass ends with its binding; of several, the longest counts', async () => {
  const secondsLeft = async () => (await issueFor('eve')).json.spec.expirationSeconds;
  await allow('eve', { expiresAt: inMinutes(15) });
  const short = await secondsLeft();
  expect([short > 880, short <= 900]).toEqual([true, true]);
  await allow('eve', { clusters: { all: true }, expiresAt: inMinutes(30) }, 'eve-longer');
  const longer = await secondsLeft();
  expect([longer > 1_780, longer <= 1_800]).toEqual([true, true]);
});

it('the deletion of a binding revokes its tracked passes, and says which others are accepted until when', async () => {
  await allow('kim', { expiresAt: inMinutes(45) });
  const tracked = (await issueFor('kim', { tracked: true })).json.status.token;
  const other = (await issueFor('kim')).json.status.token;
  const accepted = () => Promise.all([tracked, other].map(isAccepted));
  expect(await accepted()).toEqual([true, true]);
  const dry = await server.call('DELETE', `${PATH}/kim?dryRun=All`);
  expect([dry.code, dry.headers.get('warning'), await accepted()]).toEqual([200, null, [true, true]]);
  const { code, headers } = await server.call('DELETE', `${PATH}/kim`);
  expect(code).toBe(200);
  expect(headers.get('warning')).toMatch(/refuse the tracked passes of this binding from now on; .* until 20/);
  expect(headers.get('warning')).toMatch(/without a record are not revoked: they may be accepted until 20/);
  expect(await accepted()).toEqual([false, true]);
});

it('so does a deletion that a finalizer delays: the binding allows nothing from then on', async () => {
  await allow('ann', {}, 'delayed');
  const change = { metadata: { finalizers: ['example.com/wait'] } };
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  expect((await server.call('PATCH', `${PATH}/delayed`, { body: change })).code).toBe(200);
  const { token } = (await issueFor('ann', { tracked: true })).json.status;
  expect(await isAccepted(token)).toBe(true);
  const { code, headers: answered } = await server.call('DELETE', `${PATH}/delayed`);
  expect([code, answered.get('warning')]).toEqual([200, expect.stringContaining('tracked passes of this binding')]);
  expect(await isAccepted(token)).toBe(false);
  const released = { body: { metadata: { finalizers: null } }, headers };
  expect((await server.call('PATCH', `${PATH}/delayed`, released)).code).toBe(200);
});

it('so does the deletion of all bindings that a selector finds, and the record says the binding', async () => {
  await allow('joe', {});
  const { token } = (await issueFor('joe', { tracked: true })).json.status;
  const query = '?fieldSelector=spec.fleetRoleBinding.name%3Djoe';
  const records = await server.call('GET', `/apis/clusterpass.dev/v1alpha1/issuedtokens${query}`);
  expect(records.json.items).toHaveLength(1);
  await remove(server, `${PATH}?fieldSelector=metadata.name%3Djoe`);
  expect(await isAccepted(token)).toBe(false);
});
