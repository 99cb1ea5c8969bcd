import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openWebhookReceiver } from '../../src/notify/receivers.fixture.ts';
import { auditLogOf, eventsOf, readAudit } from './support/audit.ts';
import { FLEET_BINDINGS } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { asUser, createLeaving, createObjects, issue, tokenPath } from './support/objects.ts';
import { RBAC } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { TLS } from './support/server.ts';
import { notifyFileOf, sharedTlsServer } from './support/shared-server.ts';

/** Users request access, others approve it, and it expires. */

const GROUP = 'clusterpass.dev';
const PATH = `/apis/${GROUP}/v1alpha1/accessrequests`;
const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const TOKENS = may('create', 'serviceaccounts/token');
const SEE = ['get', 'list', 'watch'].map((verb) => may(verb, 'clusters', 'clusterregistry.k8s.io'));
const APPROVE = may('approve', 'accessrequests', GROUP);

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  const request = may('create', 'accessrequests', GROUP);
  await grant(server, { to: { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'devs' }, rules: [request] });
  // Approvers: of production, of production without holding anything, of one namespace.
  const rules = [...SEE, TOKENS, APPROVE];
  for (const name of ['lea', 'max']) await grant(server, { to: name, rules, clusters: 'env=prod' });
  await grant(server, { to: 'weak', rules: [APPROVE], clusters: 'env=prod' });
  await grant(server, { to: 'dev', rules: [TOKENS, APPROVE, request], namespace: 'shop', clusters: 'env=prod' });
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

async function asked(user: string, spec: object = builder): Promise<string> {
  const { code, json, text } = await ask(user, spec);
  expect(code, text).toBe(201);
  return json.metadata.name;
}

const decide = (user: string, name: string, type: string, more: object = {}, headers: object = {}) =>
  server.call('PATCH', `${PATH}/${name}/approval`, {
    ...asUser(user),
    body: { status: { conditions: [{ type, status: 'True', ...more }] } },
    headers: { ...MERGE, ...headers },
  });

const passOf = async (user: string, path = tokenPath()): Promise<number> =>
  (await server.call('POST', path, { ...asUser(user), body: { spec: { audiences: [] } } })).code;

