import { execFile, spawnSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { LAUNCHER, PROGRAM } from '../program.ts';
import { namesIn, Person } from './support/cli.ts';
import { addCluster, grantClusters, patchCluster, removeCluster } from './support/fleet.ts';
import { describeWithKubectl, kubectlBinary } from './support/kubectl.ts';
import { bind, createAccount, createNamespace, MAY_CREATE_TOKENS } from './support/objects.ts';
import { sharedServer } from './support/shared-server.ts';

const hasFish = spawnSync('fish', ['--version']).status === 0;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what terminals take for a change of colour.
const COLOUR = /\u001b\[[0-9;]*m/;

const server = sharedServer();
let admin: Person;
let jane: Person;
let joe: Person;

beforeAll(async () => {
  await addCluster(server, 'dev-1', { labels: { env: 'dev' } });
  await addCluster(server, 'prod-1', {
    labels: { env: 'prod', region: 'eu' },
    annotations: {
      'example.com/owner': 'platform',
      'clusterpass.dev/cluster-id': '5f0f9c1e-3f0e-4d0e-8a51-6a3c1c1e7f10',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
    },
    spec: {
      orchestratorApiEndpoints: {
        serverEndpoints: [
          { clientCIDR: '10.0.0.0/8', serverAddress: 'https://10.0.0.1:6443' },
          { clientCIDR: '0.0.0.0/0', serverAddress: 'https://prod-1.example.com' },
        ],
      },
    },
  });
  const status = {
    type: 'EKS',
    version: 'v1.36.4',
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Fine',
        // Control characters that a hostile or careless writer might put into an object.
        message: 'all \u001b[31mred\u001b[0m',
        lastTransitionTime: '2020-01-01T00:00:00Z',
      },
    ],
  };
  const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/prod-1/status';
  expect((await server.call('PATCH', path, { body: { status } })).code).toBe(200);
  await grantClusters(server, 'jane-sees', 'jane', { clusters: 'env=prod' });
  [admin, jane, joe] = await Promise.all([Person.as(server), Person.as(server, 'jane'), Person.as(server, 'joe')]);
});

const MISSING = 'error: nope: there is no such cluster that you may see\n';

