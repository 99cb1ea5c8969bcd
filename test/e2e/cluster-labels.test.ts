import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { expectStatus } from './support/expect-status.ts';
import {
  ASK,
  asUser,
  create,
  createAccount,
  createCluster,
  createNamespace,
  post,
  tokenPath,
} from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { grant, group, may, type PolicyRule, REGISTRY_GROUP } from './support/rbac.ts';
import type { Answer } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** Bindings select clusters by label, so writing labels grants permissions. */

const TOKEN = may('create', 'serviceaccounts/token');
const WRITES: PolicyRule = {
  verbs: ['get', 'create', 'update', 'patch', 'delete'],
  apiGroups: [REGISTRY_GROUP],
  resources: ['clusters', 'clusters/status'],
};
const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };
const APPLY = { 'Content-Type': 'application/apply-patch+yaml' };
const ENVIRONMENT = 'protected.clusterpass.dev/env';

const server = sharedServer();

beforeAll(async () => {
  const users = ['tagger', 'holder', 'escalator', 'guardian', 'local'];
  for (const name of users) await grant(server, { to: name, rules: [WRITES] });
  await grant(server, { to: 'holder', rules: [TOKEN], clusters: 'env=dev' });
  await grant(server, { to: 'escalator', rules: [may('escalate', 'clusters', REGISTRY_GROUP)] });
  await grant(server, { to: 'guardian', rules: [may('protect', 'clusters', REGISTRY_GROUP)] });
  await grant(server, { to: 'local', rules: [TOKEN], namespace: 'ci' });
  await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'minter' }, rules: [TOKEN] });
  await bind('prod-minters', 'env=prod');
});

const bind = (name: string, clusters: string, namespace?: string): Promise<unknown> => {
  const fields = namespace === undefined ? {} : { namespaces: [namespace] };
  const to = ['tagger', group('minters')];
  return create(server, FLEET_BINDINGS, fleetBinding({ name, to, role: 'minter', clusters, fields }));
};

let counter = 0;
/** A cluster of the environment dev, made by the administrator. */
let name: string;

beforeEach(async () => {
  name = `dev-${++counter}`;
  await createCluster(server, name, { env: 'dev' });
});

const clusterBody = (labels: object, named = name): object => ({ ...CLUSTER_TYPE, metadata: { name: named, labels } });
const patch = (who: string, labels: object, path = `${CLUSTERS}/${name}`): Promise<Answer> =>
  server.call('PATCH', path, { body: { metadata: { labels } }, ...asUser(who) });
