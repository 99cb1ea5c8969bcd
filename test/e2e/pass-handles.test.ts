import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { allAuditBytes, auditLogOf, eventsOf, readAudit } from './support/audit.ts';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import { Person } from './support/cli.ts';
import { describeWithKubectl, kubectlOk } from './support/kubectl.ts';
import { asUser, codeFor, create, createObjects, tokenPath } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { grant, may } from './support/rbac.ts';
import { type Answer, TLS, tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** Handles of passes: users and agents request them, others approve them, and the requester redeems them. */

const GROUP = 'clusterpass.dev';
const PATH = `/apis/${GROUP}/v1alpha1/passes`;
const TYPE = { apiVersion: `${GROUP}/v1alpha1`, kind: 'Pass' };
const MERGE = { 'Content-Type': 'application/merge-patch+json' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const TOKENS = may('create', 'serviceaccounts/token');
const HANDLE = /^pass_[a-z2-7]{32}$/;
const AGENT = { client: { name: 'some-agent/1.0' } };
/** The annotations of audit events of passes. */
const ACCOUNT = { 'clusterpass.dev/cluster': 'alpha', 'clusterpass.dev/service-account': 'ci/builder' };
const APPROVED = { status: { conditions: [{ type: 'Approved', status: 'True' }] } };

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  const agents = 'Allow';
  const toProd = (to: string, fields: object) => grant(server, { to, rules: [TOKENS], clusters: 'env=prod', fields });
  await toProd('ann', { agents });
  await toProd('con', { agents, approval: { by: 'Requester' } });
  await toProd('rev', { agents, approval: { by: 'Approver' } });
  await toProd('alw', { agents, approval: { by: 'ApproverAlways' } });
  await toProd('pln', {});
  await grant(server, { to: 'lea', rules: [may('approve', 'passes', GROUP)], clusters: 'env=prod' });
  await grant(server, { to: 'rev', rules: [may('approve', 'passes', GROUP)] });
  await grant(server, { to: 'ann', rules: [may('list', 'clusters', 'clusterregistry.k8s.io')] });
});

const SPEC = {
  cluster: 'alpha',
  serviceAccount: { namespace: 'ci', name: 'builder' },
  purpose: 'INC-1: read the logs',
};

const ask = (user: string, spec: object = {}, metadata: object = {}, query = ''): Promise<Answer> =>
  server.call('POST', `${PATH}${query}`, { ...asUser(user), body: { ...TYPE, metadata, spec: { ...SPEC, ...spec } } });

async function asked(user: string, spec: object = {}): Promise<string> {
  const { code, json, text } = await ask(user, spec);
  expect(code, text).toBe(201);
  return json.metadata.name;
}

const redeem = (user: string, name: string, body?: object): Promise<Answer> =>
  server.call('POST', `${PATH}/${name}/token`, { ...asUser(user), ...(body === undefined ? {} : { body }) });

const decide = (user: string, name: string, type = 'Approved', more: object = {}, query = ''): Promise<Answer> =>
  server.call('PATCH', `${PATH}/${name}/approval${query}`, {
    ...asUser(user),
    body: { status: { conditions: [{ type, status: 'True' }] }, ...more },
  });

const revoke = async (user: string, name: string): Promise<number> =>
  (await server.call('DELETE', `${PATH}/${name}`, asUser(user))).code;

const listed = async (user: string): Promise<string[]> =>
  (await server.call('GET', PATH, asUser(user))).json.items.map(
    (item: { metadata: { name: string } }) => item.metadata.name,
  );

