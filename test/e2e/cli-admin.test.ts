import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { KUBECTL } from '../../scripts/programs.ts';
import { LAUNCHER } from '../program.ts';
import { namesIn, Person } from './support/cli.ts';
import { describeWithKubectl, kubectlBinary } from './support/kubectl.ts';
import { bind, createCluster, createNamespace, createObjects } from './support/objects.ts';
import { startServer, TLS, tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** Commands for administrators: all passes, and kubectl with Clusterpass itself. */

const server = sharedTlsServer();
let admin: Person;
let jane: Person;

beforeAll(async () => {
  await createObjects(server);
  await bind(server, 'jane-issues', { kind: 'User', name: 'jane' }, undefined, 'env=prod');
  [admin, jane] = await Promise.all([Person.as(server), Person.as(server, 'jane')]);
});

describe('clusterpass token list and revoke, by selection', () => {
  const create = (who: Person, name: string) =>
    who.ok(['create', 'token', name, '-n', 'ci', '--cluster', 'alpha', '--tracked']);
  const ids = async (...flags: string[]) => namesIn(await admin.ok(['token', 'list', '-o', 'name', ...flags]));

  it('by requester, cluster and account', async () => {
    await create(jane, 'builder');
    await create(jane, 'other');
    await create(admin, 'builder');
    expect(await ids()).toHaveLength(3);
    expect(await ids('--requester', 'jane')).toHaveLength(2);
    expect(await ids('--account', 'ci/builder')).toHaveLength(2);
    expect(await ids('--account', 'ci/builder', '--requester', 'jane', '--cluster', 'alpha')).toHaveLength(1);
    expect(await ids('--cluster', 'beta')).toHaveLength(0);
    expect(await ids('--requester', 'jane', '--field-selector', 'spec.serviceAccount.name=other')).toHaveLength(1);

    const dry = await admin.ok(['token', 'revoke', '--requester', 'jane', '--dry-run', 'client']);
    expect(dry.match(/ revoked at .* \(dry run\)\n/g)).toHaveLength(2);
    expect(await ids()).toHaveLength(3);
    await admin.ok(['token', 'revoke', '--requester', 'jane', '--account', 'ci/other']);
    expect(await ids('--requester', 'jane')).toHaveLength(1);
    // Others see and revoke their own tokens only.
    await jane.ok(['token', 'revoke', '--all']);
    expect(await ids()).toHaveLength(1);
    await admin.ok(['token', 'revoke', '--all']);
    expect(await ids()).toHaveLength(0);
    for (const dryRun of ['none', 'client']) {
      const none = await admin.run(['token', 'revoke', '--all', '--dry-run', dryRun]);
      expect(none).toEqual({ code: 0, stdout: '', stderr: 'No resources found\n' });
    }
  });

  it('wrong arguments', async () => {
    const text = 'you must specify token IDs, or --cluster, --account, --requester or --all';
    expect(await admin.fails(['token', 'revoke'])).toContain(text);
    expect(await admin.fails(['token', 'revoke', '--all', '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d'])).toContain(text);
    expect(await admin.fails(['token', 'list', '--account', 'x'])).toContain('--account');
  });
});

describe('clusterpass kubeconfig for the server itself', () => {
  it('writes a context for the fleet and one for each cluster', async () => {
    await admin.ok([
      'login',
      '--server',
      server.url,
      '--token',
      server.adminToken,
      '--certificate-authority',
      TLS.caFile,
    ]);
    const { code, stderr } = await admin.run(['kubeconfig', '--exec-command', 'clusterpass']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('Next: kubectl --context clusterpass get clusters')]);
    const text = await readFile(join(admin.home, '.kube/config'), 'utf8');
    expect(text).toContain(`server: ${server.url}/orchestrator/alpha`);
    expect(text).not.toContain(server.adminToken);
    const again = await admin.run(['kubeconfig', '--server-context', '--exec-command', 'clusterpass', '--prune']);
    expect(again.stderr).toContain('up to date, 3 contexts, 1 of them for the fleet');
  });

  it('credential --login gives the token of the login', async () => {
    const given = JSON.parse(await admin.ok(['credential', '--login', '--server', server.url]));
    expect(given).toEqual({
      kind: 'ExecCredential',
      apiVersion: 'client.authentication.k8s.io/v1',
      spec: {},
      status: { token: server.adminToken },
    });
    const other = await jane.run(['credential', '--login', '--token', tokenOf('jane')]);
    expect(JSON.parse(other.stdout).status.token).toBe(tokenOf('jane'));
  });
});

