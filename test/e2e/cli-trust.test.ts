import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { applyYaml } from './support/apply.ts';
import { Person } from './support/cli.ts';
import { bind, createObjects, issue, tokenPath } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { authenticationFileOf } from './support/provider.ts';
import { WHO } from './support/reviews.ts';
import { TLS, tokenOf } from './support/server.ts';
import { sharedServer, sharedTlsServer } from './support/shared-server.ts';

/** `clusterpass trust`: what a cluster needs in order to accept tokens of the server. */

const server = sharedTlsServer();
let person: Person;
let uids: Awaited<ReturnType<typeof createObjects>>;

beforeAll(async () => {
  uids = await createObjects(server);
  const registry = { apiGroups: ['clusterregistry.k8s.io'] };
  const mayBePerson = { ...registry, verbs: ['create'], resources: ['clusters/userpass'] };
  await bind(server, 'people', { kind: 'User', name: 'kate' }, mayBePerson);
  const maySee = { ...registry, verbs: ['get', 'list', 'watch'], resources: ['clusters'] };
  await bind(server, 'devs', { kind: 'User', name: 'kate' }, maySee);
  person = await Person.at({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken });
});

const CA = ['--certificate-authority', TLS.caFile];

describe('clusterpass trust', () => {
  it('names the issuer, its audience and the authority that was given', async () => {
    const out = await person.ok(['trust', 'alpha', '--certificate-authority', TLS.caFile]);
    const { issuer } = parse(out).jwt[0];
    const url = `${server.url}/orchestrator/alpha`;
    expect(issuer).toMatchObject({ url, audiences: [url], certificateAuthority: await readFile(TLS.caFile, 'utf8') });
  });

  it('says that it has no authority without one: that of a connection could be an attacker', async () => {
    const out = await person.ok(['trust', 'alpha', '--insecure-skip-tls-verify']);
    expect(parse(out).jwt[0].issuer).not.toHaveProperty('certificateAuthority');
    expect(out).toContain('# No certificateAuthority: ');
  });

  it('is not written for a cluster that does not exist, or that the caller may not get', async () => {
    const ca = ['--certificate-authority', TLS.caFile];
    expect(await person.fails(['trust', 'alhpa', ...ca])).toContain('"alhpa" not found');
    const wider = await person.ok(['trust', 'alpha', ...ca, '--allow-namespace', 'kube-system']);
    expect(wider).not.toContain('kube-system');
    expect(await person.fails(['trust', 'alpha', ...ca, '--allow-namespace', 'ci'])).toContain(
      'only kube-system is refused',
    );
    const env = { CLUSTERPASS_TOKEN: tokenOf('jane') };
    expect(await person.fails(['trust', 'alpha', ...ca], { env })).toContain('cannot get resource "clusters"');
  });
});