describe('an access request', () => {
  it('is approved by another user, grants access until it expires, and is withdrawn', async () => {
    const { json: created } = await ask('kate', {
      ...builder,
      requestedBy: { username: 'root' },
      durationSeconds: 600,
    });
    const { name } = created.metadata;
    expect(created.spec).toMatchObject({ requestedBy: { username: 'kate', uid: 'uid-kate' }, durationSeconds: 600 });
    expect(created.status).toEqual({ phase: 'Pending', expirationTimestamp: expect.any(String) });
    expect(await passOf('kate')).toBe(403);
    const { code, json, text } = await decide('lea', name, 'Approved', { message: 'go on' });
    expect(code, text).toBe(200);
    expect(json.status).toMatchObject({
      phase: 'Approved',
      decidedBy: { username: 'lea' },
      bindingRef: { kind: 'FleetRoleBinding', name: `clusterpass:access-request:${name}:ci` },
    });
    const left = Date.parse(json.status.expirationTimestamp) - Date.parse(json.status.decisionTimestamp);
    expect(left).toBe(600_000);
    expect([await passOf('kate'), await passOf('kate', tokenPath('other')), await passOf('kurt')]).toEqual([
      201, 403, 403,
    ]);
    expect(await passOf('kate', tokenPath('builder', 'ci', 'beta'))).toBe(403);
    const seen = async () => (await server.call('GET', '/auth/v1/clusters', asUser('kate'))).json.items.length;
    expect(await seen()).toBe(1);
    const binding = await server.call('GET', `${FLEET_BINDINGS}/clusterpass:access-request:${name}:ci`);
    expect(binding.json.spec).toMatchObject({
      clusters: { names: ['alpha'], uid: json.status.clusterUID },
      namespaces: ['ci'],
      expiresAt: json.status.expirationTimestamp,
    });
    const again = await decide('max', name, 'Approved');
    expect([again.code, again.json.status.decidedBy.username]).toEqual([200, 'lea']);
    expect((await decide('max', name, 'Denied')).code).toBe(409);
    expect((await decide('kate', name, 'Withdrawn')).json.status).toMatchObject({
      phase: 'Withdrawn',
      withdrawnBy: { username: 'kate' },
    });
    expect([await passOf('kate'), await seen()]).toEqual([403, 0]);
    expect((await server.call('DELETE', `${PATH}/${name}`, asUser('kate'))).code).toBe(200);
    const role = `clusterpass:access-request:${name}`;
    for (const path of [`namespaces/ci/roles/${role}:ci`, `clusterroles/${role}`]) {
      expect((await server.call('GET', `${RBAC}/${path}`)).code).toBe(404);
    }
  });

  it('shows an approver what an approval would do, and others nothing', async () => {
    const name = await asked('kate');
    const shownTo = async (user: string) =>
      (await server.call('GET', `${PATH}/${name}/approval`, asUser(user))).json.status.preview;
    const all = ['see the cluster', 'passes of ci/builder'];
    expect(await shownTo('lea')).toEqual({ allowed: true, gains: all, serviceAccount: 'Exists' });
    const sees = await grant(server, { to: { kind: 'Group', name: 'devs' }, rules: SEE });
    expect(await shownTo('lea')).toMatchObject({ has: ['see the cluster'], gains: ['passes of ci/builder'] });
    await sees();
    // Neither what the requester has nor what exists.
    expect(await shownTo('weak')).toEqual({
      allowed: false,
      message: expect.stringContaining('not currently held in cluster "alpha"'),
    });
    expect(await shownTo('kate')).toBeUndefined();
    const stored = await decide('lea', name, 'Approved');
    expect([stored.json.status.preview, await shownTo('lea')]).toEqual([undefined, undefined]);
    expect(stored.json.spec.requestedBy.groups).toContain('devs');
    await decide('kate', name, 'Withdrawn');
  });

  it('for passes for the requester grants these, to people only', async () => {
    const spec = { cluster: 'alpha', userpass: true, reason: 'on call' };
    const name = await asked('kate', spec);
    expect((await decide('lea', name, 'Approved')).code).toBe(403);
    expect((await decide('root', name, 'Approved')).code).toBe(200);
    const { json } = await server.call('GET', `${RBAC}/clusterroles/clusterpass:access-request:${name}`);
    expect(json.rules.map(({ resources }: { resources: string[] }) => resources)).toEqual([
      ['clusters'],
      ['clusters/userpass'],
    ]);
    await decide('kate', name, 'Withdrawn');
    await grant(server, { to: 'system:serviceaccount:ci:builder', rules: [may('create', 'accessrequests', GROUP)] });
    const body = { apiVersion: `${GROUP}/v1alpha1`, kind: 'AccessRequest', metadata: { name: 'by-account' }, spec };
    const refused = await server.call('POST', PATH, { token: await issue(server), body });
    expect([refused.code, refused.json.message]).toEqual([
      422,
      expect.stringContaining('spec.userpass: Forbidden: only people get passes for themselves'),
    ]);
  });

  it('is not approved for an object that is being deleted and has finalizers', async () => {
    const { scopes, leave } = await createLeaving(server);
    const names = new Map<string, string>();
    for (const [what, scope] of Object.entries(scopes)) names.set(what, await asked('kate', { ...builder, ...scope }));
    const whole = await asked('kate', { cluster: 'leaving-cluster', reason: builder.reason });
    await leave();
    for (const [what, name] of [...names, ['cluster "leaving-cluster"', whole] as const]) {
      for (const query of ['?dryRun=All', '']) {
        const { code, json } = await server.call('PATCH', `${PATH}/${name}/approval${query}`, {
          ...asUser('root'),
          body: { status: { conditions: [{ type: 'Approved', status: 'True' }] } },
        });
        expect([code, json.message], query).toEqual([409, expect.stringContaining(`: the ${what} is being deleted`)]);
      }
      expect((await decide('root', name, 'Denied')).json.status.phase).toBe('Denied');
      expect((await server.call('DELETE', `${PATH}/${name}`, asUser('kate'))).code).toBe(200);
    }
  });

  it('is denied with a message, and cannot be approved then', async () => {
    const name = await asked('kate');
    expect((await decide('lea', name, 'Denied', { message: 'use staging' })).json.status).toMatchObject({
      phase: 'Denied',
      conditions: [{ type: 'Denied', message: 'use staging', lastTransitionTime: expect.any(String) }],
    });
    expect((await decide('lea', name, 'Denied')).code).toBe(200);
    const { code, json } = await decide('lea', name, 'Approved');
    expect([code, json.message]).toEqual([409, expect.stringContaining('it is Denied')]);
    expect(await passOf('kate')).toBe(403);
  });

  it('A31: is not approved by a decision with the UID of an earlier request of the same name', async () => {
    const { name, uid } = (await ask('kate')).json.metadata;
    expect((await server.call('DELETE', `${PATH}/${name}`, asUser('kate'))).code).toBe(200);
    const other = { ...builder, serviceAccount: { namespace: 'ci', name: 'deployer' } };
    const { json } = await ask('kate', other, { name });
    const decided = (of: string) =>
      server.call('PATCH', `${PATH}/${name}/approval`, {
        ...asUser('lea'),
        body: { metadata: { uid: of }, status: { conditions: [{ type: 'Approved', status: 'True' }] } },
      });
    expect((await decided(uid)).code).toBe(409);
    const { status } = (await server.call('GET', `${PATH}/${name}`, asUser('kate'))).json;
    expect(status.phase).toBe('Pending');
    expect((await decided(json.metadata.uid)).code).toBe(200);
    await decide('kate', name, 'Withdrawn');
  });

  it('of two approvers one decides, and there is one binding', async () => {
    const name = await asked('kate');
    const answers = await Promise.all(['lea', 'max', 'root', 'lea'].map((user) => decide(user, name, 'Approved')));
    expect(answers.map(({ code }) => code)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ json }) => json.status.decidedBy.username)).size).toBe(1);
    const { json } = await server.call('GET', FLEET_BINDINGS);
    const names: string[] = json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    expect(names.filter((each) => each.includes(name))).toEqual(
      ['', ':ci'].map((end) => `clusterpass:access-request:${name}${end}`),
    );
    // An approval and a withdrawal at the same time: in either order, nothing is granted afterwards.
    const other = await asked('kurt');
    const [, withdrawn] = await Promise.all([decide('lea', other, 'Approved'), decide('kurt', other, 'Withdrawn')]);
    expect([withdrawn?.code, await passOf('kurt')]).toEqual([200, 403]);
    await decide('kate', name, 'Withdrawn');
  });

  it('is in the audit log: who asked, who decided, for what', async () => {
    const name = await asked('kate');
    await decide('lea', name, 'Approved');
    await decide('kate', name, 'Withdrawn');
    const annotations = (phase: string) => ({
      'clusterpass.dev/access-request': name,
      'clusterpass.dev/requester': 'kate',
      'clusterpass.dev/requested-access': 'see the cluster, passes of ci/builder',
      'clusterpass.dev/cluster': 'alpha',
      'clusterpass.dev/phase': phase,
    });
    const events = async () =>
      (await readAudit(auditLogOf(server))).filter(
        ({ objectRef, annotations: found }) =>
          found?.['clusterpass.dev/access-request'] === name || objectRef?.name?.includes(`:${name}`),
      );
    await expect.poll(async () => (await events()).length).toBe(11);
    // Events are written when their request has ended: their order can differ.
    const all = await events();
    expect(all.map(({ user, verb, objectRef }) => `${user.username} ${verb} ${objectRef.resource}`).sort()).toEqual([
      'kate create accessrequests',
      'kate patch accessrequests',
      'lea patch accessrequests',
      ...['create', 'delete'].flatMap((verb) =>
        ['clusterroles', 'fleetrolebindings', 'fleetrolebindings', 'roles'].map(
          (resource) => `system:clusterpass:access-requests ${verb} ${resource}`,
        ),
      ),
    ]);
    const people = all.filter(({ objectRef }) => objectRef.resource === 'accessrequests');
    const found = Object.fromEntries(
      people.map((event) => [event.annotations['clusterpass.dev/phase'], event.annotations]),
    );
    for (const phase of ['Pending', 'Approved', 'Withdrawn']) expect(found[phase]).toMatchObject(annotations(phase));
    expect(JSON.stringify(people)).not.toContain('INC-1');
  });
});

