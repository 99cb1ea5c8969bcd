import { beforeAll, describe, expect, it } from 'vitest';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { expectStatus } from './support/expect-status.ts';
import { listAs, namesIn } from './support/fleet.ts';
import { ASK, asUser, create, createObjects, inNamespace, post, tokenPath } from './support/objects.ts';
import { CLUSTERS, RBAC, RBAC_GROUP } from './support/paths.ts';
import { grant, group, may, type PolicyRule, REGISTRY_GROUP } from './support/rbac.ts';
import { sharedServer } from './support/shared-server.ts';

/** What callers who may write roles can grant, and the default roles. */

const server = sharedServer();

beforeAll(() => createObjects(server));

describe('escalation', () => {
  const TOKEN = may('create', 'serviceaccounts/token');
  const SEE = may('list', 'clusters', REGISTRY_GROUP);
  const WRITES: PolicyRule = {
    verbs: ['create', 'update', 'patch', 'get', 'delete'],
    apiGroups: [RBAC_GROUP, 'clusterpass.dev'],
    resources: ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings', 'fleetrolebindings'],
  };

  /** All of these callers may write roles. They hold different permissions. */
  beforeAll(async () => {
    for (const name of ['lead', 'euLead', 'ciLead', 'binder', 'escalator']) {
      await grant(server, { to: name, rules: [WRITES] });
    }
    await grant(server, { to: 'lead', rules: [TOKEN] });
    await grant(server, { to: 'euLead', rules: [TOKEN], clusters: 'env=prod' });
    await grant(server, { to: 'ciLead', rules: [TOKEN], namespace: 'ci' });
    await grant(server, { to: 'binder', rules: [may('bind', 'clusterroles', RBAC_GROUP, ['token-maker'])] });
    await grant(server, { to: 'escalator', rules: [may('escalate', 'clusterroles', RBAC_GROUP)] });
    await grant(server, { to: 'admin', rules: [may('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }] });
    await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'token-maker' }, rules: [TOKEN] });
    await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'all-powerful' }, rules: [may('*', '*', '*')] });
  });

  let counter = 0;
  const fresh = (): string => `try-${++counter}`;
  const as = (who: string, method: string, path: string, body: object, headers: Record<string, string> = {}) =>
    server.call(method, `${RBAC}/${path}`, { body, headers, ...asUser(who) });
  const role = (rules: readonly PolicyRule[], extra: object = {}) => ({ metadata: { name: fresh() }, rules, ...extra });
  const fleet = (who: string, method: string, name: string, body: object, headers: Record<string, string> = {}) =>
    server.call(method, `${FLEET_BINDINGS}${name}`, { body, headers, ...asUser(who) });
  const binding = (name: string, { kind = 'ClusterRole' }: { kind?: string } = {}) => ({
    metadata: { name: fresh() },
    subjects: [group('friends')],
    roleRef: { apiGroup: RBAC_GROUP, kind, name },
  });
  const NOT_HELD = 'is attempting to grant RBAC permissions not currently held:';
  const PATCH = { 'Content-Type': 'application/merge-patch+json' };
  const APPLY = { 'Content-Type': 'application/apply-patch+yaml' };
  const TYPE = (kind: string) => ({ apiVersion: `${RBAC_GROUP}/v1`, kind });

  describe('no caller writes a role with permissions that it does not hold', () => {
    it('nor applies one', async () => {
      const made = role([TOKEN]);
      const { name } = made.metadata;
      const path = `clusterroles/${name}?fieldManager=lead`;
      const typed = (rules: readonly PolicyRule[]) => ({ ...TYPE('ClusterRole'), metadata: { name }, rules });
      const codes = async (...bodies: object[]) => {
        const answers = [];
        for (const body of bodies) answers.push(await as('lead', 'PATCH', path, body, APPLY));
        return answers.map(({ code, json }) => [code, code === 403 && json.message.includes(NOT_HELD)]);
      };
      // Created, extended, extended by a dry run and by force.
      expect(await codes(typed([SEE]), typed([TOKEN]), typed([TOKEN, SEE]))).toEqual([
        [403, true],
        [201, false],
        [403, true],
      ]);
      for (const more of ['&force=true', '&dryRun=All']) {
        expect((await as('lead', 'PATCH', `${path}${more}`, typed([SEE]), APPLY)).code).toBe(403);
      }
      const aggregated = {
        ...typed([TOKEN]),
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
      };
      expect((await as('lead', 'PATCH', path, aggregated, APPLY)).code).toBe(403);
      expect((await server.call('GET', `${RBAC}/clusterroles/${name}`)).json.rules).toEqual([TOKEN]);
    });

    it('nor when it is a dry run, an update or a patch', async () => {
      expect((await as('lead', 'POST', 'clusterroles?dryRun=All', role([SEE]))).code).toBe(403);
      const made = (await as('lead', 'POST', 'clusterroles', role([TOKEN]))).json;
      const path = `clusterroles/${made.metadata.name}`;
      expect((await as('lead', 'PUT', path, { ...made, rules: [SEE] })).code).toBe(403);
      expect((await as('lead', 'PATCH', path, { rules: [SEE] }, PATCH)).code).toBe(403);
      const added = [{ op: 'add', path: '/rules/-', value: SEE }];
      expect((await as('lead', 'PATCH', path, added, { 'Content-Type': 'application/json-patch+json' })).code).toBe(
        403,
      );
      expect((await as('lead', 'PATCH', path, { rules: [] }, PATCH)).code).toBe(200);
    });
  });

  describe('no caller binds a role with permissions that it does not hold', () => {
    it('a role that does not exist can be bound only by a caller with the verb bind', async () => {
      expectStatus(await as('lead', 'POST', 'clusterrolebindings', binding('absent')), {
        code: 404,
        reason: 'NotFound',
        message: `clusterroles.${RBAC_GROUP} "absent" not found`,
        details: { name: 'absent', group: RBAC_GROUP, kind: 'clusterroles' },
      });
      expect((await as('admin', 'POST', 'clusterrolebindings', binding('absent'))).code).toBe(201);
    });

    it('a binding whose role is gone cannot be applied without that verb, and is answered at once', async () => {
      const name = fresh();
      const applied = (who: string, to: string) =>
        fleet(who, 'PATCH', `/${name}?fieldManager=m`, fleetBinding({ name, to: [group(to)], role: 'absent' }), APPLY);
      expect((await applied('admin', 'friends')).code).toBe(201);
      expectStatus(await applied('lead', 'others'), {
        code: 404,
        reason: 'NotFound',
        message: `clusterroles.${RBAC_GROUP} "absent" not found`,
        details: { name: 'absent', group: RBAC_GROUP, kind: 'clusterroles' },
      });
    });

    it('nor applies a binding, nor extends it by leaving out its clusters', async () => {
      const body = binding('all-powerful');
      const path = `clusterrolebindings/${body.metadata.name}?fieldManager=shared`;
      const powerful = await as('lead', 'PATCH', path, { ...TYPE('ClusterRoleBinding'), ...body }, APPLY);
      expect([powerful.code, powerful.json.message]).toEqual([403, expect.stringContaining(NOT_HELD)]);
      const name = fresh();
      const applied = (who: string, clusters: string | undefined, more = '') => {
        const config = fleetBinding({ name, to: [group('friends')], role: 'token-maker', clusters });
        return fleet(who, 'PATCH', `/${name}?fieldManager=shared${more}`, config, APPLY);
      };
      expect((await applied('euLead', 'env=prod')).code).toBe(201);
      for (const more of ['', '&force=true', '&dryRun=All']) {
        const wider = await applied('euLead', undefined, more);
        expect([wider.code, wider.json.message]).toEqual([403, expect.stringContaining(NOT_HELD)]);
      }
      const { spec } = (await server.call('GET', `${FLEET_BINDINGS}/${name}`)).json;
      expect(spec.clusters).toEqual({ selector: { matchLabels: { env: 'prod' } } });
      expect((await applied('lead', undefined)).code).toBe(200);
    });

    it('a FleetRoleBinding is never read from a key that is sent twice: the last one may be the wider one', async () => {
      const name = fresh();
      const body = fleetBinding({ name, to: [group('friends')], role: 'token-maker', clusters: 'env=prod' });
      const twice = JSON.stringify(body).replace('"clusters":', '"clusters":{"names":["alpha"]},"clusters":');
      const send = (method: string, path: string, text: string, type: string) =>
        server.call(method, `${FLEET_BINDINGS}${path}fieldValidation=Ignore`, {
          body: text,
          headers: { 'Content-Type': type },
        });
      expect((await fleet('admin', 'POST', '', body)).code).toBe(201);
      const apply = APPLY['Content-Type'];
      const answers = [
        await send('POST', '?', twice.replace(name, fresh()), 'application/json'),
        await send(
          'POST',
          '?',
          `spec: {}\n${Object.entries(JSON.parse(twice))
            .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
            .join('')}`,
          'application/yaml',
        ),
        await send('PATCH', `/${name}?fieldManager=m&`, twice, apply),
        await send(
          'PATCH',
          `/${name}?`,
          '{"spec":{"maxPassSeconds":100,"maxPassSeconds":90000}}',
          PATCH['Content-Type'],
        ),
      ];
      expect(answers.map(({ code, json }) => [code, json.message])).toEqual([
        [400, expect.stringContaining('duplicate field "spec.clusters"')],
        [400, expect.stringContaining('key "spec" already set in map')],
        [400, expect.stringContaining('key "clusters" already set in map')],
        [400, expect.stringContaining('duplicate field "spec.maxPassSeconds"')],
      ]);
    });

    it('F-08: the kind of a subject is one of three', async () => {
      const { metadata, roleRef } = binding('token-maker');
      const subjects = [{ kind: 'Robot', name: 'r2' }];
      const answer = await as('admin', 'POST', 'clusterrolebindings', { metadata, subjects, roleRef });
      expect([answer.code, answer.json.details.causes]).toEqual([
        422,
        [
          {
            reason: 'FieldValueNotSupported',
            message: 'Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
            field: 'subjects[0].kind',
          },
        ],
      ]);
    });

    it('F-07: the role of a binding is immutable; the error prints it with the field names of Go', async () => {
      const body = binding('token-maker');
      await create(server, `${RBAC}/clusterrolebindings`, body);
      const path = `clusterrolebindings/${body.metadata.name}`;
      const answer = await as('admin', 'PATCH', path, { roleRef: { name: 'all-powerful' } }, PATCH);
      expect(answer.code).toBe(422);
      expect(answer.json.details.causes).toEqual([
        {
          reason: 'FieldValueInvalid',
          message: `Invalid value: {"APIGroup":"${RBAC_GROUP}","Kind":"ClusterRole","Name":"all-powerful"}: cannot change roleRef`,
          field: 'roleRef',
        },
      ]);
    });
  });

  it('A6: permissions of a service account in its own cluster let it grant nothing', async () => {
    const account = { kind: 'ServiceAccount', namespace: 'ci', name: 'builder' };
    await grant(server, { to: account, rules: [WRITES, TOKEN] });
    const issued = await server.call('POST', '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts/builder/token', {
      body: { spec: { audiences: [] } },
    });
    const token: string = issued.json.status.token;
    const answer = await server.call('POST', `${RBAC}/clusterroles`, { body: role([TOKEN]), token });
    expect(answer.code).toBe(403);
    expect(answer.json.message).toContain(
      'User "system:cluster:alpha:serviceaccount:ci:builder" cannot create resource',
    );
  });
});

describe('default roles', () => {
  /** P-20: what callers with each default role can and cannot do. */

  beforeAll(async () => {
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

  describe('P-20: the default roles', () => {
    it.each([
      ['viewer', { lists: ['alpha', 'beta'], get: 200, token: 403, pods: 403, edit: 403, roles: 403 }],
      ['issuer', { lists: [], get: 403, token: 201, pods: 403, edit: 403, roles: 403 }],
      ['admin2', { lists: ['alpha', 'beta'], get: 200, token: 201, pods: 200, edit: 200, roles: 200 }],
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
});