describe('clusterpass trust --webhook', () => {
  it('writes files with which an API server asks for each pass, and may ask for nothing else', async () => {
    const printed = await person.ok(['trust', 'beta', '--people', '--webhook', 'hook', ...CA]);
    const at = (name: string): string => join(person.home, 'hook', name);
    const read = (name: string): Promise<string> => readFile(at(name), 'utf8');
    for (const name of ['webhook.yaml', 'tokens.csv']) expect((await stat(at(name))).mode & 0o777).toBe(0o600);
    const config = parse(await read('webhook.yaml'));
    const issuer = `${server.url}/orchestrator/beta`;
    const [{ cluster }] = config.clusters;
    expect(Buffer.from(cluster['certificate-authority-data'], 'base64')).toEqual(await readFile(TLS.caFile));
    expect(printed).toContain(`--api-audiences=AUDIENCES,${issuer},${issuer}/people\n`);
    expect(printed).toContain('--authentication-token-webhook-cache-ttl=5s\n');
    expect(printed).toContain(
      `Remove the entry of ${issuer} and\n   the entry of ${issuer}/people from its --authentication-config:`,
    );
    await appendFile(join(server.dataDir, 'users.csv'), await read('tokens.csv'));
    await applyYaml(server, await read('clusterpass.yaml'));

    const [{ user }] = config.users;
    const path = String(cluster.server).slice(server.url.length);
    const ask = async (token: string, at = path) =>
      (await server.call('POST', at, { body: { spec: { token, audiences: [issuer] } }, token: user.token })).json;
    const pass = await issue(server, tokenPath('builder', 'ci', 'beta'));
    // The file of tokens is read again every few seconds.
    await expect.poll(async () => (await ask(pass)).status?.authenticated, { interval: 200 }).toBe(true);
    expect((await ask(pass)).status.user.extra['clusterpass.dev/requested-by']).toEqual(['admin']);
    expect((await ask(server.adminToken)).status.authenticated).toBeUndefined();
    for (const other of [path.replace('/beta/', '/alpha/'), path.replace('/passes', '')]) {
      expect((await ask(pass, other)).code).toBe(403);
    }
    expect((await server.call('GET', CLUSTERS, { token: user.token })).json.items).toEqual([]);

    await applyYaml(server, await read('cluster.yaml'));
    const revoked = await person.run(['token', 'revoke', '-'], { stdin: pass });
    expect(revoked.stderr).toBe(
      'Clusterpass and TokenReviews refuse it from now on. beta, which asks Clusterpass, within about 15 seconds.\n',
    );
    expect((await ask(pass)).status.error).toBe('service account token has been revoked');
  });

  it('passes for people: says that the cluster asks', async () => {
    const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/beta/userpass';
    const { json } = await server.call('POST', path, { body: { spec: {} }, token: tokenOf('kate') });
    const { stderr } = await person.run(['token', 'revoke', '-'], { stdin: json.status.token });
    expect(stderr).toBe(
      'Clusterpass and TokenReviews refuse it from now on. beta, which asks Clusterpass, within about 15 seconds.\n',
    );
  });

  it('keeps files that exist', async () => {
    const args = ['trust', 'beta', '--webhook', 'hook', '--certificate-authority', TLS.caFile];
    expect(await person.fails(args)).toMatch(/hook\/webhook.yaml exists: name another folder/);
  });
});

describe('A43: clusterpass trust --refresh', () => {
  it('changes a comment of the file in place, and nothing else', async () => {
    const file = join(person.home, 'authentication.yaml');
    const printed = await person.ok(['trust', 'alpha', '--certificate-authority', TLS.caFile]);
    await writeFile(file, printed);
    const { ino } = await stat(file);
    const expected = `${file} changed: kube-apiserver reads the keys again in about 20 seconds\n`;
    // Needs no server and no login.
    const env = { CLUSTERPASS_SERVER: '', CLUSTERPASS_TOKEN: '' };
    const texts = [printed];
    for (let count = 0; count < 3; count++) {
      expect(await person.ok(['trust', '--refresh', '--file', file], { env })).toBe(expected);
      texts.push(await readFile(file, 'utf8'));
    }
    expect(new Set(texts).size).toBe(4);
    expect(texts[3]).toHaveLength(texts[1]?.length ?? 0);
    expect(texts[3]?.startsWith(printed)).toBe(true);
    expect(parse(texts[3] ?? '')).toEqual(parse(printed));
    expect((await stat(file)).ino).toBe(ino);
  });

  it('changes no file of another kind, and says what it needs', async () => {
    const file = join(person.home, 'other.yaml');
    await writeFile(file, 'kind: Config');
    expect(await person.fails(['trust', '--refresh', '--file', file])).toContain(
      'is not an AuthenticationConfiguration',
    );
    expect(await readFile(file, 'utf8')).toBe('kind: Config');
    expect(await person.fails(['trust', '--refresh', '--file', '/nowhere/a.yaml'])).toBe(
      'error: cannot change /nowhere/a.yaml: no such file or directory\n',
    );
    expect(await person.fails(['trust', '--refresh'])).toContain('set --file FILE');
    expect(await person.fails(['trust'])).toContain('name the cluster');
    expect(await person.fails(['trust', 'alpha', '--file', file])).toContain('add --refresh');
  });
});

const AS_ME = ['create', 'token', '--as-me', '--cluster', 'alpha'];
const AS_CARL = { env: { CLUSTERPASS_TOKEN: tokenOf('kate') } };