describe('A31: who may do what', () => {
  it('a refused request says in the audit log what was asked for, without a token', async () => {
    const token = `${'cpbt_east_Ab3'.repeat(4)}Q`;
    const read = { verb: 'get', resource: 'secrets', namespace: 'ci', name: token };
    for (const [spec, text] of [
      [builder, 'see the cluster, passes of ci/builder'],
      [{ cluster: 'alpha', resourceAttributes: read }, 'get secrets <redacted> in ci'],
    ] as const) {
      const { code, headers } = await ask('nobody', { reason: 'on call', ...spec });
      expect(code).toBe(403);
      const [event] = await eventsOf(auditLogOf(server), headers.get('audit-id'));
      expect(event.annotations).toMatchObject({
        'clusterpass.dev/cluster': 'alpha',
        'clusterpass.dev/requested-access': text,
      });
    }
  });

  it('a request needs a rule, and its response says nothing about clusters', async () => {
    const refused = (user: string, cluster: string) => ask(user, { ...builder, cluster });
    const texts = await Promise.all(
      ['alpha', 'beta', 'missing'].map(async (name) => (await refused('nobody', name)).text),
    );
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('cannot create resource');
    const [hidden, absent] = await Promise.all(['beta', 'missing'].map((cluster) => refused('kurt', cluster)));
    expect([hidden?.code, absent?.code]).toEqual([201, 201]);
    expect(Object.keys(hidden?.json.status)).toEqual(Object.keys(absent?.json.status));
    // By labels only in a namespace of clusters that the caller does not see.
    const shop = { ...builder, serviceAccount: { namespace: 'shop', name: 'x' } };
    expect((await ask('dev', shop)).code).toBe(403);
    for (const { json } of [hidden, absent].filter((each) => each !== undefined)) {
      expect((await server.call('DELETE', `${PATH}/${json.metadata.name}`, asUser('kurt'))).code).toBe(200);
    }
  });

  it('the response to a refused approval says nothing about clusters', async () => {
    await grant(server, { to: 'wide', rules: [APPROVE] });
    const texts = await Promise.all(
      ['beta', 'missing'].map(async (cluster) => {
        const name = await asked('kate', { ...builder, cluster });
        const { code, text } = await decide('wide', name, 'Approved');
        await decide('kate', name, 'Withdrawn');
        return `${code} ${text
          .replaceAll(name, 'NAME')
          .replaceAll(cluster, 'X')
          .replaceAll(/\d\d:\d\d:\d\dZ/g, 'T')}`;
      }),
    );
    expect(texts[0]).toMatch(/^403 .*not currently held in cluster/);
    expect(texts[1]).toBe(texts[0]);
  });

  it('no caller decides a request that it made, under any identity', async () => {
    const asRequester = may('create', 'accessrequests', GROUP);
    await grant(server, { to: 'lea', rules: [asRequester, may('impersonate', 'users', '', ['kate', 'max'])] });
    const own = await asked('lea');
    const headers = (user: string) => ({ 'Impersonate-User': user });
    const codes = async (name: string) => [
      (await decide('lea', name, 'Approved')).code,
      (await decide('lea', name, 'Denied')).code,
      (await decide('lea', name, 'Approved', {}, headers('max'))).code,
    ];
    expect(await codes(own)).toEqual([403, 403, 403]);
    // A request that lea makes as kate is also a request of lea.
    const impersonated = await server.call('POST', PATH, {
      ...asUser('lea'),
      headers: { ...headers('kate'), 'Impersonate-Group': 'devs' },
      body: { apiVersion: `${GROUP}/v1alpha1`, kind: 'AccessRequest', metadata: { name: 'as-kate' }, spec: builder },
    });
    expect(impersonated.code).toBe(403);
    await grant(server, { to: 'lea', rules: [may('impersonate', 'groups', '', ['devs'])] });
    const made = await server.call('POST', PATH, {
      ...asUser('lea'),
      headers: { ...headers('kate'), 'Impersonate-Group': 'devs' },
      body: { apiVersion: `${GROUP}/v1alpha1`, kind: 'AccessRequest', metadata: { name: 'as-kate' }, spec: builder },
    });
    expect(made.json.spec.requestedBy).toMatchObject({ username: 'kate', actors: ['lea'] });
    expect(await codes('as-kate')).toEqual([403, 403, 403]);
    expect((await decide('max', 'as-kate', 'Denied')).code).toBe(200);

    // A pass that the requester asked for acts as the requester, for any account.
    await grant(server, {
      to: { kind: 'ServiceAccount', namespace: 'ci', name: 'builder' },
      rules: [TOKENS, APPROVE],
    });
    const body = { spec: { audiences: [] } };
    const ofLea = (await server.call('POST', tokenPath(), { ...asUser('lea'), body })).json.status.token;
    const ofAdmin = await issue(server);
    const by = (token: string) =>
      server.call('PATCH', `${PATH}/${own}/approval`, {
        token,
        body: { status: { conditions: [{ type: 'Denied', status: 'True' }] } },
      });
    expect([(await by(ofLea)).code, (await by(ofAdmin)).code]).toEqual([403, 200]);
  });

  it('the spec of a request cannot be changed, and only the server writes its status', async () => {
    const name = await asked('kate');
    const before = (await server.call('GET', `${PATH}/${name}`)).json;
    const put = (object: object) => server.call('PUT', `${PATH}/${name}`, { body: object });
    const { requestedBy: _, ...spec } = before.spec;
    const labels = { team: 'x', 'clusterpass.dev/cluster': 'beta', 'clusterpass.dev/requested-by': 'other' };
    const sent = { ...before, metadata: { ...before.metadata, labels }, spec, status: { phase: 'Approved' } };
    const { json, code, text } = await put(sent);
    expect(code, text).toBe(200);
    expect([json.spec, json.status]).toEqual([before.spec, before.status]);
    expect(json.metadata.labels).toEqual({ ...before.metadata.labels, team: 'x' });
    expect((await put({ ...json, spec: { ...json.spec, cluster: 'beta' } })).code).toBe(422);
    expect((await server.call('PUT', `${PATH}/${name}/status`, { body: json })).code).toBe(404);
    const apply = (object: object) =>
      server.call('PATCH', `${PATH}/applied?fieldManager=me`, {
        body: { apiVersion: `${GROUP}/v1alpha1`, kind: 'AccessRequest', metadata: { name: 'applied' }, ...object },
        headers: { 'Content-Type': 'application/apply-patch+yaml' },
      });
    expect([(await apply({ spec: builder })).code, (await apply({ spec: builder })).code]).toEqual([201, 200]);
    expect((await apply({ spec: { ...builder, reason: 'other' } })).code).toBe(422);
    await decide('kate', name, 'Withdrawn');
  });
});

