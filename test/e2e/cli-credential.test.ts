import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeApiServer, startApiServer } from '../../src/clusters/upstream/api-server.fixture.ts';
import { createAuthority } from '../../src/clusters/upstream/certificates.fixture.ts';
import { LAUNCHER } from '../program.ts';
import { Person } from './support/cli.ts';
import { patchCluster } from './support/fleet.ts';
import { claimsFor, type Forwarding, jwt, register, startForwarding, tokenAnswer } from './support/forwarding.ts';
import { createAccount, createCluster, createNamespace, inNamespace } from './support/objects.ts';
import type { Server } from './support/server.ts';

const authority = createAuthority('cluster CA');
const CREDENTIAL = ['credential', '--cluster', 'own', '--as', 'ci/builder'];

let forwarding: Forwarding;
let server: Server;
let person: Person;

beforeAll(async () => {
  forwarding = await startForwarding();
  ({ server } = forwarding);
  await createCluster(server, 'own');
  await createNamespace(server, 'ci', 'own');
  await createAccount(server, 'builder', 'ci', 'own');
  person = await Person.as(server);
});
afterAll(async () => {
  await person.leave();
  await forwarding.destroy();
});

/** As kubectl runs it: all runs have the same parent process, so each but the first counts as a retry. */
async function tokenOf(args: readonly string[] = CREDENTIAL, env: Record<string, string> = {}): Promise<string> {
  return JSON.parse(await person.ok(args, { env, inProcess: false })).status.token;
}

describe('A42: a cached token is not served when it is refused', () => {
  it('stays the same while it is accepted', async () => {
    const first = await tokenOf();
    expect(await tokenOf()).toBe(first);
  });

  it('when its account was created again', async () => {
    const first = await tokenOf();
    const account = `${inNamespace('serviceaccounts', 'ci', 'own')}/builder`;
    await server.call('DELETE', account);
    await createAccount(server, 'builder', 'ci', 'own');
    const second = await tokenOf();
    expect(second).not.toBe(first);
    expect(await tokenOf()).toBe(second);
  });

  it('when it was revoked by its id, or its key was', async () => {
    const first = await tokenOf();
    await person.ok(['token', 'revoke', decodeJwt(first).jti ?? '']);
    const second = await tokenOf();
    expect(second).not.toBe(first);
    const { kid } = JSON.parse(Buffer.from(second.split('.')[0] ?? '', 'base64url').toString());
    await person.ok(['keys', 'revoke', kid]);
    const third = await tokenOf();
    expect(third).not.toBe(second);
    expect(await tokenOf()).toBe(third);
  });

  it('when a login or --no-cache has removed it', async () => {
    const first = await tokenOf();
    const second = await tokenOf([...CREDENTIAL, '--no-cache']);
    const third = await tokenOf();
    expect(new Set([first, second, third]).size).toBe(3);
    await person.ok(['login', '--server', server.url, '--token', server.adminToken]);
    expect(await tokenOf()).not.toBe(third);
  });

  it('--no-cache writes nothing', async () => {
    const other = await Person.at();
    const env = { CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: server.adminToken };
    await other.ok([...CREDENTIAL, '--no-cache'], { env });
    expect(await readdir(other.home)).toEqual([]);
    await other.leave();
  });

  it('when a cluster that issues its own tokens refuses it', async () => {
    const refused = new Set<string>();
    let issued = 0;
    const asked: string[] = [];
    const cluster: FakeApiServer = await startApiServer(authority.issue({ names: ['127.0.0.1'] }), (seen) => {
      if (seen.method === 'POST') return tokenAnswer(jwt({ ...claimsFor(seen), jti: `token-${++issued}` }));
      const token = String(seen.headers.authorization).replace('Bearer ', '');
      asked.push(`${seen.path} ${decodeJwt(token).jti}`);
      return { status: refused.has(token) ? 401 : 200 };
    });
    try {
      await register(forwarding, { name: 'forwarded', port: cluster.port, ca: authority.cert }, 'the-credential');
      const args = ['credential', '--cluster', 'forwarded', '--as', 'ci/builder'];
      const KUBERNETES_EXEC_INFO = JSON.stringify({
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        spec: {
          interactive: false,
          cluster: {
            server: `https://127.0.0.1:${cluster.port}`,
            'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
          },
        },
      });
      const env = { KUBERNETES_EXEC_INFO };
      const get = () => tokenOf(args, env);
      await get();
      // Clusterpass does not know the tokens of this cluster, so the first check finds out who does.
      const second = await get();
      expect(await get()).toBe(second);
      expect(asked).toEqual(['/version token-2', '/version token-2']);
      refused.add(second);
      const third = await get();
      expect(decodeJwt(third).jti).toBe('token-3');
      expect(await get()).toBe(third);
    } finally {
      await cluster.close();
    }
  });
});