describe('A48, MC-75: a handle', () => {
  it('A48: with the token of an agent, an account lets no agent do what its binding allows only people', async () => {
    const to = 'system:cluster:alpha:serviceaccount:ci:builder';
    const rules = [TOKENS, may('create', 'fleetrolebindings', GROUP)];
    await create(server, `${RBAC}/clusterroles`, { metadata: { name: 'of-account' }, rules: [TOKENS] });
    const handles = [await asked('ann'), await asked('ann', AGENT)];
    const tokens = await Promise.all(handles.map(async (handle) => (await redeem('ann', handle)).json.status.token));
    const codes = async (name: string) => {
      const body = fleetBinding({ name, to: ['x'], role: 'of-account', fields: { agents: 'Allow' } });
      const answers = tokens.map((token) => server.call('POST', `${FLEET_BINDINGS}?dryRun=All`, { token, body }));
      return (await Promise.all(answers)).map(({ code }) => code);
    };
    const end = await grant(server, { to, rules, fields: {} });
    expect(await codes('for-people')).toEqual([201, 403]);
    await end();
    await grant(server, { to, rules, fields: { agents: 'Allow' } });
    expect(await codes('for-agents')).toEqual([201, 201]);
    for (const handle of handles) expect(await revoke('ann', handle)).toBe(200);
  });

  it('gives a token only to its requester, and its revocation revokes all of its tokens', async () => {
    const { code, json: pass } = await ask('ann', { ...AGENT, requestedBy: { username: 'root' } });
    const { name } = pass.metadata;
    expect([code, HANDLE.test(name)]).toEqual([201, true]);
    expect(pass.spec).toEqual({
      ...SPEC,
      durationSeconds: 600,
      requestedBy: { username: 'ann', uid: 'uid-ann', groups: ['system:authenticated'] },
      client: { id: 'login', name: 'some-agent/1.0' },
    });
    expect(pass.status).toMatchObject({ phase: 'Ready', approval: 'none', clusterUID: expect.any(String) });
    // Possession is not authentication: the handle of another is like one that does not exist.
    const absent = `pass_${'a'.repeat(32)}`;
    expect([(await redeem('eve', name)).code, (await redeem('root', name)).code]).toEqual([404, 404]);
    expect((await redeem('eve', name)).json.message).toBe(
      (await redeem('eve', absent)).json.message.replace(absent, name),
    );
    const headers = { 'Impersonate-User': 'ann', 'Impersonate-Uid': 'uid-ann' };
    const impersonated = await server.call('POST', `${PATH}/${name}/token`, { ...asUser('root'), headers });
    expect([impersonated.code, impersonated.json.message]).toEqual([403, expect.stringContaining('impersonates')]);
    const redeemed = await redeem('ann', name);
    expect(redeemed.code, redeemed.text).toBe(201);
    const { token } = redeemed.json.status;
    const { exp = 0, jti, act, sub } = decodeJwt(token);
    expect(exp * 1000).toBeLessThanOrEqual(Date.parse(pass.status.expirationTimestamp));
    expect(sub).toBe('system:serviceaccount:ci:builder');
    // TX-61: the agent outside, the person inside.
    expect(act).toMatchObject({ sub: 'agent:login', act: { sub: 'ann' } });
    expect(await codeFor(server, token)).toBe(200);
    const { json: after } = await server.call('GET', `${PATH}/${name}`, asUser('ann'));
    expect(after.status.tokens).toEqual([{ id: jti, expirationTimestamp: expect.any(String) }]);
    const tracked = `/apis/${GROUP}/v1alpha1/issuedtokens/${jti}`;
    expect((await server.call('GET', tracked, asUser('ann'))).code).toBe(200);
    expect([await revoke('eve', name), await revoke('ann', name)]).toEqual([403, 200]);
    expect([await codeFor(server, token), (await redeem('ann', name)).code]).toEqual([401, 404]);
    const events = async () => {
      const all = await readAudit(auditLogOf(server));
      return all.filter(
        ({ annotations, responseStatus }) =>
          annotations?.['clusterpass.dev/pass'] === name && responseStatus.code < 300,
      );
    };
    await expect.poll(async () => (await events()).length).toBe(3);
    for (const { annotations } of await events()) expect(annotations).toMatchObject(ACCOUNT);
    const [creation, redemption, deletion] = await events();
    expect(creation?.annotations).toMatchObject({ 'clusterpass.dev/purpose': SPEC.purpose });
    expect(redemption?.annotations).toMatchObject({
      'clusterpass.dev/client': 'login',
      'clusterpass.dev/client-name': 'some-agent/1.0',
      'authentication.kubernetes.io/issued-credential-id': `JTI=${jti}`,
    });
    expect(deletion?.annotations?.['clusterpass.dev/revoked-credential-ids']).toBe(`JTI=${jti}`);
    const review = { ...TYPE, kind: 'AuditEventReview', spec: { credentialID: jti } };
    const found = await server.call('POST', `/apis/${GROUP}/v1alpha1/auditeventreviews`, { body: review });
    expect(found.json.status?.events, found.text).toContainEqual(
      expect.objectContaining({ verb: 'delete', name, revokedCredentialID: jti }),
    );
  });

  it('is refused with an audit event that has its account, like that of a refused token request', async () => {
    const { code, headers } = await ask('eve');
    expect(code).toBe(403);
    const [event] = await eventsOf(auditLogOf(server), headers.get('audit-id'));
    expect(event.annotations).toMatchObject(ACCOUNT);
  });

  it('is named in the audit event of each request that it answers, also of a repeated one', async () => {
    const purpose = { purpose: 'INC-2: ask twice' };
    const name = await asked('alw', purpose);
    const { code, json, headers } = await ask('alw', purpose);
    expect([code, json.metadata.name]).toEqual([200, name]);
    const [event] = await eventsOf(auditLogOf(server), headers.get('audit-id'));
    expect(event.objectRef).toMatchObject({ resource: 'passes', name });
    expect(await revoke('alw', name)).toBe(200);
  });

  it('A44: its revocation says where tokens are still accepted, unless the cluster asks for each', async () => {
    const warnings = async (): Promise<string[]> => {
      const name = await asked('ann');
      expect((await redeem('ann', name)).code).toBe(201);
      return (await server.call('DELETE', `${PATH}/${name}`, asUser('ann'))).warnings;
    };
    const mark = async (checks: string | null): Promise<void> => {
      const body = { metadata: { annotations: { 'clusterpass.dev/token-checks': checks } } };
      expect((await server.call('PATCH', `${CLUSTERS}/alpha`, { body })).code).toBe(200);
    };
    expect(await warnings()).toEqual([expect.stringMatching(/verify them with the key set accept them until 20\S+Z$/)]);
    await mark('webhook');
    expect(await warnings()).toEqual([]);
    await mark(null);
  });

  it('has no name from the client, and is immutable', async () => {
    expect((await ask('ann', {}, { name: `pass_${'b'.repeat(32)}` })).code).toBe(422);
    expect((await ask('ann', {}, { generateName: 'pass_' })).code).toBe(422);
    const name = await asked('ann');
    const patch = { body: { spec: { purpose: 'another purpose' } }, headers: MERGE };
    expect((await server.call('PATCH', `${PATH}/${name}`, patch)).code).toBe(405);
    expect((await redeem('ann', name, { spec: { expirationSeconds: 86_400 } })).code).toBe(422);
    const strict = { ...asUser('ann'), body: { spec: { expirationSecond: 600 } } };
    expect((await server.call('POST', `${PATH}/${name}/token?fieldValidation=Strict`, strict)).code).toBe(400);
    for (const [key, value] of [
      ['for-server', 'https://attacker.example'],
      ['min-expiration-seconds', '86400'],
      ['mistake', 'x'],
    ]) {
      const { code, json } = await redeem('ann', name, {
        metadata: { annotations: { [`clusterpass.dev/${key}`]: value } },
      });
      expect([code, json.message]).toEqual([422, expect.stringContaining(`clusterpass.dev/${key}`)]);
    }
    expect(await revoke('ann', name)).toBe(200);
  });

  it('needs the permission again when it is redeemed', async () => {
    const take = await grant(server, { to: 'eve', rules: [TOKENS], fields: { agents: 'Allow' } });
    const name = await asked('eve', AGENT);
    expect((await redeem('eve', name)).code).toBe(201);
    await take();
    expect((await redeem('eve', name)).code).toBe(403);
    // As a person, eve may have passes again; the agent of eve may not.
    const takePlain = await grant(server, { to: 'eve', rules: [TOKENS] });
    const refused = await redeem('eve', name);
    expect([refused.code, refused.json.message]).toEqual([403, expect.stringContaining('spec.agents: Allow')]);
    await takePlain();
    expect(await revoke('eve', name)).toBe(200);
  });
});