describe('--as-me', () => {
  it('create token: a record, and a revocation by the token itself', async () => {
    const token = await person.ok(AS_ME, AS_CARL);
    expect(await person.ok(['token', 'list'], AS_CARL)).toMatch(/ alpha +kate +https:.*\/people +kate /);
    const { stdout } = await person.run(['token', 'revoke', '-'], { ...AS_CARL, stdin: token });
    expect(stdout).toBe(`token ${decodeJwt(token).jti} revoked at ${server.url}\n`);
  });

  it('credential: cached, and not for another login', async () => {
    const give = async (options: object): Promise<string> =>
      JSON.parse(await person.ok(['credential', '--as-me', '--cluster', 'alpha'], options)).status.token;
    const first = await give(AS_CARL);
    expect(decodeJwt(first)).toMatchObject({ sub: 'kate', iss: `${server.url}/orchestrator/alpha/people` });
    expect(await give(AS_CARL)).toBe(first);
    const env = { CLUSTERPASS_TOKEN: tokenOf('jane') };
    expect(await person.fails(['credential', '--as-me', '--cluster', 'alpha'], { env })).toContain('clusters/userpass');
  });

  it('kubeconfig: contexts that run credential --as-me', async () => {
    const spec = { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://127.0.0.1:6443' }] } };
    const body = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster', metadata: { name: 'real' }, spec };
    expect((await server.call('POST', CLUSTERS, { body })).code).toBe(201);
    const { contexts, users } = parse(await person.ok(['kubeconfig', '--as-me', '--output', '-'], AS_CARL));
    expect(contexts[0]).toMatchObject({ name: 'real', context: { user: 'me@real', namespace: 'default' } });
    const args = ['credential', '--server', server.url, '--cluster', 'real', '--as-me'];
    expect(users[0].user.exec.args).toEqual(args);
  });

  it.each([
    [['kubeconfig', '--as-me', '--as', 'ci/builder'], 'set --as or --as-me, not both'],
    [['credential', '--as-me', '--cluster', 'alpha', '--audience', 'vault'], '--as-me takes no --audience'],
    [[...AS_ME, 'builder'], '--as-me takes no service account'],
    [['create', 'token', '--cluster', 'alpha'], 'name the service account, or set --as-me'],
  ])('%j', async (args, text) => {
    expect(await person.fails(args, { exitCode: args[0] === 'credential' ? 2 : 1 })).toContain(text);
  });
});

/** A second server in place of the API server: it reads the file as kube-apiserver does. */
describe('the printed configuration in use', () => {
  const other = sharedServer();
  const user = async (token: string) => (await other.call('POST', WHO, { body: {}, token })).json.status?.userInfo;

  beforeAll(async () => {
    const printed = parse(await person.ok(['trust', 'alpha', '--people', ...CA]));
    // Only the API server itself may give names of the system. The second server gives them to its own accounts only.
    const { username, groups } = printed.jwt[0].claimMappings;
    for (const mapping of [username, groups]) {
      mapping.expression = mapping.expression.replaceAll('"system:', '"there:');
    }
    await writeFile(authenticationFileOf(other), stringify(printed));
    const token = await issue(server);
    await vi.waitFor(async () => expect(await user(token)).toBeDefined(), { timeout: 60_000 });
  });

  it('O-06: keys are found by issuer and authority, and a token gives name, groups and uid', async () => {
    expect(await user(await issue(server))).toEqual({
      username: 'there:serviceaccount:ci:builder',
      uid: uids.builder,
      groups: ['there:serviceaccounts', 'there:serviceaccounts:ci', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)],
        'clusterpass.dev/requested-by': ['admin'],
      },
    });
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0' };
    const bound = await issue(server, tokenPath(), { audiences: [], boundObjectRef });
    expect((await user(bound)).extra).toMatchObject({
      'clusterpass.dev/pod-name': ['web-0'],
      'clusterpass.dev/pod-uid': [uids.pod],
    });
  });

  it('A47, TX-94: a pass for a person gives name and groups with the prefix, and no permission of an account', async () => {
    expect(await user(await person.ok(AS_ME, AS_CARL))).toEqual({
      username: 'clusterpass:kate',
      groups: ['clusterpass:devs', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
    });
  });

  it('TX-96: a pass for a person in another cluster is refused there', async () => {
    expect(await user(await person.ok([...AS_ME.slice(0, -1), 'beta'], AS_CARL))).toBeUndefined();
  });

  it('A3: a token for another audience, or of another cluster, is refused there', async () => {
    expect(await user(await issue(server, tokenPath(), { audiences: ['vault'] }))).toBeUndefined();
    expect(await user(await issue(server, tokenPath('builder', 'ci', 'beta')))).toBeUndefined();
  });
});