describe('clusterpass get clusters', () => {
  it('shows each caller what it may see', async () => {
    const table = await admin.ok(['get', 'clusters']);
    const lines = table.split('\n').map((line) => line.split(/ {2,}/).slice(0, 4));
    expect(lines.slice(0, 3)).toEqual([
      ['NAME', 'READY', 'TYPE', 'VERSION'],
      ['dev-1', 'Unknown', '<none>', '<none>'],
      ['prod-1', 'True', 'EKS', 'v1.36.4'],
    ]);
    expect(table).toMatch(/^prod-1 {3}True {6}EKS {6}v1\.36\.4 {3}\d+s$/m);
    expect((await jane.ok(['get', 'clusters', '--no-headers'])).split(/\s/, 1)).toEqual(['prod-1']);
    expect(await joe.run(['get', 'clusters'])).toEqual({ code: 0, stdout: '', stderr: 'No resources found\n' });
  });

  it('-o wide says why a cluster is not ready', async () => {
    await addCluster(server, 'lost', { labels: {} });
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Unplugged', message: 'no cable' }];
    const path = '/apis/clusterregistry.k8s.io/v1alpha1/clusters/lost';
    await server.call('PATCH', `${path}/status`, { body: { status: { conditions } } });
    const table = await admin.ok(['get', 'clusters', '-o', 'wide']);
    expect((await server.call('DELETE', path)).code).toBe(200);
    expect(table).toMatch(/^NAME +READY +TYPE +VERSION +AGE +REASON +ENDPOINT/);
    expect(table).toMatch(/^lost +False .* Unplugged +<none>/m);
    expect(table).toMatch(/^prod-1 +True .*\ds +<none> +https:/m);
  });

  it('one by name, several by name, and none', async () => {
    expect(await admin.ok(['get', 'cluster', 'dev-1', '--no-headers'])).toMatch(/^dev-1 +Unknown/);
    expect(await admin.ok(['get', 'clusters', 'prod-1', 'dev-1', '-o', 'name'])).toBe(
      'cluster.clusterregistry.k8s.io/prod-1\ncluster.clusterregistry.k8s.io/dev-1\n',
    );
    expect(await admin.fails(['get', 'clusters', 'nope'])).toBe(MISSING);
    expect(await joe.fails(['get', 'clusters', 'prod-1'])).toBe(MISSING.replace('nope', 'prod-1'));
  });

  it('of several names, shows those that are there, and says which are not', async () => {
    expect(await admin.run(['get', 'cluster', 'dev-1', 'nope', 'prod-1', '--no-headers'])).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^dev-1 .*\nprod-1 .*\n$/),
      stderr: MISSING,
    });
    const { stdout } = await admin.run(['get', 'cluster', 'dev-1', 'nope', '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'List', items: [{ metadata: { name: 'dev-1' } }] });
    expect(await admin.fails(['get', 'cluster', 'nope', 'no'])).toBe(MISSING + MISSING.replace('nope', 'no'));
    // An error of all of them is printed once.
    expect(await admin.fails(['get', 'cluster', 'dev-1', 'prod-1', '--token', 'wrong'])).toMatch(
      /^error: .*Unauthorized\), the token of --token\n$/,
    );
  });

  it('-o json, yaml', async () => {
    const list = JSON.parse(await admin.ok(['get', 'clusters', '-o', 'json']));
    expect(list).toMatchObject({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' } });
    expect(list.items).toHaveLength(2);
    const one = JSON.parse(await admin.ok(['get', 'cluster', 'prod-1', '-o', 'json']));
    expect(one).toMatchObject({ kind: 'Cluster', metadata: { name: 'prod-1' } });
    expect(await admin.ok(['get', 'cluster', 'prod-1', '-o', 'yaml'])).toMatch(
      /^apiVersion: .*\nkind: Cluster\nmetadata:\n/,
    );
    expect(await admin.fails(['get', 'clusters', '-o', 'xml'])).toMatch(
      /^error: --output: "xml" must be one of wide, json, yaml, name\n/,
    );
  });

  it('-l, --field-selector', async () => {
    const names = async (...flags: string[]): Promise<string> =>
      namesIn(await admin.ok(['get', 'clusters', '-o', 'name', ...flags])).join(' ');
    expect(await names('-l', 'env in (prod)')).toBe('prod-1');
    expect(await names('--field-selector', 'metadata.name!=prod-1')).toBe('dev-1');
    expect(await admin.fails(['get', 'clusters', '-l', 'a b'])).toMatch(
      /^Error from server \(BadRequest\): .*found 'b'/,
    );
    expect(await admin.fails(['get', 'clusters', 'dev-1', '-l', 'a'])).toMatch(/^error: selectors cannot be combined/);
  });

  it('takes names with their type, as -o name prints them', async () => {
    const names = 'cluster.clusterregistry.k8s.io/prod-1\ncluster.clusterregistry.k8s.io/dev-1\n';
    expect(await admin.ok(['get', 'clusters', ...names.trim().split('\n'), '-o', 'name'])).toBe(names);
    expect(await admin.ok(['describe', 'cluster', 'cluster/prod-1'])).toMatch(/^Name: +prod-1\n/);
    expect(await admin.fails(['get', 'cluster', 'pod/x'])).toMatch(/^error: "pod\/x": expected NAME or SERVER\/NAME/);
  });

  it('NO_COLOR: there is no colour, not even for a person at a terminal', async () => {
    // `script` gives it a terminal; FORCE_COLOR gives no colour either.
    const command = `'${process.execPath}' '${PROGRAM}' get clusters nope prod-1; '${process.execPath}' '${PROGRAM}' get --help`;
    for (const setting of [{ NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
      const env = {
        PATH: process.env.PATH,
        HOME: admin.home,
        TERM: 'xterm-256color',
        CLUSTERPASS_SERVER: server.url,
        CLUSTERPASS_TOKEN: server.adminToken,
        ...setting,
      };
      const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env });
      expect(stdout).toContain('prod-1');
      expect(stdout).toContain('Usage: clusterpass get');
      expect(stdout).not.toMatch(COLOUR);
    }
  });

  it('-w shows all objects, then every change', async () => {
    const running = admin.start(['get', 'clusters', '-w', '-l', 'env=dev']);
    await running.until(({ stdout }) => stdout.includes('dev-1'));
    await addCluster(server, 'dev-2', { labels: { env: 'dev' } });
    await running.until(({ stdout }) => stdout.includes('dev-2'));
    await patchCluster(server, 'dev-1', { metadata: { annotations: { note: 'x' } } });
    await running.until(({ stdout }) => stdout.split('dev-1').length === 3);
    await removeCluster(server, 'dev-2');
    const { stdout } = await running.stop();
    expect(stdout).toMatch(/^NAME .*\ndev-1 .*\ndev-2 .*\ndev-1 .*\n/);
    expect(stdout).not.toContain('prod-1');
    expect(await admin.fails(['get', 'clusters', 'dev-1', '-w'])).toContain('--field-selector metadata.name=NAME');
  });

  it('a pipe that its reader closes is no error', async () => {
    const running = admin.start(['get', 'clusters', '-o', 'json']);
    running.child.stdout?.destroy();
    expect((await running.ended).stderr).toBe('');
  });

  it('wrong usage ends with 1 and one hint', async () => {
    expect(await admin.fails(['get', 'clusters', '--bad'])).toBe(
      "error: unknown option '--bad'\nSee 'clusterpass get clusters --help' for usage.\n",
    );
    expect(await admin.fails(['nonsense'])).toBe(
      "error: unknown command 'nonsense'\nSee 'clusterpass --help' for usage.\n",
    );
    expect(await admin.fails(['get', 'widgets'])).toBe(
      "error: unknown command 'widgets'\n(Did you mean clusters or accounts?)\nSee 'clusterpass get --help' for usage.\n",
    );
  });
});