const exchange = (user: string, parameters: Record<string, string>, path = '/oauth/token'): Promise<Answer> =>
  server.call('POST', path, {
    token: null,
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: tokenOf(user),
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...parameters,
    }).toString(),
    headers: FORM,
  });

it('RFC 8693: a handle is redeemed by token exchange: with the credential of its requester only', async () => {
  const name = await asked('ann', { ...AGENT, audiences: ['vault'] });
  const scope = `pass:${name}`;
  const { code, json } = await exchange('ann', { scope });
  expect([code, json.scope, json.token_type]).toEqual([200, 'serviceaccount:ci:builder aud:vault', 'Bearer']);
  expect(decodeJwt(json.access_token)).toMatchObject({ aud: ['vault'], sub: 'system:serviceaccount:ci:builder' });
  const errorOf = async (...args: Parameters<typeof exchange>) => {
    const answer = await exchange(...args);
    return [answer.code, answer.json.error];
  };
  expect(await errorOf('eve', { scope })).toEqual([400, 'invalid_scope']);
  expect(await errorOf('ann', { scope: `${scope} aud:other` })).toEqual([400, 'invalid_scope']);
  expect(await errorOf('ann', { scope: 'pass:../../x' })).toEqual([400, 'invalid_scope']);
  expect(await errorOf('ann', { scope, audience: 'alpha' })).toEqual([400, 'invalid_request']);
  expect(await errorOf('ann', { scope, expiration_seconds: '900' })).toEqual([400, 'invalid_request']);
  expect(await errorOf('ann', { scope }, '/orchestrator/alpha/oauth/token')).toEqual([400, 'invalid_target']);
  expect(await errorOf('ann', { scope, subject_token: 'wrong' })).toEqual([400, 'invalid_request']);
  expect(await revoke('ann', name)).toBe(200);
  expect(await errorOf('ann', { scope })).toEqual([400, 'invalid_scope']);
});