/** Server-side apply, with the rights of one user and the name of a manager that others may share. */
const apply = (who: string, labels: object, { manager = who, named = name, query = '' } = {}): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${named}?fieldManager=${manager}&force=true${query}`, {
    body: clusterBody(labels, named),
    headers: APPLY,
    ...asUser(who),
  });
const labelsNow = async (): Promise<object> =>
  (await server.call('GET', `${CLUSTERS}/${name}`)).json.metadata.labels ?? {};

const NOT_HELD = (who: string, binding: string, cluster = name): string =>
  `clusters.${REGISTRY_GROUP} "${cluster}" is forbidden: user "${who}" (groups=["system:authenticated"]) may not set these ` +
  `labels: with these labels ${binding} would begin to hold in cluster "${cluster}", and grants RBAC permissions not ` +
  'currently held there:\n{APIGroups:[""], Resources:["serviceaccounts/token"], Verbs:["create"]}';

describe('A30: a label that a binding selects', () => {
  it('cannot be set by a caller who does not hold what the binding grants', async () => {
    expectStatus(await patch('tagger', { env: 'prod' }), {
      code: 403,
      reason: 'Forbidden',
      message: NOT_HELD('tagger', 'FleetRoleBinding/prod-minters'),
      details: { name, group: REGISTRY_GROUP, kind: 'clusters' },
    });
    expect(await labelsNow()).toEqual({ env: 'dev' });
  });

  it('by any way to write a cluster', async () => {
    const path = `${CLUSTERS}/${name}`;
    const { json: whole } = await server.call('GET', path, asUser('tagger'));
    const replaced = { ...whole, metadata: { ...whole.metadata, labels: { env: 'prod' } } };
    const operations = [{ op: 'replace', path: '/metadata/labels/env', value: 'prod' }];
    const as = asUser('tagger');
    const answers = {
      put: await server.call('PUT', path, { body: replaced, ...as }),
      jsonPatch: await server.call('PATCH', path, { body: operations, headers: JSON_PATCH, ...as }),
      dryRun: await patch('tagger', { env: 'prod' }, `${path}?dryRun=All`),
      create: await server.call('POST', CLUSTERS, { body: clusterBody({ env: 'prod' }, `${name}-new`), ...as }),
      apply: await apply('tagger', { env: 'prod' }),
      applyDryRun: await apply('tagger', { env: 'prod' }, { query: '&dryRun=All' }),
      applyNew: await apply('tagger', { env: 'prod' }, { named: `${name}-new` }),
    };
    for (const [way, answer] of Object.entries(answers)) {
      expect([way, answer.code]).toEqual([way, 403]);
      expect(answer.json.message, way).toContain('FleetRoleBinding/prod-minters');
    }
    // A status is written without its labels.
    const status = await server.call('PATCH', `${path}/status`, {
      body: { metadata: { labels: { env: 'prod' } }, status: { type: 'x' } },
      ...as,
    });
    expect(status.code, status.text).toBe(200);
    expect(await labelsNow()).toEqual({ env: 'dev' });
  });

  it('nor by deleting a cluster and creating it again, and no token is minted there', async () => {
    await createNamespace(server, 'ci', name);
    await createAccount(server, 'builder', 'ci', name);
    const path = tokenPath('builder', 'ci', name);
    expect((await server.call('DELETE', `${CLUSTERS}/${name}`, asUser('tagger'))).code).toBe(200);
    const again = await server.call('POST', CLUSTERS, { body: clusterBody({ env: 'prod' }), ...asUser('tagger') });
    expect(again.code).toBe(403);
    const plain = await server.call('POST', CLUSTERS, { body: clusterBody({ env: 'test' }), ...asUser('tagger') });
    expect(plain.code, plain.text).toBe(201);
    expect((await post(server, ASK, { path, ...asUser('tagger') })).code).toBe(403);
  });

  it('nor by an apply that leaves such a label out, in the name of its manager', async () => {
    expect((await apply('escalator', { color: 'red' }, { manager: 'shared' })).code).toBe(200);
    await bind(`colorless-${name}`, `!color,kubernetes.io/metadata.name=${name}`);
    const answer = await apply('tagger', {}, { manager: 'shared' });
    expect([answer.code, answer.json.message]).toEqual([403, NOT_HELD('tagger', `FleetRoleBinding/colorless-${name}`)]);
    expect(await labelsNow()).toEqual({ env: 'dev', color: 'red' });
    expect((await apply('escalator', {}, { manager: 'shared' })).code).toBe(200);
    expect(await labelsNow()).toEqual({ env: 'dev' });
  });
});

describe('A30: a protected label', () => {
  const refusal = (who: string, cluster = name): string =>
    `clusters.${REGISTRY_GROUP} "${cluster}" is forbidden: User "${who}" cannot protect resource "clusters" in API group ` +
    `"${REGISTRY_GROUP}" at the cluster scope`;

  it('is set, changed and removed with the verb protect', async () => {
    for (const value of ['prod', 'dev', null]) {
      const refused = await patch('tagger', { [ENVIRONMENT]: value ?? 'x' });
      expect([refused.code, refused.json.message]).toEqual([403, refusal('tagger')]);
      expect((await patch('guardian', { [ENVIRONMENT]: value })).code).toBe(200);
    }
    await patch('guardian', { [ENVIRONMENT]: 'prod' });
    expect((await patch('tagger', { [ENVIRONMENT]: null })).code).toBe(403);
    expect((await patch('tagger', { env: 'test' })).code).toBe(200);
    expect(await labelsNow()).toEqual({ env: 'test', [ENVIRONMENT]: 'prod' });
  });

  it('is set, changed, and removed by leaving it out of an apply, with the verb protect', async () => {
    const shared = { manager: 'shared' };
    expect((await apply('guardian', { [ENVIRONMENT]: 'prod' }, shared)).code).toBe(200);
    for (const labels of [{}, { [ENVIRONMENT]: 'dev' }, { [ENVIRONMENT]: 'dev', a: 'b' }]) {
      const refused = await apply('tagger', labels, shared);
      expect([refused.code, refused.json.message]).toEqual([403, refusal('tagger')]);
    }
    const created = await apply('tagger', { [ENVIRONMENT]: 'prod' }, { named: `${name}-new` });
    expect([created.code, created.json.message]).toEqual([403, refusal('tagger', `${name}-new`)]);
    expect(await labelsNow()).toEqual({ env: 'dev', [ENVIRONMENT]: 'prod' });
    expect((await apply('guardian', {}, shared)).code).toBe(200);
    expect(await labelsNow()).toEqual({ env: 'dev' });
  });

  it('is not set with the verb escalate, nor in a new cluster without the verb protect', async () => {
    expect((await patch('escalator', { [ENVIRONMENT]: 'prod' })).code).toBe(403);
    const body = clusterBody({ [ENVIRONMENT]: 'prod' }, `${name}-new`);
    const refused = await server.call('POST', CLUSTERS, { body, ...asUser('tagger') });
    expect([refused.code, refused.json.message]).toEqual([403, refusal('tagger', `${name}-new`)]);
    expect((await server.call('POST', CLUSTERS, { body, ...asUser('guardian') })).code).toBe(201);
  });
});

describe('A44: the statement that a cluster asks for each token', () => {
  const KEY = 'clusterpass.dev/token-checks';
  const annotate = (who: string, value: string | null): Promise<Answer> =>
    server.call('PATCH', `${CLUSTERS}/${name}`, {
      body: { metadata: { annotations: { [KEY]: value } } },
      ...asUser(who),
    });

  it('is made with the verb confirm, and withdrawn without it', async () => {
    const refused = await annotate('tagger', 'webhook');
    expect([refused.code, refused.json.message]).toEqual([
      403,
      `clusters.${REGISTRY_GROUP} "${name}" is forbidden: User "tagger" cannot confirm resource "clusters" in API group ` +
        `"${REGISTRY_GROUP}" at the cluster scope`,
    ]);
    const body = {
      ...clusterBody({}, `${name}-new`),
      metadata: { name: `${name}-new`, annotations: { [KEY]: 'webhook' } },
    };
    expect((await server.call('POST', CLUSTERS, { body, ...asUser('tagger') })).code).toBe(403);
    await grant(server, { to: 'guardian', rules: [may('confirm', 'clusters', REGISTRY_GROUP)] });
    expect((await annotate('guardian', 'webhook')).code).toBe(200);
    // A write that leaves it as it is.
    expect((await annotate('tagger', 'webhook')).code).toBe(200);
    expect((await annotate('tagger', null)).code).toBe(200);
    expect((await annotate('tagger', 'webhook')).code).toBe(403);
  });
});
