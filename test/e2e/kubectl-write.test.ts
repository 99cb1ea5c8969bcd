import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { KUBECTL } from '../../scripts/programs.ts';
import { LAUNCHER } from '../program.ts';
import { Person } from './support/cli.ts';
import { addCluster } from './support/fleet.ts';
import { KINDS, type KindCase, objectOf } from './support/kinds.ts';
import { describeWithKubectl, kubectl, kubectlBinary, kubectlOk } from './support/kubectl.ts';
import { createAccount, createNamespace, createObjects } from './support/objects.ts';
import { TLS } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';
import { openRelay } from './support/tcp-relay.ts';

/** kubectl changes objects of every kind, creates tokens, and uses the kubeconfig of a cluster. */

const server = sharedTlsServer();

beforeAll(async () => {
  await createObjects(server);
  await createAccount(server, 'default');
});

const isInCluster = ({ path }: KindCase): boolean => path.startsWith('/orchestrator/alpha');

/** Each run of kubectl gets one object of every kind that the address serves. */
const PLACES = [
  { place: 'the fleet', at: {}, kinds: KINDS.filter((of) => !isInCluster(of)) },
  { place: 'a cluster', at: { clusterPath: '/orchestrator/alpha' }, kinds: KINDS.filter(isInCluster) },
];