it('RFC 8693: redemptions of one handle at the same time all succeed', async () => {
  const name = await asked('ann', AGENT);
  const answers = await Promise.all(Array.from({ length: 24 }, () => exchange('ann', { scope: `pass:${name}` })));
  expect(answers.map(({ code, text }) => (code === 200 ? 200 : text))).toEqual(answers.map(() => 200));
  expect(await revoke('ann', name)).toBe(200);
});

it('A48: a handle with a code challenge (RFC 7636): is redeemed with the code verifier only', async () => {
  const codeVerifier = 'v'.repeat(43);
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url');
  const name = await asked('ann', { ...AGENT, codeChallenge });
  const by = (verifier: string) =>
    redeem('ann', name, { metadata: { annotations: { 'clusterpass.dev/code-verifier': verifier } } });
  for (const refused of [await redeem('ann', name), await by(''), await by(codeChallenge)]) {
    expect([refused.code, refused.json.message]).toEqual([
      403,
      expect.stringContaining('on the machine that requested it'),
    ]);
  }
  const scope = `pass:${name}`;
  const unproven = await exchange('ann', { scope });
  expect([unproven.code, unproven.json.error]).toEqual([400, 'invalid_scope']);
  const redeemed = [await by(codeVerifier), await exchange('ann', { scope, code_verifier: codeVerifier })];
  expect(redeemed.map(({ code }) => code)).toEqual([201, 200]);
  expect(redeemed.map(({ text }) => text.includes(codeVerifier))).toEqual([false, false]);
  // The code verifier is for a pass only. Other requests with it are refused.
  const annotations = { 'clusterpass.dev/code-verifier': codeVerifier };
  const other = { metadata: { annotations }, spec: { audiences: [] } };
  expect((await server.call('POST', tokenPath(), { ...asUser('ann'), body: other })).code).toBe(422);
  expect(await revoke('ann', name)).toBe(200);
  const logged = `${await allAuditBytes(auditLogOf(server))}${server.output.stdout}${server.output.stderr}`;
  expect([logged.includes(name), logged.includes(codeVerifier)]).toEqual([true, false]);
});