describe('clusterpass describe cluster', () => {
  it('shows everything that helps to use it, and who allowed it', async () => {
    const text = await jane.ok(['describe', 'cluster', 'prod-1']);
    for (const line of [
      /^Name: +prod-1$/m,
      /^Labels: +env=prod\n +region=eu$/m,
      // As `get -o yaml` has them.
      /^UID: +[0-9a-f-]{36}$/m,
      /^Annotations: +example\.com\/owner: platform$/m,
      /^Type: +EKS$/m,
      /^Version: +v1\.36\.4$/m,
      /^Issuer: +http:\/\/127\.0\.0\.1:\d+\/orchestrator\/prod-1$/m,
      /^Default audience: +http:\/\/127\.0\.0\.1:\d+\/orchestrator\/prod-1$/m,
      /^Longest lifetime: +24h \(86400 seconds\)$/m,
      /^Visible because: +RBAC: allowed by FleetRoleBinding "jane-sees" of ClusterRole "jane-sees" to User "jane"$/m,
      /^ {2}10\.0\.0\.0\/8 +https:\/\/10\.0\.0\.1:6443$/m,
      /^ {2}Ready +True +<unknown> +\d+y\d*d? +Fine +all \?\[31mred\?\[0m$/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(text).not.toContain('\u001b');
    const whole = await admin.ok(['describe', 'cluster', 'prod-1']);
    expect(whole).toMatch(
      /^Annotations: +clusterpass\.dev\/cluster-id: 5f0f9c1e-.*\n +example\.com\/owner: platform$/m,
    );
    expect(whole).not.toContain('last-applied');
  });

  it('lists the service accounts that the caller may use, and where the others are', async () => {
    expect(await jane.ok(['describe', 'cluster', 'prod-1'])).toMatch(/^Usable accounts: +<none>$/m);
    await createNamespace(server, 'ci', 'prod-1');
    await Promise.all(['builder', 'deployer', 'other'].map((name) => createAccount(server, name, 'ci', 'prod-1')));
    const rule = { ...MAY_CREATE_TOKENS, resourceNames: ['builder', 'deployer'] };
    await bind(server, 'jane-tokens', { kind: 'User', name: 'jane' }, rule);
    expect(await jane.ok(['describe', 'cluster', 'prod-1'])).toMatch(
      /\nUsable accounts:\n {2}Namespace +Name\n {2}-+ +-+\n {2}ci +builder\n {2}ci +deployer\n$/,
    );
    const many = Array.from({ length: 30 }, (_, at) => `robot-${at}`);
    await Promise.all(many.map((name) => createAccount(server, name, 'ci', 'prod-1')));
    const text = await admin.ok(['describe', 'cluster', 'prod-1']);
    expect(text.match(/^ {2}ci +\S+$/gm)).toHaveLength(20);
    expect(text).toMatch(/\n {2}\(more: clusterpass get accounts --cluster prod-1\)\n$/);
  });

  it('says why not', async () => {
    expect(await admin.fails(['describe', 'cluster', 'nope'])).toBe(MISSING);
    expect(await joe.fails(['describe', 'cluster', 'prod-1'])).toBe(MISSING.replace('nope', 'prod-1'));
  });

  it('continues after a cluster that does not exist', async () => {
    const { code, stdout, stderr } = await admin.run(['describe', 'cluster', 'nope', 'dev-1', 'no', 'prod-1']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Name: +dev-1\n.*\n\n\nName: +prod-1\n/s);
    expect(stderr).toBe(MISSING + MISSING.replace('nope', 'no'));
  });

  it('an administrator sees it by the group, which needs no rule', async () => {
    const text = await admin.ok(['describe', 'cluster', 'prod-1']);
    expect(text).toMatch(/^Visible because: +members of system:masters may do everything$/m);
  });
});

describe('clusterpass version and completion', () => {
  it('version', async () => {
    expect(await admin.ok(['version'])).toMatch(/^Client Version: v\d+\.\d+\.\d+\nServer Version: v?\d.*\n$/);
    expect(JSON.parse(await admin.ok(['version', '--client', '-o', 'json']))).toEqual({
      clientVersion: { gitVersion: expect.stringMatching(/^v\d/), platform: expect.stringContaining('/') },
    });
    // Both run on this machine.
    const { clientVersion, serverVersion } = JSON.parse(await admin.ok(['version', '-o', 'json']));
    expect(clientVersion.platform).toBe(serverVersion.platform);
  });

  it('version of the client is printed without a server', async () => {
    const flags = ['version', '--server', 'http://127.0.0.1:1'];
    expect(await admin.fails(flags)).toMatch(/^Unable to connect to the server/);
    const { stdout } = await admin.run([...flags, '--client', '-o=json']);
    expect(JSON.parse(stdout)).toEqual({ clientVersion: expect.anything() });
  });

  it.skipIf(!hasFish)(
    `completion fish completes in the real shell${hasFish ? '' : ' (skipped: there is no fish)'}`,
    async () => {
      const file = join(admin.home, 'clusterpass.fish');
      await writeFile(file, await admin.ok(['completion', 'fish']));
      const lines = ['kubec', 'auth ', 'get clusters --field', 'exec --all -- x --pru', 'exec -- clusterpass.f'].map(
        (line) => `clusterpass ${line}`,
      );
      const script = [`source ${file}`, ...lines.map((line) => `complete -C '${line}'`)].join('; ');
      const env = { PATH: process.env.PATH, HOME: admin.home };
      const { stdout } = await promisify(execFile)('fish', ['--no-config', '-c', script], { env, cwd: admin.home });
      expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual([
        'kubeconfig',
        'can-i',
        'reach',
        'who-can',
        'why',
        '--field-selector',
        'clusterpass.fish',
        '',
      ]);
    },
  );

  it('completion bash completes commands, flags and clusters; another shell is refused', async () => {
    const script = await admin.ok(['completion', 'bash']);
    const bin = join(admin.home, 'bin');
    await mkdir(bin);
    await symlink(LAUNCHER, join(bin, 'clusterpass'));
    const complete = async (...words: string[]): Promise<string[]> => {
      const line = words.map((word) => `'${word}'`).join(' ');
      const text = `${script}\nCOMP_WORDS=(clusterpass ${line}); COMP_CWORD=${words.length}
        COMP_LINE='clusterpass ${words.join(' ')}'; COMP_POINT=\${#COMP_LINE}; _clusterpass; echo "\${COMPREPLY[@]}"`;
      const env = {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: admin.home,
        CLUSTERPASS_SERVER: server.url,
        CLUSTERPASS_TOKEN: server.adminToken,
      };
      const { stdout } = await promisify(execFile)('bash', ['-c', text], { env });
      return stdout.trim().split(' ');
    };
    expect(await complete('kub')).toEqual(['kubeconfig', 'kubectl']);
    expect(await complete('auth', '')).toEqual(['can-i', 'why', 'reach', 'who-can']);
    expect(await complete('servers', '')).toEqual(['use', '--output']);
    expect(await complete('describe', 'cluster', 'pr')).toEqual(['prod-1']);
    expect(await complete('create', 'token', 'x', '--cluster', 'd')).toEqual(['dev-1']);
    expect(await complete('get', 'clusters', '-o', '')).toEqual(['wide', 'json', 'yaml', 'name']);
    expect(await complete('exec', '--as', 'a/b', '--', 'kubectl', '--')).toEqual(['']);
    expect(await admin.fails(['completion', 'tcsh'])).toBe('error: unsupported shell "tcsh": bash, zsh or fish\n');
  });
});

describeWithKubectl('as a plugin of kubectl', () => {
  it('kubectl clusterpass get clusters', async () => {
    const bin = join(jane.home, 'bin');
    await mkdir(bin);
    await symlink(join(dirname(LAUNCHER), 'kubectl-clusterpass.mjs'), join(bin, 'kubectl-clusterpass'));
    const said = await kubectlBinary(['clusterpass', 'get', 'clusters', '-o', 'name'], {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: jane.home,
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: server.adminToken,
    });
    expect(said).toContain('cluster.clusterregistry.k8s.io/prod-1\n');
  });
});