for (const { place, at, kinds } of PLACES) {
  const listOf = (object: (of: KindCase) => object): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: kinds.map(object) });
  const run = (args: readonly string[], object?: (of: KindCase) => object) =>
    kubectl(server, [...args, '-n', 'ci'], { ...at, ...(object === undefined ? {} : { stdin: listOf(object) }) });
  const runOk = async (args: readonly string[], object?: (of: KindCase) => object): Promise<string> => {
    const { code, stdout, stderr } = await run(args, object);
    expect(code, `kubectl ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  };
  const read = async (of: KindCase, name: string) => (await server.call('GET', `${of.path}/${name}`)).json;
  /** `pods/NAME`, ... */
  const targets = (name: string, some = kinds): string[] => some.map(({ resource }) => `${resource}/${name}`);
  const lines = (name: string, what: string, some = kinds): string =>
    some.map(({ kind, group }) => `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name} ${what}\n`).join('');
  const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

  describeWithKubectl(`kubectl writes every kind at ${place}`, () => {
    it('X-13, X-14: apply creates objects, keeps unchanged ones, and changes others', async () => {
      const strict = ['apply', '--validate=strict', '-f', '-'];
      expect(await runOk(strict, (of) => objectOf(of, { name: 'applied' }))).toBe(lines('applied', 'created'));
      expect(await runOk(strict, (of) => objectOf(of, { name: 'applied' }))).toBe(lines('applied', 'unchanged'));
      const changed = (of: KindCase) => objectOf(of, { name: 'applied', labels: { a: 'b' } }, of.changed);
      expect(await runOk(strict, changed)).toBe(lines('applied', 'configured'));
      for (const of of kinds)
        expect(await read(of, 'applied')).toMatchObject({ ...of.changed, metadata: { labels: { a: 'b' } } });
      const bare = (of: KindCase) => objectOf(of, { name: 'applied' }, of.changed);
      expect(await runOk(strict, bare)).toBe(lines('applied', 'configured'));
      for (const of of kinds) expect((await read(of, 'applied')).metadata.labels ?? {}).not.toHaveProperty('a');
    });

    it('apply --dry-run=server and diff: change nothing, and print the difference', async () => {
      const before = (of: KindCase) => objectOf(of, { name: 'dry' });
      const dryRun = ['apply', '--dry-run=server', '-f', '-'];
      expect(await runOk(dryRun, before)).toBe(lines('dry', 'created (server dry run)'));
      await runOk(['apply', '-f', '-'], before);
      const after = (of: KindCase) => objectOf(of, { name: 'dry', annotations: { note: 'changed' } });
      expect(await runOk(dryRun, after)).toBe(lines('dry', 'configured (server dry run)'));
      const diff = await run(['diff', '-f', '-'], after);
      expect([diff.code, count(diff.stdout, /^\+ {4}note: changed$/gm)]).toEqual([1, kinds.length]);
      for (const of of kinds) expect((await read(of, 'dry')).metadata.annotations).not.toHaveProperty('note');
    });

    it('--validate=strict refuses an unknown field', async () => {
      const apply = (validate: string) =>
        run(['apply', `--validate=${validate}`, '-f', '-'], (of) => ({
          ...objectOf(of, { name: 'odd' }),
          [`surprise${of.kind}`]: 1,
        }));
      const strict = await apply('strict');
      expect([strict.code, strict.stdout]).toEqual([1, '']);
      for (const { kind } of kinds) expect(strict.stderr).toContain(`unknown field "surprise${kind}"`);
      const warned = await apply('warn');
      // An unknown field of a FleetRoleBinding is an error whatever a client asks for: it could widen the binding.
      const lenient = kinds.filter(({ kind }) => kind !== 'FleetRoleBinding');
      expect(warned.code).toBe(lenient.length === kinds.length ? 0 : 1);
      for (const { kind } of lenient) expect(warned.stderr).toContain(`Warning: unknown field "surprise${kind}"`);
    });

    it('create, label, annotate, two types of patch, replace, edit, delete', async () => {
      const object = (of: KindCase) => objectOf(of, { name: 'made' });
      const made = targets('made');
      expect(await runOk(['create', '-f', '-'], object)).toBe(lines('made', 'created'));
      const again = await run(['create', '-f', '-'], object);
      expect(count(again.stderr, /\(AlreadyExists\)/g)).toBe(kinds.length);
      expect(await runOk(['label', ...made, 'a=b'])).toBe(lines('made', 'labeled'));
      expect(await runOk(['annotate', ...made, 'c=d'])).toBe(lines('made', 'annotated'));
      const merge = JSON.stringify({ metadata: { labels: { e: 'f' } } });
      expect(await runOk(['patch', ...made, '--type=merge', '-p', merge])).toBe(lines('made', 'patched'));
      for (const of of kinds) expect((await read(of, 'made')).metadata.labels).toMatchObject({ a: 'b', e: 'f' });
      const json = JSON.stringify([{ op: 'remove', path: '/metadata/labels/e' }]);
      expect(await runOk(['patch', ...made, '--type=json', '-p', json])).toBe(lines('made', 'patched'));

      const live = new Map<KindCase, Awaited<ReturnType<typeof read>>>();
      for (const of of kinds) live.set(of, await read(of, 'made'));
      for (const { metadata } of live.values()) {
        expect(metadata).toMatchObject({ labels: { a: 'b' }, annotations: { c: 'd' } });
        expect(metadata.labels).not.toHaveProperty('e');
        metadata.labels = { g: 'h' };
      }
      expect(await runOk(['replace', '-f', '-'], (of) => live.get(of))).toBe(lines('made', 'replaced'));
      const edited = await kubectlOk(server, ['edit', ...made, '-n', 'ci'], {
        ...at,
        env: { KUBE_EDITOR: 'sed -i s/g:.h/g:\\ edited/' },
      });
      expect(edited).toBe(lines('made', 'edited'));
      for (const of of kinds) expect((await read(of, 'made')).metadata.labels).toMatchObject({ g: 'edited' });
      expect(await runOk(['label', ...made, 'g-'])).toBe(lines('made', 'unlabeled'));
      expect(count(await runOk(['delete', ...made]), /"made" deleted/g)).toBe(kinds.length);
      expect(count((await run(['get', ...made])).stderr, /\(NotFound\)/g)).toBe(kinds.length);
    });

    it('X-16: patch --type=strategic, where the kind is one of Kubernetes', async () => {
      await runOk(['create', '-f', '-'], (of) => objectOf(of, { name: 'strategic', finalizers: ['x/a', 'x/b'] }));
      const patch = JSON.stringify({ metadata: { '$deleteFromPrimitiveList/finalizers': ['x/a'] } });
      const args = (some: KindCase[]) => ['patch', ...targets('strategic', some), '--type=strategic', '-p', patch];
      const builtin = kinds.filter(({ style }) => style === 'builtin');
      expect(await runOk(args(builtin))).toBe(lines('strategic', 'patched', builtin));
      for (const of of builtin) expect((await read(of, 'strategic')).metadata.finalizers).toEqual(['x/b']);
      for (const of of kinds.filter(({ style }) => style === 'custom')) {
        const { code, stderr } = await run(args([of]));
        expect([code, stderr]).toEqual([1, expect.stringContaining('strategic')]);
      }
    });

    it('X-16, AP-70: apply --server-side creates, changes, gets a conflict, and takes ownership by force', async () => {
      const apply = (env: string, ...args: string[]) =>
        run(['apply', '--server-side', '-f', '-', ...args], (of) => objectOf(of, { name: 'ssa', labels: { env } }));
      const applied = { code: 0, stdout: lines('ssa', 'serverside-applied'), stderr: '' };
      expect(await apply('a')).toEqual(applied);
      expect(await apply('a', '--field-manager=other')).toEqual(applied);
      const conflict = await apply('b', '--field-manager=other');
      const message = /Apply failed with 1 conflict: conflict with "kubectl": \.metadata\.labels\.env/g;
      expect([conflict.code, conflict.stdout, count(conflict.stderr, message)]).toEqual([1, '', kinds.length]);
      expect(await apply('b', '--field-manager=other', '--force-conflicts')).toEqual(applied);
      for (const of of kinds) expect((await read(of, 'ssa')).metadata.labels).toMatchObject({ env: 'b' });
    });
  });
}

describeWithKubectl('kubectl makes objects by itself', () => {
  it.each<[string[], string]>([
    [
      ['create', 'clusterrole', 'gen', '--verb=get', '--resource=clusters.clusterregistry.k8s.io'],
      'clusterrole.rbac.authorization.k8s.io/gen created\n',
    ],
    [
      ['create', 'clusterrolebinding', 'gen', '--clusterrole=gen', '--user=jane'],
      'clusterrolebinding.rbac.authorization.k8s.io/gen created\n',
    ],
    [
      ['create', 'role', 'gen', '-n', 'ci', '--verb=list', '--resource=roles'],
      'role.rbac.authorization.k8s.io/gen created\n',
    ],
    [
      ['create', 'rolebinding', 'gen', '-n', 'ci', '--role=gen', '--group=g'],
      'rolebinding.rbac.authorization.k8s.io/gen created\n',
    ],
  ])('%j', async (args, output) => {
    expect(await kubectlOk(server, args)).toBe(output);
  });
});

const ALPHA = { clusterPath: '/orchestrator/alpha' } as const;

const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

describeWithKubectl('kubectl create token', () => {
  it('X-01, X-02: prints the token alone', async () => {
    const token = await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci'], ALPHA);
    expect(token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+\n?$/);
    expect(claimsIn(token)).toMatchObject({
      aud: [`${server.url}/orchestrator/alpha`],
      sub: 'system:serviceaccount:ci:builder',
    });
  });

  it('with an audience, a lifetime and a pod', async () => {
    const args = ['--audience=vault', '--duration=10m', '--bound-object-kind=Pod', '--bound-object-name=web-0'];
    const claims = claimsIn(await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci', ...args], ALPHA));
    expect(claims.aud).toEqual(['vault']);
    expect(claims.exp - claims.iat).toBe(600);
    expect(claims['kubernetes.io'].pod.name).toBe('web-0');
  });

  it('bound to a secret, several audiences, as JSON', async () => {
    const args = [
      '--audience=a',
      '--audience=b',
      '--bound-object-kind=Secret',
      '--bound-object-name=tls',
      '-o',
      'json',
    ];
    const json = JSON.parse(await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci', ...args], ALPHA));
    expect(json).toMatchObject({ kind: 'TokenRequest', spec: { audiences: ['a', 'b'] } });
    expect(claimsIn(json.status.token)['kubernetes.io'].secret.name).toBe('tls');
  });

  it.each<[string, string[], string]>([
    ['an account that does not exist', ['nobody'], 'error: failed to create token: serviceaccounts "nobody" not found'],
    ['too short a lifetime', ['builder', '--duration=1m'], 'spec.expirationSeconds'],
    ['decision 5: a node', ['builder', '--bound-object-kind=Node', '--bound-object-name=n'], 'cannot bind token'],
  ])('%s', async (_, args, message) => {
    const { code, stderr, stdout } = await kubectl(server, ['create', 'token', '-n', 'ci', ...args], ALPHA);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
  });

  it('kubectl can use the token itself', async () => {
    const token = (await kubectlOk(server, ['create', 'token', 'builder', '-n', 'ci'], ALPHA)).trim();
    expect(await kubectlOk(server, ['api-resources', '-o', 'name'], { ...ALPHA, token })).toContain('serviceaccounts');
    const { stderr } = await kubectl(server, ['get', 'pods', '-n', 'ci'], { ...ALPHA, token });
    expect(stderr).toContain('User "system:serviceaccount:ci:builder" cannot list resource "pods"');
  });
});

const run = promisify(execFile);

/** A plugin that records its arguments, and returns the token of its environment. */
const PLUGIN = `#!/bin/sh
echo "$@" > "$HOME/called-with"
echo "{\\"apiVersion\\":\\"client.authentication.k8s.io/v1\\",\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$TOKEN\\"}}"
`;

describeWithKubectl('kubectl with the kubeconfig of a cluster', () => {
  let home: string;
  let relay: Awaited<ReturnType<typeof openRelay>>;

  beforeAll(async () => {
    relay = await openRelay(server.url);
    home = await mkdtemp(join(tmpdir(), 'clusterpass-kubeconfig-'));
    await writeFile(join(home, 'clusterpass'), PLUGIN, { mode: 0o755 });
    // The API of a cluster has no path prefix, and neither has the fleet, which stands in for it.
    const caBundle = (await readFile(TLS.caFile)).toString('base64');
    const serverEndpoints = [
      { clientCIDR: '10.0.0.0/8', serverAddress: 'https://unreachable.example.com' },
      { clientCIDR: '127.0.0.0/8', serverAddress: relay.url },
    ];
    await addCluster(server, 'reached', { spec: { orchestratorApiEndpoints: { serverEndpoints, caBundle } } });
  });
  afterAll(() => relay.close());

  it.each(['application/json', 'application/yaml'])(
    '%s: gets a token by the program and reaches it',
    async (Accept) => {
      const file = join(home, 'config');
      const { text } = await server.call('GET', '/auth/v1/clusters/reached/kubeconfig?as=ci/builder', {
        headers: { Accept },
      });
      await writeFile(file, text, { mode: 0o600 });
      const env = { PATH: `${home}:${process.env.PATH}`, HOME: home, KUBECONFIG: file, TOKEN: server.adminToken };
      const withKubeconfig = async (...args: string[]) => (await run(KUBECTL, args, { env })).stdout;

      expect(await withKubeconfig('config', 'current-context')).toBe('reached\n');
      expect(await withKubeconfig('config', 'view', '--minify', '-o', 'jsonpath={..namespace}')).toBe('ci');
      expect(await withKubeconfig('get', 'cluster', 'reached', '-o', 'name')).toBe(
        'cluster.clusterregistry.k8s.io/reached\n',
      );
      expect(await readFile(join(home, 'called-with'), 'utf8')).toBe(
        `credential --server ${server.url} --cluster reached --namespace ci --service-account builder\n`,
      );
    },
  );

  it('gets a token with clusterpass as its plugin, and acts as the account of the token', async () => {
    await createNamespace(server, 'ci', 'reached');
    await createAccount(server, 'builder', 'ci', 'reached');
    const person = await Person.at({ CLUSTERPASS_CA: TLS.caFile });
    await person.ok(['login', '--server', server.url, '--token', server.adminToken]);
    await person.run(['kubeconfig', '--as', 'ci/builder', '--exec-command', LAUNCHER]);
    const env = { HOME: person.home, KUBECONFIG: join(person.home, '.kube/config') };
    // All at once, with an empty cache: one of them requests a token, and the others wait for it.
    const kubectls = Array.from({ length: 4 }, () => kubectlBinary(['--context', 'reached', 'auth', 'whoami'], env));
    const said = await Promise.all(kubectls);
    for (const text of said) expect(text).toContain('system:cluster:reached:serviceaccount:ci:builder');
    const ids = said.map((text) => /JTI=\S+/.exec(text)?.[0]);
    expect(ids[0]).toMatch(/^JTI=/);
    expect(new Set(ids).size).toBe(1);
  });
});