describe('the command line', () => {
  const at = (user: string): Promise<Person> =>
    Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: asUser(user).token, CLUSTERPASS_CA: TLS.caFile });

  it('asks, lists, shows, approves and withdraws', async () => {
    const [kate, lea, nobody] = [await at('kate'), await at('lea'), await at('nobody')];
    const token = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpha'];
    const hint = "Ask for it: clusterpass request create --cluster alpha --account ci/builder --reason '...'";
    expect(await kate.fails(token)).toContain(hint);
    // A name that is misspelled, first.
    const see = ['get', 'list'].map((verb) => may(verb, 'clusters', 'clusterregistry.k8s.io'));
    const sees = await grant(server, { to: 'kate', rules: see });
    const own = await grant(server, { to: 'kate', rules: [may('create', 'serviceaccounts/token', '', ['builder'])] });
    const misspelled = await kate.fails(['create', 'token', 'buildr', '-n', 'ci', '--cluster', 'alpha']);
    expect(misspelled).toMatch(
      /^Error from server \(Forbidden\): .*\nDid you mean the service account ci\/builder\?\nAsk for it: .*\n$/,
    );
    await own();
    const elsewhere = await kate.fails(['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpa']);
    expect(elsewhere).toMatch(/\nDid you mean the cluster alpha\?\nAsk for it: .* --cluster alpa .*\n$/);
    await sees();
    expect(await nobody.fails(token)).not.toContain('Ask for it');
    const what = ['--cluster', 'alpha', '--account', 'ci/builder', '--reason', 'INC-2', '--duration', '30m'];
    const created = await kate.ok(['request', 'create', ...what]);
    const name = /^accessrequest\.clusterpass\.dev\/(kate-\w{5}) created\n$/.exec(created)?.[1] ?? '';
    expect((await lea.run(['request', 'list', '--phase', 'pending'])).stderr).toContain(
      '--phase: "pending" must be one of Pending, Approved, Denied, Withdrawn, Expired',
    );
    expect(await lea.ok(['request', 'list', '--phase', 'Pending', '--requester', 'kate', '-o', 'wide'])).toMatch(
      new RegExp(`${name} +kate +alpha +see the cluster, passes of ci/builder +30m +Pending +\\d{4}-\\S+Z +INC-2`),
    );
    expect(await kate.fails(['request', 'approve', name])).toContain('requesters do not decide their own requests');
    const shown = await lea.ok(['request', 'show', name]);
    expect(shown).toMatch(
      /Groups: +devs.*\n[\s\S]*Would gain: +see the cluster, passes of ci\/builder\nThe account: +exists\nYou may approve: +yes\n/,
    );
    const [uid = ''] = /(?<=UID:\s+)\S+/.exec(shown) ?? [];
    const other = ['request', 'approve', name, '--uid', randomUUID()];
    expect(await lea.fails(other)).toContain('Precondition failed: UID in precondition');
    expect(await lea.fails([...other, 'b'])).toContain('--uid is for one request');
    expect(await lea.fails(['request', 'approve', name, '--uid', ''])).toContain('--uid must not be empty');
    expect(await lea.ok(['request', 'approve', name, '--uid', uid, '-m', 'go on'])).toMatch(
      new RegExp(`${name} approved: see the cluster, passes of ci/builder in alpha for kate until `),
    );
    expect(await kate.ok(['request', 'show', name])).toMatch(/Decided by: +lea\n[\s\S]*Approved: .*go on\n/);
    expect(await kate.ok(token)).toMatch(/^eyJ/);
    await kate.ok([...token, '--duration', '2h']);
    expect(await kate.run(['request', 'withdraw', name, '--dry-run', 'server'])).toMatchObject({ code: 0, stderr: '' });
    const note =
      'Passes of ci/builder in alpha that kate requested under it are revoked if they have a record. ' +
      'Others stay valid until they expire.\n';
    expect(await kate.run(['request', 'withdraw', name])).toEqual({
      code: 0,
      stdout: `accessrequest.clusterpass.dev/${name} withdrawn\n`,
      stderr: note,
    });
    await expect.poll(() => kate.ok(['token', 'list', '-o', 'name'])).toBe('');
    expect((await lea.run(['request', 'withdraw', name])).stderr).toBe(note);
    expect(await lea.fails(['request', 'approve', name])).toContain('it is Withdrawn');
    expect(await kate.ok(['request', 'list', '--phase', 'Withdrawn', '--no-headers'])).toMatch(
      new RegExp(`^${name} +kate +alpha +see the cluster, passes of ci/builder +30m +Withdrawn +<none> `, 'm'),
    );
    const withdrawn = await kate.ok(['request', 'show', name]);
    expect(withdrawn).toMatch(/^Duration: +30m$/m);
    expect(withdrawn).not.toContain('Expires:');
    const denied = await kate.ok([
      'request',
      'create',
      'get',
      'pods',
      '-n',
      'ci',
      '--cluster',
      'alpha',
      '--reason',
      'x',
      '-o',
      'name',
    ]);
    expect(await lea.ok(['request', 'deny', denied.trim(), '-m', 'no'])).toContain(' denied\n');
    expect(await kate.fails(['request', 'create', '--cluster', 'alpha'])).toContain('--reason is required');
  });

  it('waits for the decision, and says what comes next', async () => {
    const [kate, lea] = [await at('kate'), await at('lea')];
    const what = ['--cluster', 'alpha', '--account', 'ci/builder', '--reason', 'INC-9', '--wait'];
    const decided = async (decision: readonly string[]) => {
      const pending = async () =>
        (await lea.ok(['request', 'list', '--phase', 'Pending', '--requester', 'kate', '-o', 'name'])).split('\n');
      const before = await pending();
      const waiting = kate.run(['request', 'create', ...what]);
      const asked = async () => (await pending()).find((each) => !before.includes(each));
      await expect.poll(asked).toBeDefined();
      const name = (await asked()) ?? '';
      await lea.ok(['request', decision[0] ?? '', name, ...decision.slice(1)]);
      return { name: name.slice(name.indexOf('/') + 1), ...(await waiting) };
    };
    const { name, ...approved } = await decided(['approve']);
    expect(approved).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        / created\n.* approved: see the cluster, passes of ci\/builder in alpha for kate until .*Z\n$/,
      ),
      stderr: expect.stringMatching(/\nNext: clusterpass kubeconfig --cluster alpha --as ci\/builder\n$/),
    });
    expect(await kate.ok(['request', 'show', name])).toMatch(
      /Next: +clusterpass kubeconfig --cluster alpha --as ci\/builder\n/,
    );
    await kate.ok(['request', 'withdraw', name]);
    const denied = await decided(['deny', '-m', 'use staging']);
    expect(denied).toMatchObject({ code: 1, stdout: expect.stringMatching(/ denied\n$/) });
    expect(denied.stderr).toMatch(/\nuse staging\n$/);
  });
});

