import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Person } from './support/cli.ts';
import { describeWithKubectl, kubectlBinary } from './support/kubectl.ts';
import { openSecondDoor } from './support/second-door.ts';
import { type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { bind, createWorld } from './support/token-world.ts';

let server: Server;
let admin: Person;
let jane: Person;

beforeAll(async () => {
  server = await startServer({ users: { jane: [], joe: [] } });
  await createWorld(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' });
});
afterAll(() => server.destroy());
beforeEach(async () => {
  [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
});
afterEach(async () => {
  await Promise.all([admin.leave(), jane.leave()]);
});

const CREATE = ['create', 'token', 'builder', '-n', 'ci', '--cluster', 'alpha'];
const CREDENTIAL = ['credential', '--cluster', 'alpha', '--as', 'ci/builder'];

// biome-ignore lint/suspicious/noExplicitAny: tests look into claims of every shape
const claimsOf = (token: string): any => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

describe('clusterpass create token', () => {
  it('writes the token alone', async () => {
    const { code, stdout, stderr } = await jane.run(CREATE);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(claimsOf(stdout).sub).toBe('system:serviceaccount:ci:builder');
  });

  it('with audiences, a duration and an object it is bound to', async () => {
    const flags = ['--audience', 'vault', '--audience', 'b', '--duration', '10m', '--bound-object-kind', 'Pod'];
    const token = await jane.ok([...CREATE, ...flags, '--bound-object-name', 'web-0']);
    const claims = claimsOf(token);
    expect(claims.aud).toEqual(['vault', 'b']);
    expect(claims.exp - claims.iat).toBe(600);
    expect(claims['kubernetes.io'].pod.name).toBe('web-0');
  });

  it('warnings go to stderr, as they do in kubectl', async () => {
    const { stdout, stderr } = await jane.run([...CREATE, '--duration', '1000h']);
    expect(stderr).toBe('Warning: requested expiration of 3600000 seconds shortened to 86400 seconds\n');
    expect(stdout).toMatch(/^eyJ/);
  });

  it('insists on a lifetime, and says when the cluster will not accept it', async () => {
    const short = await jane.run([...CREATE, '--duration', '1000h', '--min-duration', '25h']);
    expect({ code: short.code, stdout: short.stdout }).toEqual({ code: 1, stdout: '' });
    expect(short.stderr).toContain('the longest lifetime that is granted here is 86400 seconds');
    const flags = ['--duration', '24h', '--min-duration', '24h', '--for-cluster'];
    const { code, stderr } = await jane.run([...CREATE, ...flags, '--audience', 'vault']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: this token will not open the API of cluster "alpha": [^\n]*\n$/);
  });

  it('-o json and yaml; --dry-run server', async () => {
    expect(JSON.parse(await jane.ok([...CREATE, '-o', 'json']))).toMatchObject({
      kind: 'TokenRequest',
      status: { token: expect.stringMatching(/^eyJ/) },
    });
    expect(await jane.ok([...CREATE, '-o', 'yaml'])).toMatch(/^kind: TokenRequest$/m);
    const { stdout, stderr } = await jane.run([...CREATE, '--dry-run', 'server']);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^A token would be granted until \d{4}-/);
  });

  it.each([
    [['create', 'token', 'builder'], 'error: --cluster is required'],
    [[...CREATE, '--duration', 'soon'], 'error: --duration: "soon" is not a duration'],
    [[...CREATE, '--min-duration', '-1h'], 'error: --min-duration: "-1h" is not a duration'],
    [[...CREATE, '--bound-object-name', 'x'], 'error: --bound-object-name can only be set if'],
    [[...CREATE, '--bound-object-kind', 'Pod'], 'error: --bound-object-name is required if'],
    [[...CREATE, '--bound-object-kind', 'Node', '--bound-object-name', 'x'], 'error: supported --bound-object-kind'],
    [[...CREATE, '--duration', '1m'], 'Error from server (Invalid): '],
    [
      ['create', 'token', 'nobody', '-n', 'ci', '--cluster', 'alpha'],
      'Error from server (NotFound): serviceaccounts "nobody" not found',
    ],
  ])('%j: %s', async (args, message) => {
    expect(await jane.fails(args)).toContain(message);
  });
});

describe('clusterpass credential (section 7)', () => {
  it.each(['v1', 'v1beta1'])('E-03, E-05: answers in the version that was asked for: %s', async (version) => {
    const apiVersion = `client.authentication.k8s.io/${version}`;
    const info = JSON.stringify({ kind: 'ExecCredential', apiVersion, spec: { interactive: false } });
    const stdout = await jane.ok(CREDENTIAL, { env: { KUBERNETES_EXEC_INFO: `${info}\n` } });
    const credential = JSON.parse(stdout);
    expect(credential).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: {},
      status: { expirationTimestamp: expect.stringMatching(/^[\d-]+T[\d:]+Z$/), token: expect.stringMatching(/^eyJ/) },
    });
    // E-05: shortly before the token ends, because kubectl asks again only after this time.
    const early = claimsOf(credential.status.token).exp - Date.parse(credential.status.expirationTimestamp) / 1000;
    expect(early).toBeGreaterThanOrEqual(58);
    expect(early).toBeLessThanOrEqual(62);
  });

  it('another version, and what is no JSON, fails in one sentence', async () => {
    const env = { KUBERNETES_EXEC_INFO: '{"apiVersion":"client.authentication.k8s.io/v1alpha1"}' };
    expect(await jane.fails(CREDENTIAL, { env })).toMatch(/^error: KUBERNETES_EXEC_INFO asks for .*\n$/);
    expect(await jane.fails(CREDENTIAL, { env: { KUBERNETES_EXEC_INFO: '{' } })).toMatch(/^error: .* is not JSON\n$/);
  });

  it('keeps the token for its owner, and uses it again', async () => {
    const first = await jane.ok(CREDENTIAL);
    expect(await jane.ok(CREDENTIAL)).toBe(first);
    expect(
      await jane.ok(['credential', '--cluster', 'alpha', '--namespace', 'ci', '--service-account', 'builder']),
    ).toBe(first);
    expect(await jane.ok([...CREDENTIAL, '--no-cache'])).not.toBe(first);
    const folder = join(jane.home, '.cache/clusterpass/credentials');
    const [server1 = ''] = await readdir(folder);
    const files = await readdir(join(folder, server1));
    expect(files).toHaveLength(1);
    expect((await stat(join(folder, server1, files[0] ?? ''))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('each cluster, account, audience and login has its own', async () => {
    const tokens = new Set<string>();
    for (const args of [
      CREDENTIAL,
      ['credential', '--cluster', 'beta', '--as', 'ci/builder'],
      ['credential', '--cluster', 'alpha', '--as', 'ci/other'],
      [...CREDENTIAL, '--audience', 'vault'],
      [...CREDENTIAL, '--duration', '20m'],
    ]) {
      tokens.add(JSON.parse(await jane.ok(args)).status.token);
    }
    tokens.add(JSON.parse(await jane.ok(CREDENTIAL, { env: { CLUSTERPASS_TOKEN: server.adminToken } })).status.token);
    expect(tokens.size).toBe(6);
    // The login of one who may not is not served what the login of another fetched.
    expect(await jane.fails(CREDENTIAL, { env: { CLUSTERPASS_TOKEN: tokenOf('joe') } })).toMatch(/Forbidden/);
  });

  it('many at once share one request', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => jane.ok(CREDENTIAL)));
    expect(new Set(answers).size).toBe(1);
  });

  it('a login that is no longer good, and an account that is not there, in one sentence', async () => {
    expect(await jane.fails(CREDENTIAL, { env: { CLUSTERPASS_TOKEN: 'expired' } })).toBe(
      `error: the login for ${server.url} is no longer good: run clusterpass login --server ${server.url}\n`,
    );
    expect(await jane.fails(['credential', '--cluster', 'alpha', '--as', 'ci/nobody'])).toBe(
      'Error from server (NotFound): serviceaccounts "nobody" not found\n',
    );
    expect(await jane.fails(['credential', '--cluster', 'alpha'])).toMatch(/^error: --as .* is required\n$/);
  });

  it('logout forgets it', async () => {
    await jane.ok(['login', '--token', tokenOf('jane')]);
    const env = { CLUSTERPASS_TOKEN: '' };
    const first = await jane.ok(CREDENTIAL, { env });
    await jane.ok(['logout']);
    await jane.ok(['login', '--token', tokenOf('jane')]);
    expect(await jane.ok(CREDENTIAL, { env })).not.toBe(first);
  });
});

describeWithKubectl('kubectl with clusterpass as its plugin', () => {
  it('gets a token by itself and is who the token says', async () => {
    const secure = await startServer({
      tls: true,
      users: { jane: [] },
      args: ['--allow-upstream-cidr', '127.0.0.0/8'],
    });
    const person = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
    const door = await openSecondDoor(secure.url);
    try {
      await createWorld(secure);
      await person.ok(['login', '--server', secure.url, '--token', secure.adminToken]);
      // The server stands in for the cluster: it takes the tokens that it issues.
      const caBundle = (await readFile(TLS.caFile)).toString('base64');
      const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: door.url }];
      const body = { spec: { orchestratorApiEndpoints: { serverEndpoints, caBundle } } };
      const headers = { 'Content-Type': 'application/merge-patch+json' };
      const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/alpha';
      expect((await secure.call('PATCH', path, { body, headers })).code).toBe(200);
      await person.run(['kubeconfig', '--as', 'ci/builder', '--exec-command', LAUNCHER]);
      const env = { HOME: person.home, KUBECONFIG: join(person.home, '.kube/config') };
      // All at once, with nothing kept from before: one of them asks for a token, and the others wait for it.
      const kubectls = Array.from({ length: 4 }, () => kubectlBinary(['--context', 'alpha', 'auth', 'whoami'], env));
      const said = await Promise.all(kubectls);
      for (const text of said) expect(text).toContain('system:cluster:alpha:serviceaccount:ci:builder');
      const ids = said.map((text) => /JTI=\S+/.exec(text)?.[0]);
      expect(ids[0]).toMatch(/^JTI=/);
      expect(new Set(ids).size).toBe(1);
    } finally {
      await Promise.all([door.close(), secure.destroy(), person.leave()]);
    }
  });
});

const LAUNCHER = fileURLToPath(new URL('../../bin/clusterpass.mjs', import.meta.url));
