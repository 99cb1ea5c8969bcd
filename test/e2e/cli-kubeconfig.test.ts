import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Person } from './support/cli.ts';
import { addCluster, grant, patchCluster, removeCluster } from './support/fleet.ts';
import { describeWithKubectl, kubectlBinary } from './support/kubectl.ts';
import { type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { createAccount, createNamespace } from './support/token-world.ts';

const LAUNCHER = fileURLToPath(new URL('../../bin/clusterpass.mjs', import.meta.url));

let server: Server;
let jane: Person;

const CA = readFileSync(TLS.caFile).toString('base64');
const AS = ['kubeconfig', '--as', 'ci/builder'];

const endpoints = (...list: [cidr: string, address: string][]) => ({
  orchestratorApiEndpoints: {
    serverEndpoints: list.map(([clientCIDR, serverAddress]) => ({ clientCIDR, serverAddress })),
    caBundle: CA,
  },
});

beforeAll(async () => {
  server = await startServer({ users: { jane: [] } });
  await addCluster(server, 'dev-1', {
    labels: { env: 'dev', zone: 'a' },
    // Nobody has the first address, every machine has the second.
    spec: endpoints(['203.0.113.0/24', 'https://far'], ['127.0.0.0/8', 'https://near'], ['0.0.0.0/0', 'https://any']),
  });
  const spec = endpoints(['0.0.0.0/0', 'https://dev-2']);
  await addCluster(server, 'dev-2', { labels: { env: 'dev', zone: 'b' }, spec });
  await addCluster(server, 'bare', { labels: { env: 'dev' } });
  await addCluster(server, 'hidden', { labels: { env: 'prod' }, spec: endpoints(['0.0.0.0/0', 'https://hidden']) });
  await grant(server, 'jane-sees', 'jane', { clusters: 'env=dev' });
});
afterAll(() => server.destroy());
beforeEach(async () => {
  jane = await Person.as(server, 'jane');
});
afterEach(() => jane.leave());

const file = (name = '.kube/config'): string => join(jane.home, name);
// biome-ignore lint/suspicious/noExplicitAny: tests look into files of every shape
const config = async (name?: string): Promise<any> => parse(await readFile(file(name), 'utf8'));
const contexts = async (name?: string): Promise<string[]> =>
  (await config(name)).contexts.map((entry: { name: string }) => entry.name);

describe('clusterpass kubeconfig', () => {
  it('writes a context for every cluster that the caller sees, and no secret', async () => {
    const { code, stdout, stderr } = await jane.run(AS);
    expect(code).toBe(0);
    expect(stdout).toBe('');
    expect(stderr).toContain('Warning: bare is left out: it has no address\n');
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    const written = await config();
    expect(await contexts()).toEqual(['dev-1', 'dev-2']);
    const mark = { server: server.url, cluster: 'dev-1', account: 'ci/builder' };
    expect(written.clusters[0]).toEqual({
      name: 'dev-1',
      cluster: {
        server: 'https://near',
        'certificate-authority-data': CA,
        extensions: [{ name: 'clusterpass.dev', extension: { ...mark, name: 'dev-1' } }],
      },
    });
    expect(written.contexts[0].context).toMatchObject({ cluster: 'dev-1', user: 'ci:builder@dev-1', namespace: 'ci' });
    expect(written.users[0].user.exec).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1',
      interactiveMode: 'Never',
      args: expect.arrayContaining(['credential', '--cluster', 'dev-1', '--server', server.url]),
    });
    expect(await readFile(file(), 'utf8')).not.toContain('token-of-jane');
  });

  it('is the same as the server gives for one cluster', async () => {
    await jane.run(AS);
    const path = '/auth/v1/clusters/dev-2/kubeconfig?as=ci%2Fbuilder';
    const { json } = await server.call('GET', path);
    const written = await config();
    const { command: _, ...exec } = written.users[1].user.exec;
    expect(json.users[0]).toMatchObject({ name: written.users[1].name, user: { exec } });
    expect(written.clusters[1].cluster).toMatchObject(json.clusters[0].cluster);
  });

  it('leaves alone what it did not write: the first file of KUBECONFIG, its comments, its order', async () => {
    const before = [
      '# mine',
      'apiVersion: v1',
      'kind: Config',
      'current-context: home',
      'contexts:',
      '- context: {cluster: home, user: me} # by hand',
      '  name: home',
      'clusters:',
      '- cluster: {server: "https://home"}',
      '  name: home',
      'users:',
      '- {name: me, user: {token: abc}}',
      '',
    ].join('\n');
    await writeFile(file('a'), before, { mode: 0o644 });
    await writeFile(file('b'), 'untouched');
    await jane.run(AS, { env: { KUBECONFIG: `${file('a')}:${file('b')}` } });
    const after = await readFile(file('a'), 'utf8');
    for (const comment of ['# mine', '# by hand']) expect(after).toContain(comment);
    const [was, is] = [parse(before), parse(after)];
    for (const section of ['contexts', 'clusters', 'users']) expect(is[section][0]).toEqual(was[section][0]);
    expect(Object.keys(is)).toEqual(Object.keys(was));
    expect(await contexts('a')).toEqual(['home', 'dev-1', 'dev-2']);
    expect((await config('a'))['current-context']).toBe('home');
    expect(await readFile(file('b'), 'utf8')).toBe('untouched');
    expect((await stat(file('a'))).mode & 0o777).toBe(0o600);
  });

  it('writes nothing when there is nothing new', async () => {
    await jane.run(AS);
    const before = await stat(file());
    expect((await jane.run(AS)).stderr).toContain(`${file()}: up to date, 2 contexts\n`);
    expect((await stat(file())).ino).toBe(before.ino);
  });

  it('says what it did and what comes next', async () => {
    const said = async (...flags: string[]): Promise<string> => (await jane.run([...AS, ...flags])).stderr;
    expect(await said('-l', 'zone=a')).toContain(`${file()}: 1 context, 1 new\n`);
    const more = await said();
    expect(more).toContain(`${file()}: 2 contexts, 1 new\n`);
    expect(more).toMatch(/^Next: kubectl --context dev-1 get ns$/m);
    const renamed = await said('--context-name', 'cp {cluster}');
    expect(renamed).toContain(`${file()}: 2 contexts, 2 renamed\n`);
    expect(renamed).toContain('renamed: dev-1 is now cp dev-1\nrenamed: dev-2 is now cp dev-2\n');
    expect(renamed).toContain("Next: kubectl --context 'cp dev-1' get ns\n");
    expect(await said('--output', 'x')).toContain(`Next: kubectl --kubeconfig ${file('x')} --context dev-1 get ns\n`);
    expect(await said('--output', '-')).not.toContain('Next:');
    expect(await said('--output', 'y', '-l', 'zone=c')).toBe(`${file('y')}: no contexts to write\n`);
  });

  it('warns of an account that tokens will not be granted for, and ends with 0 all the same', async () => {
    const refused = await jane.run(AS);
    expect(refused.code).toBe(0);
    expect(refused.stderr).toMatch(/^Warning: you may not issue tokens for ci\/builder in dev-1: .*forbidden/m);
    const admin = await Person.as(server);
    const asked = ['kubeconfig', '--as', 'ci/robot', '-l', 'zone=b'];
    const missing = await admin.run(asked);
    expect(missing.code).toBe(0);
    expect(missing.stderr).toMatch(/^Warning: there is no service account ci\/robot in dev-2: .*not found/m);
    await createNamespace(server, 'ci', 'dev-2');
    await createAccount(server, 'robot', 'ci', 'dev-2');
    const { code, stderr } = await admin.run(asked);
    expect(code).toBe(0);
    expect(stderr).not.toContain('Warning');
    await admin.leave();
  });

  it('writes a command that works, also when it is run from npm’s own folder', async () => {
    const bin = file('node_modules/.bin');
    await mkdir(bin, { recursive: true });
    await symlink(LAUNCHER, join(bin, 'clusterpass'));
    const PATH = `${bin}:${process.env.PATH}`;
    const env = { PATH, HOME: jane.home, CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: tokenOf('jane') };
    await promisify(execFile)('node_modules/.bin/clusterpass', AS, { cwd: jane.home, env });
    const { command } = (await config()).users[0].user.exec;
    expect(command).toBe(LAUNCHER);
    const { stdout } = await promisify(execFile)(command, ['version', '--client'], { cwd: '/' });
    expect(stdout).toMatch(/^Client Version/);
  });

  it('a link stays a link', async () => {
    await mkdir(file('dotfiles'));
    await writeFile(file('dotfiles/config'), '');
    await symlink(file('dotfiles/config'), file('link'));
    await jane.run([...AS, '--output', 'link']);
    expect(await contexts('dotfiles/config')).toEqual(['dev-1', 'dev-2']);
  });

  it('a name that is taken is reported and left as it is', async () => {
    const text =
      'apiVersion: v1\nkind: Config\ncontexts:\n- name: dev-1\n  context: {cluster: x, user: y}\nclusters: []\nusers: []\n';
    await writeFile(file('taken'), text);
    const { code, stderr } = await jane.run([...AS, '--output', 'taken']);
    expect(code).toBe(1);
    expect(stderr).toContain('error: context "dev-1" exists already and was not written by clusterpass');
    const written = await config('taken');
    expect(written.contexts[0]).toEqual({ name: 'dev-1', context: { cluster: 'x', user: 'y' } });
    expect(await contexts('taken')).toEqual(['dev-1', 'dev-2']);
    // Another account for the same clusters would have the same names.
    expect((await jane.run(['kubeconfig', '--as', 'ci/other', '--output', 'taken'])).stderr).toMatch(
      /context "dev-2" exists already and is for ci\/builder/,
    );
    expect((await jane.run([...AS, '--output', 'taken', '--context-name', '{cluster}-{account}'])).code).toBe(0);
    expect(await contexts('taken')).toEqual(['dev-1', 'dev-2-builder', 'dev-1-builder']);
  });

  it('--prune takes away what is no longer seen, and nothing of anyone else', async () => {
    await addCluster(server, 'gone', { labels: { env: 'dev' }, spec: endpoints(['0.0.0.0/0', 'https://gone']) });
    await jane.run(AS);
    expect(await contexts()).toEqual(['dev-1', 'dev-2', 'gone']);
    const other = (await readFile(file(), 'utf8')).replaceAll('name: dev-2\n', 'name: mine\n');
    await writeFile(file(), other);
    await removeCluster(server, 'gone');
    await jane.run(AS);
    expect(await contexts()).toContain('gone');
    await jane.run([...AS, '--prune']);
    const { clusters, users } = await config();
    expect(await contexts()).not.toContain('gone');
    expect(JSON.stringify([clusters, users])).not.toContain('gone');
  });

  it('--prune leaves alone what a selector leaves out', async () => {
    await jane.run(AS);
    await jane.run([...AS, '-l', 'env=nowhere', '--prune']);
    expect(await contexts()).toEqual(['dev-1', 'dev-2']);
  });

  it('--watch keeps the file up to date until it is stopped', async () => {
    const running = jane.start([...AS, '--watch', '--prune']);
    await running.until(({ stderr }) => stderr.includes('2 contexts, 2 new'));
    await addCluster(server, 'dev-3', { labels: { env: 'dev' }, spec: endpoints(['0.0.0.0/0', 'https://dev-3']) });
    await running.until(({ stderr }) => stderr.includes('3 contexts, 1 new'));
    expect(await contexts()).toEqual(['dev-1', 'dev-2', 'dev-3']);
    await patchCluster(server, 'dev-3', { metadata: { labels: { env: 'prod' } } });
    await running.until(({ stderr }) => stderr.includes('1 removed'));
    expect(await contexts()).toEqual(['dev-1', 'dev-2']);
    expect((await running.stop()).code).toBe(0);
    await removeCluster(server, 'dev-3');
  });

  it('--output - writes to stdout', async () => {
    const { stdout } = await jane.run([
      ...AS,
      '--output',
      '-',
      '-l',
      'env=dev',
      '--context-name',
      '{server}/{cluster}',
    ]);
    const host = new URL(server.url).host;
    expect(parse(stdout).contexts.map(({ name }: { name: string }) => name)).toEqual([
      `${host}/dev-1`,
      `${host}/dev-2`,
    ]);
    await expect(stat(file())).rejects.toThrow('ENOENT');
  });

  it.each([
    [['kubeconfig'], '--as is required'],
    [['kubeconfig', '--as', 'builder'], 'is not a service account, written namespace/name'],
    [['kubeconfig', '--as', '--x/y'], 'is not a service account'],
    [[...AS, '--context-name', 'fixed'], '--context-name needs {cluster}'],
    [[...AS, '--context-name', '{cluster}{x}'], '{x} is not known'],
  ])('%j: %s', async (args, message) => {
    expect(await jane.fails(args)).toContain(message);
  });

  it('a file that is no kubeconfig is left as it is', async () => {
    for (const text of ['- a\n- b\n', 'a: [', 'just text']) {
      await writeFile(file('broken'), text);
      expect(await jane.fails([...AS, '--output', 'broken'])).toContain('left as it is');
      expect(await readFile(file('broken'), 'utf8')).toBe(text);
    }
  });

  it("waits for kubectl's lock, and says whose it is", async () => {
    await mkdir(file('.kube'));
    await writeFile(file('.kube/config.lock'), '', { mode: 0 });
    expect(await jane.fails(AS)).toContain('is locked by another program; if none is running, remove');
  });
});

describeWithKubectl('with kubectl', () => {
  it('reads it, renames in it, and the renaming stays', async () => {
    await jane.run(AS);
    const kubectl = (args: string[]): Promise<string> => kubectlBinary(args, { KUBECONFIG: file(), HOME: jane.home });
    expect((await kubectl(['config', 'get-contexts', '-o', 'name'])).trim().split('\n')).toEqual(['dev-1', 'dev-2']);
    await kubectl(['config', 'rename-context', 'dev-1', 'work']);
    await kubectl(['config', 'set-context', 'dev-2', '--namespace=other']);
    await patchCluster(server, 'dev-1', { metadata: { annotations: { note: 'x' } } });
    await jane.run([...AS, '--prune']);
    expect((await contexts()).sort()).toEqual(['dev-2', 'work']);
    await jane.run([...AS, '--context-name', 'cp-{cluster}']);
    expect((await contexts()).sort()).toEqual(['cp-dev-2', 'work']);
    const { contexts: list } = await config();
    const renamed = list.find(({ name }: { name: string }) => name === 'cp-dev-2');
    expect(renamed.context).toMatchObject({ namespace: 'other', cluster: 'cp-dev-2', user: 'ci:builder@cp-dev-2' });
  });
});