describeWithKubectl('kubectl', () => {
  it('gets, explains and approves access requests', async () => {
    const name = await asked('kate', { cluster: 'alpha', reason: 'on call' });
    expect(await kubectlOk(server, ['get', 'accessrequests', name])).toMatch(
      /REQUESTER +CLUSTER +ACCESS[\s\S]*see the cluster/,
    );
    expect(await kubectlOk(server, ['explain', 'accessrequests.spec.reason'])).toContain('Approvers read it');
    const condition = { type: 'Approved', status: 'True', reason: 'ok', message: 'until the fix is out' };
    const patch = JSON.stringify({ status: { conditions: [condition] } });
    await kubectlOk(
      server,
      ['patch', `accessrequest/${name}`, '--subresource=approval', '--type', 'merge', '-p', patch],
      asUser('root'),
    );
    expect((await server.call('GET', `${PATH}/${name}`)).json.status).toMatchObject({
      phase: 'Approved',
      decidedBy: { username: 'root' },
    });
    await kubectlOk(server, ['delete', 'accessrequest', name]);
  });
});

describe('A31: a pass that does not say who requested it', () => {
  it('neither asks nor decides', async () => {
    const request = may('create', 'accessrequests', GROUP);
    await grant(server, { to: 'system:serviceaccount:ci:builder', rules: [request, ...SEE, TOKENS, APPROVE] });
    const known = await issue(server);
    const { iss } = decodeJwt(known);
    // With an audience outside of the fleet the pass has no `act`, and without a record nothing else says it.
    const unknown = await issue(server, tokenPath(), { audiences: [iss, 'vault'] });
    const body = {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: 'AccessRequest',
      metadata: { name: 'by-pass' },
      spec: builder,
    };
    const refused = await server.call('POST', PATH, { token: unknown, body });
    expect([refused.code, refused.json.message]).toEqual([
      403,
      expect.stringContaining('does not say who requested it'),
    ]);
    expect((await server.call('POST', PATH, { token: known, body })).code).toBe(201);
    const asked = await ask('kate');
    const approval = { status: { conditions: [{ type: 'Approved', status: 'True' }] } };
    const path = `${PATH}/${asked.json.metadata.name}/approval`;
    const decide = (token: string) => server.call('PATCH', path, { token, body: approval });
    const denied = await decide(unknown);
    expect([denied.code, denied.json.message]).toEqual([403, expect.stringContaining('does not say who requested it')]);
    expect((await decide(known)).code).toBe(200);
  });
});