describeWithKubectl('kubectl with these contexts', () => {
  it('reads the fleet and a cluster', async () => {
    const file = join(admin.home, 'kubectl-config');
    await admin.ok(['kubeconfig', '--output', file, '--exec-command', LAUNCHER]);
    const env = { HOME: admin.home, KUBECONFIG: file };
    expect(await kubectlBinary(['--context', 'clusterpass', 'get', 'clusters', '-o', 'name'], env)).toContain(
      '/alpha\n',
    );
    const get = ['--context', 'clusterpass/alpha', 'get', 'ns', '-o', 'name'];
    expect(await kubectlBinary(get, env)).toContain('namespace/ci\n');
  });

  it('clusterpass kubectl runs it with the login, without a secret in a file, and ends as it does', async () => {
    const bin = join(admin.home, 'bin');
    await mkdir(bin);
    await symlink(KUBECTL, join(bin, 'kubectl'));
    const env = { PATH: `${bin}:${process.env.PATH}` };
    const kubectl = (...args: string[]) => admin.run(['kubectl', ...args], { inProcess: false, env });
    expect(await kubectl('get', 'clusters', '-o', 'name')).toMatchObject({
      code: 0,
      stdout: 'cluster.clusterregistry.k8s.io/alpha\ncluster.clusterregistry.k8s.io/beta\n',
    });
    expect((await kubectl('--cluster', 'alpha', 'get', 'ns', '-o=name')).stdout).toContain('namespace/ci\n');
    expect(await kubectl('get', 'cluster', 'nope')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/NotFound/),
    });
    const written = JSON.parse((await kubectl('config', 'view', '--raw', '-o', 'json')).stdout);
    expect(JSON.stringify(written)).not.toContain(server.adminToken);
    // Objects of several clusters in one file.
    const homes = ['alpha', 'beta'].map((cluster) => ({
      ...{ apiVersion: 'v1', kind: 'Namespace' },
      metadata: { name: 'far', annotations: { 'clusterpass.dev/in-cluster': cluster } },
    }));
    const file = join(admin.home, 'far.json');
    await writeFile(file, homes.map((home) => JSON.stringify(home)).join('\n---\n'));
    expect((await kubectl('diff', '-f', file)).code).toBe(1);
    const namespaces = (suffix: string) => `namespace/far${suffix}\nnamespace/far${suffix}\n`;
    expect(await kubectl('apply', '-f', file)).toMatchObject({ code: 0, stdout: namespaces(' created') });
    expect(await kubectl('diff', '-f', file)).toMatchObject({ code: 0, stdout: '' });
    expect((await kubectl('get', '-f', file, '-o', 'name')).stdout).toBe(namespaces(''));
    const deleted = await kubectl('delete', '-f', file, '--wait=false');
    expect([deleted.code, deleted.stdout.match(/"far" deleted/g)]).toEqual([0, ['"far" deleted', '"far" deleted']]);
    expect((await kubectl('get', '-f', file)).code).toBe(1);
    // With a token of a flag, in place of the login.
    const asJane = await kubectl(
      '--token',
      tokenOf('jane'),
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username}',
    );
    expect(asJane.stdout).toBe('jane');
    const watching = admin.start(['kubectl', 'get', 'clusters', '-w'], env);
    await watching.until(({ stdout }) => stdout.includes('beta'));
    // kubectl ends by the signal, or with 1 once its watch has a handler for it.
    expect([1, 143]).toContain((await watching.stop()).code);
    const none = await admin.run(['kubectl', 'version'], { inProcess: false, env: { PATH: '/nonexistent' } });
    expect([none.code, none.stderr]).toEqual([
      1,
      'error: kubectl cannot be started: there is no kubectl on the PATH\n',
    ]);
  });

  it('reads each of several servers with the login for it', async () => {
    const other = await startServer({ tls: true });
    const person = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
    onTestFinished(() => other.destroy());
    // Both servers have a cluster alpha. Each refuses the token of the other.
    for (const name of ['alpha', 'gamma']) await createCluster(other, name);
    await createNamespace(other, 'elsewhere', 'alpha');
    for (const [name, { url, adminToken }] of Object.entries({ one: server, two: other })) {
      await person.ok(['login', '--server', url, '--name', name, '--token', adminToken]);
    }
    const file = join(person.home, 'both');
    await person.ok(['kubeconfig', '--output', file, '--exec-command', LAUNCHER]);
    const env = { HOME: person.home, KUBECONFIG: file };
    const names = async (...args: string[]): Promise<string[]> =>
      (await kubectlBinary([...args, '-o', 'name'], env)).trim().split('\n').sort();
    expect(await names('config', 'get-contexts')).toEqual([
      'clusterpass@one',
      'clusterpass@one/alpha',
      'clusterpass@one/beta',
      'clusterpass@two',
      'clusterpass@two/alpha',
      'clusterpass@two/gamma',
    ]);
    // `clusterpass kubectl` has the same contexts of the fleets.
    await symlink(KUBECTL, join(person.home, 'kubectl'));
    const own = await person.run(['kubectl', 'get', 'clusters', '-o', 'name', '--context', 'clusterpass@one'], {
      inProcess: false,
      env: { PATH: `${person.home}:${process.env.PATH}` },
    });
    expect(namesIn(own.stdout)).toEqual(['alpha', 'beta']);
    const clusters = async (context: string): Promise<string[]> =>
      (await names('--context', context, 'get', 'clusters')).map((name) => name.replace(/^.*\//, ''));
    expect(await clusters('clusterpass@one')).toEqual(['alpha', 'beta']);
    expect(await clusters('clusterpass@two')).toEqual(['alpha', 'gamma']);
    const namespaces = (context: string): Promise<string[]> => names('--context', context, 'get', 'ns');
    expect(await namespaces('clusterpass@one/alpha')).toContain('namespace/ci');
    expect(await namespaces('clusterpass@two/alpha')).toEqual(['namespace/elsewhere']);
  });
});