describe('A48, MC-90: an approval', () => {
  it('confirm: only the requester approves', async () => {
    const name = await asked('con', AGENT);
    expect((await redeem('con', name)).code).toBe(409);
    const again = await ask('con', AGENT);
    expect([again.code, again.json.metadata.name]).toEqual([200, name]);
    // lea may review passes in this cluster, and does not see what needs no review.
    expect(await listed('lea')).toEqual([]);
    expect([(await decide('lea', name)).code, (await decide('eve', name)).code]).toEqual([403, 403]);
    const impersonated = await server.call('PATCH', `${PATH}/${name}/approval`, {
      body: APPROVED,
      headers: { ...MERGE, 'Impersonate-User': 'con', 'Impersonate-Uid': 'uid-con' },
    });
    expect(impersonated.code).toBe(403);
    const { code, json } = await decide('con', name);
    expect([code, json.status.phase, json.status.decidedBy]).toEqual([
      200,
      'Ready',
      { username: 'con', uid: 'uid-con' },
    ]);
    expect((await redeem('con', name)).code).toBe(201);
    expect(await revoke('con', name)).toBe(200);
    // A person needs no approval.
    expect((await ask('con', {}, {}, '?dryRun=All')).json.status).toMatchObject({ phase: 'Ready', approval: 'none' });
  });

  it('review: another person approves, and not the requester, who may review passes of others', async () => {
    const name = await asked('rev', AGENT);
    expect((await decide('rev', name)).json.message).toContain('requesters do not review their own passes');
    expect(await listed('lea')).toEqual([name]);
    // Other fields in the request of an approver change nothing.
    const more = { spec: { purpose: 'another purpose', cluster: 'beta' } };
    const { code, json, text } = await decide('lea', name, 'Approved', more);
    expect(code, text).toBe(200);
    expect([json.status.phase, json.spec.purpose, json.spec.cluster]).toEqual(['Ready', SPEC.purpose, 'alpha']);
    expect(Date.parse(json.status.expirationTimestamp) - Date.parse(json.status.decisionTimestamp)).toBe(600_000);
    const again = await decide('lea', name);
    expect([again.code, again.json.status.conditions.length]).toEqual([200, 1]);
    expect((await decide('lea', name, 'Denied')).code).toBe(409);
    expect((await redeem('lea', name)).code).toBe(404);
    const { json: redeemed } = await redeem('rev', name);
    expect(await revoke('rev', name)).toBe(200);
    expect(await codeFor(server, redeemed.status.token)).toBe(401);
  });

  it('review-always: refuses token requests of all callers, and the error says what to do', async () => {
    const plain = await server.call('POST', tokenPath(), { ...asUser('alw'), body: { spec: { audiences: [] } } });
    expect([plain.code, plain.json.message]).toEqual([403, expect.stringContaining('clusterpass pass request')]);
    const name = await asked('alw');
    expect((await redeem('alw', name)).code).toBe(409);
    expect((await decide('lea', name)).code).toBe(200);
    expect((await redeem('alw', name)).code).toBe(201);
    expect(await revoke('alw', name)).toBe(200);
  });
});

const personAs = (user: string): Promise<Person> =>
  Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: tokenOf(user), CLUSTERPASS_CA: TLS.caFile });

