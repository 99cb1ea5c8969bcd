import { beforeAll, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { createCluster, inNamespace } from './support/objects.ts';
import { RBAC, RBAC_GROUP } from './support/paths.ts';
import { user } from './support/rbac.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/** A29: a mistake in a binding is an error. Ignored, it would open the binding to the whole fleet. */

const server = sharedServer();

beforeAll(async () => {
  await createCluster(server, 'alpha', { env: 'prod' });
  await createCluster(server, 'beta', { env: 'dev' });
  for (const cluster of ['alpha', 'beta']) {
    await server.call('POST', `/orchestrator/${cluster}/api/v1/namespaces`, { body: { metadata: { name: 'ci' } } });
  }
});

const bind = (metadata: object): Promise<Answer> => {
  const roleRef = { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: 'clusterpass:viewer' };
  const body = { metadata: { name: 'mistaken', ...metadata }, subjects: [user('mia')], roleRef };
  return server.call('POST', `${RBAC}/clusterrolebindings`, { body });
};

const seenByMia = async (): Promise<number> =>
  (await server.call('GET', '/auth/v1/clusters', { token: tokenOf('mia') })).json.items.length;

describe('A29: a mistake in a binding grants nothing', () => {
  it.each(['annotations', 'labels'])('in its %s', async (where) => {
    const { code, json } = await bind({ [where]: { 'clusterpass.dev/clusters': 'dev' } });
    expect([code, json.details.causes[0].field]).toEqual([422, `metadata.${where}[clusterpass.dev/clusters]`]);
    expect(await seenByMia()).toBe(0);
  });

  const right = fleetBinding({ name: 'right', to: ['mia'], role: 'clusterpass:viewer', clusters: 'env=dev' }) as {
    spec: { clusters: object };
  };
  const { clusters, ...rest } = right.spec;
  const mistakes: [string, object][] = [
    ['spec.cluster', { ...right, spec: { ...rest, cluster: clusters } }],
    ['expiresAt', { ...right, expiresAt: '2126-01-01T00:00:00Z' }],
    ['spec.expiresat', { ...right, spec: { ...right.spec, expiresat: '2126-01-01T00:00:00Z' } }],
    ['spec.expiresAt', { ...right, spec: { ...right.spec, expiresAt: null } }],
  ];

  it.each(mistakes)('the field %s, in every mode of field validation and by every write', async (field, body) => {
    const type = (name: string) => ({ 'Content-Type': `application/${name}` });
    const refused = (answer: Answer) => {
      const name = field.split('.').at(-1);
      if (answer.code === 422) expect(answer.json.details.causes[0].field).toBe(field);
      else
        expect([[400, 500].includes(answer.code), answer.json.message]).toEqual([
          true,
          expect.stringContaining(`${name}`),
        ]);
    };
    for (const mode of ['', 'Ignore', 'Warn', 'Strict']) {
      const query = mode === '' ? '' : `?fieldValidation=${mode}`;
      refused(await server.call('POST', `${FLEET_BINDINGS}${query}`, { body }));
      const apply = `${FLEET_BINDINGS}/right?fieldManager=me${query.replace('?', '&')}`;
      refused(await server.call('PATCH', apply, { body, headers: type('apply-patch+yaml') }));
    }
    expect((await server.call('GET', `${FLEET_BINDINGS}/right`)).code).toBe(404);
    expect((await server.call('POST', FLEET_BINDINGS, { body: right })).code).toBe(201);
    for (const mode of ['', '?fieldValidation=Ignore']) {
      refused(await server.call('PUT', `${FLEET_BINDINGS}/right${mode}`, { body }));
      if (field === 'spec.expiresAt') continue;
      const patch = { body, headers: type('merge-patch+json') };
      refused(await server.call('PATCH', `${FLEET_BINDINGS}/right${mode}`, patch));
    }
    expect(await seenByMia()).toBe(1);
    expect((await server.call('DELETE', `${FLEET_BINDINGS}/right`)).code).toBe(200);
  });
});

describe('A29: other kinds', () => {
  it('the cluster that an object names is the cluster of the path', async () => {
    const body = (name: string) => ({ metadata: { name, annotations: { 'clusterpass.dev/in-cluster': 'beta' } } });
    const wrong = await server.call('POST', inNamespace('serviceaccounts'), { body: body('misplaced') });
    expect([wrong.code, wrong.json.details?.causes[0].field]).toEqual([
      422,
      'metadata.annotations[clusterpass.dev/in-cluster]',
    ]);
    const right = await server.call('POST', inNamespace('serviceaccounts', 'ci', 'beta'), { body: body('placed') });
    expect(right.code, right.text).toBe(201);
  });
});

it('two managers apply the fields of one FleetRoleBinding, and neither widens what the other owns', async () => {
  const apply = (manager: string, spec: object): Promise<Answer> =>
    server.call('PATCH', `${FLEET_BINDINGS}/shared?fieldManager=${manager}`, {
      headers: { 'Content-Type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'FleetRoleBinding', metadata: { name: 'shared' }, spec },
    });
  const team = {
    subjects: [{ kind: 'User', name: 'mia' }],
    roleRef: { kind: 'ClusterRole', name: 'clusterpass:viewer' },
    clusters: { selector: { matchLabels: { env: 'dev' } } },
  };
  expect((await apply('team', team)).code).toBe(201);
  expect((await apply('security', { maxPassSeconds: 900, expiresAt: '2126-01-01T00:00:00Z' })).code).toBe(200);
  const conflict = await apply('security', { maxPassSeconds: 900, clusters: { all: true } });
  expect([conflict.code, conflict.json.details.causes]).toEqual([
    409,
    [{ reason: 'FieldManagerConflict', message: 'conflict with "team"', field: '.spec.clusters' }],
  ]);
  // A field that its manager leaves out goes; those of the other stay.
  expect((await apply('security', { maxPassSeconds: 900 })).code).toBe(200);
  const { json } = await apply('team', team);
  expect(json.spec).toEqual({ ...team, maxPassSeconds: 900 });
  expect(await seenByMia()).toBe(1);
  await server.call('DELETE', `${FLEET_BINDINGS}/shared`);
});