describe('--notify-config', () => {
  const config = (url: string, secretFile: string) => ({
    receivers: [{ name: 'inbox', webhook: { url, secretFile } }],
    routes: [{ events: ['request.waiting', 'request.decided'], clusters: 'env=prod', receivers: ['inbox'] }],
  });
  const readiness = async (): Promise<number> => (await server.call('GET', '/readyz/notifications')).code;

  it('tells of requests by a signed webhook, from the file as it is now, and stays with the last good one', async () => {
    const receiver = await openWebhookReceiver();
    onTestFinished(() => void receiver.close());
    const key = `whsec_${randomBytes(32).toString('base64')}`;
    const secretFile = join(server.dataDir, 'notify-secret');
    await writeFile(secretFile, key, { mode: 0o600 });
    onTestFinished(() => writeFile(notifyFileOf(server), '{receivers: [], routes: []}'));
    await writeFile(notifyFileOf(server), JSON.stringify(config(receiver.url, secretFile)));
    // What earlier tests asked and decided may still be told.
    const told = (name: string) =>
      receiver.received
        .filter(({ body }) => body.includes(name))
        .map(({ body, headers }) => new Webhook(key).verify(body, headers))
        .at(-1);
    const item = (name: string, text: string) => ({
      data: {
        items: expect.arrayContaining([{ cluster: 'alpha', url: `${server.url}/console/#/requests/${name}`, text }]),
      },
    });
    // The file is read within half a second; a request that was told before has no receiver yet.
    let name = '';
    await vi.waitFor(
      async () => {
        if (name !== '') await decide('kate', name, 'Withdrawn');
        name = await asked('kate');
        await vi.waitFor(() => expect(told(name)).toBeDefined(), { timeout: 3_000 });
      },
      { timeout: 60_000 },
    );
    const text = 'kate: see the cluster, passes of ci/builder in alpha';
    const next = 'next: clusterpass kubeconfig --cluster alpha --as ci/builder';
    expect(told(name)).toMatchObject({
      type: 'request.waiting',
      ...item(name, `${text}, asked for. Reason: INC-1: deploy a fix`),
    });

    await writeFile(notifyFileOf(server), '{receivers: [], routes: [], x: 1}');
    await expect.poll(readiness, { timeout: 30_000 }).toBe(503);
    expect(server.output.stderr).toContain('notify.yaml: x: there is no such field');
    expect((await server.call('GET', '/readyz')).code).toBe(200);
    expect((await decide('lea', name, 'Approved')).code).toBe(200);
    await expect
      .poll(() => told(name), { timeout: 30_000 })
      .toMatchObject({
        type: 'request.decided',
        ...item(name, `${text}, approved by lea (${next}). Reason: INC-1: deploy a fix`),
      });
    const { text: metrics } = await server.call('GET', '/metrics');
    expect(metrics).toMatch(/^clusterpass_notify_problems 1$/m);
    expect(server.output.stderr).not.toContain('topsecret');
  });
});