describe('the command line', () => {
  it('asks, approves, redeems and revokes, and writes no token', async () => {
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://alpha.example' }];
    const { code } = await server.call('PATCH', `${CLUSTERS}/alpha`, {
      body: { spec: { orchestratorApiEndpoints: { serverEndpoints } } },
    });
    expect(code).toBe(200);
    const [ann, lea] = [await personAs('ann'), await personAs('lea')];
    const wanted = ['--cluster', 'alpha', '--account', 'ci/builder', '--purpose', 'read the logs'];
    const { stdout, stderr } = await ann.run(['pass', 'request', ...wanted]);
    const name = /pass_\w{32}/.exec(stdout)?.[0] ?? '';
    expect(name).toMatch(HANDLE);
    const file = /--kubeconfig (\S+)/.exec(stderr)?.[1] ?? '';
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const [{ user }] = parse(await readFile(file, 'utf8')).users;
    const { args } = user.exec;
    expect(args).toEqual(['credential', '--server', server.url, '--cluster', 'alpha', '--pass', name]);
    expect(await ann.ok(['pass', 'list', '--phase', 'Ready'])).toContain(name);
    expect(await ann.ok(['pass', 'show', name])).toMatch(
      /^Handle: +pass_.*^Account: +ci\/builder$.*^Duration: +10m$.*^Redeemable: +only on .*^Phase: +Ready$/ms,
    );
    expect(JSON.parse(await ann.ok(['pass', 'show', name, '-o', 'json'])).metadata.name).toBe(name);
    const { token } = JSON.parse(await ann.ok(args)).status;
    expect(await codeFor(server, token)).toBe(200);
    // The next process has the same token, from the cache.
    expect(JSON.parse(await ann.ok(args)).status.token).toBe(token);
    const both = await ann.fails([...args, '--as', 'ci/builder'], { exitCode: 2 });
    expect(both).toContain('--pass determines account, audience and duration');
    // CP-98: the address of a profile, which others may have written.
    const cluster = { server: 'https://attacker.example', config: { clusterName: 'alpha' } };
    const info = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', spec: { cluster } };
    const env = { KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    const elsewhere = ['credential', '--server', server.url, '--pass', name];
    expect(await ann.fails(elsewhere, { env })).toContain('must be an address of the cluster');
    expect(await lea.fails(args)).toContain('not found');
    // A48: the handle and the credential of its requester are of no use on another machine.
    const other = await personAs('ann');
    expect(await other.fails(args)).toContain('on the machine that requested it');
    const key = join(ann.home, '.config/clusterpass/machine.key');
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    const portable = await ann.ok(['pass', 'request', ...wanted, '--any-machine', '-o', 'name']);
    const anywhere = portable.trim().replace(/^.*\//, '');
    await other.ok(['credential', '--pass', anywhere]);
    await ann.ok(['pass', 'revoke', anywhere]);
    expect(await lea.fails(['pass', 'approve', name])).toContain('it needs no approval');
    const revoked = await ann.run(['pass', 'revoke', name]);
    expect(revoked.stdout).toBe(`pass.clusterpass.dev/${name} revoked\n`);
    // A44: the cluster of the test verifies tokens with the key set.
    expect(revoked.stderr).toMatch(
      /refuse the tokens of this pass from now on; .* with the key set accept them until /,
    );
    expect(await codeFor(server, token)).toBe(401);
    const absence =
      'There may be no such pass: passes are deleted when they are revoked, a day after a denial, and an hour after another end.\n';
    for (const command of ['show', 'revoke']) {
      const refused = await ann.fails(['pass', command, name]);
      expect(refused, command).toMatch(/^Error from server \(Forbidden\): .*\n.*\n$/);
      expect(refused.endsWith(absence), refused).toBe(true);
    }
    // Nor is it in the cache any longer.
    expect(await ann.fails(args)).toContain('not found');
    await expect(stat(file)).rejects.toThrow('ENOENT');
    const logged = `${await allAuditBytes(auditLogOf(server))}${server.output.stdout}${server.output.stderr}`;
    expect(logged).toContain(name);
    expect(logged).not.toContain(token.split('.')[2]);
  });

  it('the passes of a login end with it', async () => {
    const ann = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
    await ann.ok(['login', '--server', server.url, '--token-file', '-'], { stdin: tokenOf('ann') });
    const wanted = ['--cluster', 'alpha', '--account', 'ci/builder', '--purpose', 'read the logs'];
    const { stdout, stderr } = await ann.run(['pass', 'request', ...wanted]);
    const name = /pass_\w{32}/.exec(stdout)?.[0] ?? '';
    const file = /--kubeconfig (\S+)/.exec(stderr)?.[1] ?? '';
    const other = join(dirname(dirname(file)), 'of-another-server', `pass_${'b'.repeat(32)}.yaml`);
    await mkdir(dirname(other));
    await writeFile(other, '');
    expect(await ann.ok(['logout'])).toContain('Ended 1 pass');
    await expect(stat(file)).rejects.toThrow('ENOENT');
    expect((await stat(other)).isFile()).toBe(true);
    expect((await redeem('ann', name)).code).toBe(404);
  });
});

describeWithKubectl('kubectl', () => {
  it('gets, describes, explains and deletes passes', async () => {
    const name = await asked('ann', AGENT);
    expect(await kubectlOk(server, ['get', 'passes', name])).toMatch(
      /REQUESTER +CLUSTER +CLIENT +ACCOUNT +PHASE[\s\S]*ann +alpha +login +ci\/builder +Ready/,
    );
    expect(await kubectlOk(server, ['describe', 'pass', name])).toContain(SPEC.purpose);
    expect(await kubectlOk(server, ['explain', 'passes.spec.purpose'])).toContain('in one line of 8 to 200 characters');
    await kubectlOk(server, ['delete', 'pass', name]);
    expect((await redeem('ann', name)).code).toBe(404);
  });
});
