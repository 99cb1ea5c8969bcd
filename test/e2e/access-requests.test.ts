import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asUser, createObjects, tokenPath } from './support/objects.ts';
import { grant, may, RBAC } from './support/rbac.ts';
import { type Server, startServer } from './support/server.ts';

/** People ask for access, others approve it, and it ends by itself. */

const GROUP = 'clusterpass.dev';
const PATH = `/apis/${GROUP}/v1alpha1/accessrequests`;
const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const TOKENS = may('create', 'serviceaccounts/token');
const APPROVE = may('approve', 'accessrequests', GROUP);

let server: Server;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'clusterpass-requests-'));
  const users = {
    jane: ['devs'],
    joe: ['devs'],
    lea: [],
    max: [],
    dev: [],
    weak: [],
    boss: ['system:masters'],
    nobody: [],
  };
  const args = ['--audit-log-path', join(dir, 'audit.log'), '--max-access-requests-per-caller', '4'];
  server = await startServer({ users, args });
  await createObjects(server);
  const request = may('create', 'accessrequests', GROUP);
  await grant(server, { to: { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' }, rules: [request] });
  // Approvers: of production, of production without holding anything, of one namespace.
  for (const name of ['lea', 'max']) await grant(server, { to: name, rules: [TOKENS, APPROVE], clusters: 'env=prod' });
  await grant(server, { to: 'weak', rules: [APPROVE], clusters: 'env=prod' });
  await grant(server, { to: 'dev', rules: [TOKENS, APPROVE, request], namespace: 'shop', clusters: 'env=prod' });
});
afterAll(async () => {
  await server?.destroy();
  await rm(dir, { recursive: true, force: true });
});

const builder = {
  cluster: 'alpha',
  serviceAccount: { namespace: 'ci', name: 'builder' },
  reason: 'INC-1: deploy a fix',
};

const ask = (user: string, spec: object = builder, metadata: object = { generateName: `${user}-` }) =>
  server.call('POST', PATH, {
    ...asUser(user),
    body: { apiVersion: `${GROUP}/v1alpha1`, kind: 'AccessRequest', metadata, spec },
  });

const decide = (user: string, name: string, type: string, more: object = {}, headers: object = {}) =>
  server.call('PATCH', `${PATH}/${name}/approval`, {
    ...asUser(user),
    body: { status: { conditions: [{ type, status: 'True', ...more }] } },
    headers: { ...MERGE, ...headers },
  });

const passOf = async (user: string, path = tokenPath()): Promise<number> =>
  (await server.call('POST', path, { ...asUser(user), body: { spec: { audiences: [] } } })).code;

describe('an access request', () => {
  it('is approved by another, grants until it ends, and is withdrawn', async () => {
    const { json: created } = await ask('jane', {
      ...builder,
      requestedBy: { username: 'boss' },
      durationSeconds: 600,
    });
    const { name } = created.metadata;
    expect(created.spec).toMatchObject({ requestedBy: { username: 'jane', uid: 'uid-jane' }, durationSeconds: 600 });
    expect(created.status).toEqual({ phase: 'Pending', expirationTimestamp: expect.any(String) });
    expect(await passOf('jane')).toBe(403);
    const { code, json, text } = await decide('lea', name, 'Approved', { message: 'go on' });
    expect(code, text).toBe(200);
    expect(json.status).toMatchObject({
      phase: 'Approved',
      decidedBy: { username: 'lea' },
      bindingRef: { kind: 'RoleBinding', namespace: 'ci', name: `clusterpass:access-request:${name}` },
    });
    const left = Date.parse(json.status.expirationTimestamp) - Date.parse(json.status.decisionTimestamp);
    expect(left).toBe(600_000);
    expect([await passOf('jane'), await passOf('jane', tokenPath('other')), await passOf('joe')]).toEqual([
      201, 403, 403,
    ]);
    expect(await passOf('jane', tokenPath('builder', 'ci', 'beta'))).toBe(403);
    const binding = await server.call('GET', `${RBAC}/namespaces/ci/rolebindings/clusterpass:access-request:${name}`);
    expect(binding.json.metadata.annotations).toEqual({
      'clusterpass.dev/clusters': 'kubernetes.io/metadata.name=alpha',
      'clusterpass.dev/expires-at': json.status.expirationTimestamp,
    });
    const again = await decide('max', name, 'Approved');
    expect([again.code, again.json.status.decidedBy.username]).toEqual([200, 'lea']);
    expect((await decide('max', name, 'Denied')).code).toBe(409);
    expect((await decide('jane', name, 'Withdrawn')).json.status).toMatchObject({
      phase: 'Withdrawn',
      withdrawnBy: { username: 'jane' },
    });
    expect(await passOf('jane')).toBe(403);
    expect((await server.call('DELETE', `${PATH}/${name}`, asUser('jane'))).code).toBe(200);
    expect((await server.call('GET', `${RBAC}/namespaces/ci/roles/clusterpass:access-request:${name}`)).code).toBe(404);
  });
});