describe('the plugin of a controller', () => {
  const ADDRESS = 'https://own.example.com:6443';
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'clusterpass-controller-'));
    await writeFile(join(home, 'token'), server.adminToken);
    const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: ADDRESS }];
    await patchCluster(server, 'own', { spec: { orchestratorApiEndpoints: { serverEndpoints } } });
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  /** As client-go runs it for a ClusterProfile: settings in variables of the consumer, the name in the profile. */
  function plugin(config: object, { version = 'v1', address = ADDRESS, env = {}, args = [] as string[] } = {}) {
    const info = {
      kind: 'ExecCredential',
      apiVersion: `client.authentication.k8s.io/${version}`,
      spec: { interactive: false, cluster: { server: address, config } },
    };
    const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, 'credential', ...args], {
      encoding: 'utf8',
      env: {
        HOME: home,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
        CLUSTERPASS_SERVER: server.url,
        CLUSTERPASS_TOKEN_FILE: join(home, 'token'),
        CLUSTERPASS_AS: 'ci/builder',
        CLUSTERPASS_AUDIENCE: 'vault',
        CLUSTERPASS_DURATION: '20m',
        ...env,
      },
    });
    return { status, stdout, stderr };
  }

  it('CP-97: gets the cluster from the profile, and everything else from its own settings', async () => {
    const attack = { clusterName: 'own', server: 'https://attacker', as: 'kube-system/admin', audience: 'other' };
    const { status, stdout, stderr } = plugin(attack, { version: 'v1beta1' });
    expect([status, stderr]).toEqual([0, '']);
    const { apiVersion, status: credential } = JSON.parse(stdout);
    expect(apiVersion).toBe('client.authentication.k8s.io/v1beta1');
    const { sub, aud, exp = 0, iat = 0 } = decodeJwt(credential.token);
    expect([sub, aud, exp - iat]).toEqual(['system:serviceaccount:ci:builder', ['vault'], 1200]);
    // Nothing but the token and the compiled code is on its disk.
    expect((await readdir(home, { recursive: true })).filter((name) => name.includes('credentials'))).toEqual([]);
  });

  it('CP-98: gets no token for an address that is not one of the cluster', () => {
    const { status, stdout, stderr } = plugin({ clusterName: 'own' }, { address: 'https://attacker.example.com' });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Error from server \(Invalid\): .*for-server.*: must be an address of the cluster\n$/);
    // A cluster that the consumer names itself is reached as its kubeconfig says, through a tunnel for example.
    const args = ['--cluster', 'own'];
    expect(plugin({ clusterName: 'other' }, { address: 'https://tunnel', args }).status).toBe(0);
  });

  it('CP-99: fails in one sentence, and exits with 2 for wrong usage', async () => {
    const without = plugin({});
    expect(without.stderr).toMatch(/^error: --cluster is required: .*\n$/);
    expect(plugin({ clusterName: '../x' }).stderr).toMatch(/^error: .*clusterName is not the name of a cluster\n$/);
    await writeFile(join(home, 'wrong'), 'not-a-token-0123456789');
    const file = join(home, 'wrong');
    const refused = plugin({ clusterName: 'own' }, { env: { CLUSTERPASS_TOKEN_FILE: file } });
    expect([refused.status, refused.stderr]).toEqual([1, `error: ${server.url} refused the token in ${file}\n`]);
    const gone = plugin({ clusterName: 'own' }, { env: { CLUSTERPASS_SERVER: 'http://127.0.0.1:1' } });
    expect(gone.stderr).toBe(
      'Unable to connect to the server: http://127.0.0.1:1 cannot be reached: connection refused\n',
    );
    // The source that the user has set: the flag, else the variable.
    const short = plugin({ clusterName: 'own' }, { args: ['--duration', '1m'] });
    expect(short.stderr).toMatch(/^Error from server \(Invalid\): .*: --duration: Invalid value: 60: .*\n$/);
    const bySetting = plugin({ clusterName: 'own' }, { env: { CLUSTERPASS_DURATION: '1m' } });
    expect(bySetting.stderr).toMatch(/: CLUSTERPASS_DURATION: Invalid value: 60: /);
    const unknown = plugin({ clusterName: 'own' }, { args: ['--nonsense'] });
    expect(unknown.stderr).toMatch(/unknown option '--nonsense'/);
    // By the plugin, and by the whole program, which explains usage.
    expect([without.status, unknown.status]).toEqual([2, 2]);
  });
});
