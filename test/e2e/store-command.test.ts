import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithEtcd, type Etcd, etcdCall, freePorts, startEtcd } from '../conformance/etcd-process.ts';
import { addCluster } from './support/fleet.ts';
import { createAccount, createNamespace, inNamespace, tokenPath } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { run } from './support/run.ts';
import { type CliResult, runStore } from './support/run-command.ts';
import { type Server, startServer } from './support/server.ts';
import { Watch } from './support/watch.ts';

/** In a separate process, as users run it. */
const storeProcess = (...args: string[]): Promise<CliResult> => run(['store', ...args]);

/** All objects with a UID, by path: UID and version. */
async function everything(server: Server): Promise<Map<string, { uid: string; version: number }>> {
  const found = new Map<string, { uid: string; version: number }>();
  for (const path of [CLUSTERS, `${RBAC}/clusterroles`, inNamespace('serviceaccounts'), inNamespace('pods')]) {
    const { json } = await server.call('GET', path);
    for (const { metadata } of json.items) {
      found.set(`${path}/${metadata.name}`, { uid: metadata.uid, version: Number(metadata.resourceVersion) });
    }
  }
  return found;
}

/** The numbers of objects by kind that a check prints. */
const kindsIn = ({ stdout }: CliResult): string[] => stdout.match(/^ *\d+ {2}\S+$/gm) ?? [];

describeWithEtcd('B18: clusterpass store', () => {
  let etcd: Etcd;
  let folder: string;
  const running: Server[] = [];
  beforeAll(async () => {
    [etcd, folder] = await Promise.all([startEtcd(), mkdtemp(join(tmpdir(), 'clusterpass-store-'))]);
  });
  afterAll(async () => {
    await Promise.all(running.map((server) => server.kill()));
    await etcd.destroy();
  });
  const inFolder = (name: string): string => join(folder, name);
  const serve = async (url: string | undefined): Promise<Server> => {
    const dataDir = inFolder('data');
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const args = ['--base-url', 'http://127.0.0.1:1', ...(url === undefined ? [] : ['--store', url])];
    const [port = 0] = await freePorts(1);
    const server = await startServer({ dataDir, args, port });
    running.push(server);
    return server;
  };

  it.each(['check', 'export', 'backup'])('%s does not create a database', async (task) => {
    const file = inFolder('typo.db');
    const target = task === 'check' ? [] : ['-f', 'x'];
    const { code, stderr } = await runStore(task, '--store', `sqlite:${file}`, ...target);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/typo\.db: no such file/)]);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it.each(['check', 'export'])('%s refuses a prefix without keys, and writes none', async (task) => {
    const prefix = `/typo-${task}`;
    const file = inFolder(`typo-${task}`);
    const args = ['--store', `etcd://${etcd.endpoints.join(',')}${prefix}`, ...(task === 'export' ? ['-f', file] : [])];
    expect(await runStore(task, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `clusterpass: nothing is stored under the prefix ${prefix} of etcd: correct --store\n`,
    });
    const [key, end] = [`${prefix}/`, `${prefix}0`].map((text) => Buffer.from(text).toString('base64'));
    expect(await etcdCall(etcd, '/v3/kv/range', { key, range_end: end })).not.toHaveProperty('kvs');
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  let objects: Awaited<ReturnType<typeof everything>>;
  let version: string;
  let token: string;
  const etcdUrl = (): string => `etcd://${etcd.endpoints.join(',')}/moved`;

  const move = async (from: readonly string[], file: string, to: string, run = runStore): Promise<void> => {
    const exported = await run('export', ...from, '-f', file);
    expect(exported, exported.stderr).toMatchObject({ code: 0, stdout: '' });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const imported = await run('import', '--store', to, '-f', file);
    expect(imported, imported.stderr).toMatchObject({ code: 0 });
  };

  /** What a client of the old store gets from the new one. */
  const expectMoved = async (server: Server): Promise<void> => {
    const now = await everything(server);
    expect([...now].map(([path, { uid }]) => [path, uid])).toEqual([...objects].map(([path, { uid }]) => [path, uid]));
    for (const { version: stored } of now.values()) expect(stored).toBeGreaterThan(Number(version));
    const watch = await Watch.open(server, `${CLUSTERS}?watch=1&resourceVersion=${version}`);
    expect(watch.code === 200 ? (await watch.next())?.object.code : watch.code).toBe(410);
    watch.close();
    const exact = `?resourceVersion=${version}&resourceVersionMatch=Exact`;
    expect((await server.call('GET', `${CLUSTERS}${exact}`)).code).toBe(410);
    expect((await server.call('GET', '/auth/v1/clusters', { token })).code).toBe(200);
    objects = now;
    version = (await server.call('GET', CLUSTERS)).json.metadata.resourceVersion;
  };

  it('moves a fleet from SQLite to etcd: uids stay, versions only grow, and watchers list again', async () => {
    const server = await serve(undefined);
    await addCluster(server, 'alpha');
    await createNamespace(server, 'ci');
    await createAccount(server, 'builder');
    for (let i = 0; i < 10; i++) await addCluster(server, `c-${i}`);
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    token = (await server.call('POST', tokenPath(), { body })).json.status.token;
    objects = await everything(server);
    version = (await server.call('GET', CLUSTERS)).json.metadata.resourceVersion;
    // The server has the file.
    const used = await runStore('export', '--data-dir', inFolder('data'), '-f', inFolder('early'));
    expect([used.code, used.stderr]).toEqual([1, expect.stringContaining('is in use')]);
    await server.stop();
    await move(['--data-dir', inFolder('data')], inFolder('archive-0'), etcdUrl(), storeProcess);

    const moved = await serve(etcdUrl());
    await expectMoved(moved);
    const tokenFile = join(moved.dataDir, 'admin.token');
    const compared = await storeProcess(
      'check',
      '--store',
      etcdUrl(),
      '--server',
      moved.url,
      '--token-file',
      tokenFile,
    );
    expect(compared, compared.stderr).toMatchObject({ code: 0 });
    expect(compared.stdout).toMatch(/ [1-9]\d* objects compared .* 0 problems/);
    await moved.stop();
  });

  // The versions after an import: test/conformance/import-promises.ts. A server on one: test/documents/backup.test.ts.
  it('moves a fleet from etcd to SQLite', async () => {
    const back = `sqlite:${inFolder('back.db')}`;
    await move(['--store', etcdUrl()], inFolder('archive-1'), back);
    const [there, here] = await Promise.all([
      runStore('check', '--store', etcdUrl()),
      runStore('check', '--store', back),
    ]);
    expect(here.stdout).toMatch(/ 11 {2}clusters\n(.*\n)*.*: 0 problems/);
    expect(kindsIn(here)).toEqual(kindsIn(there));
  });

  it('a damaged file is refused before anything is written, and damage in a store is named', async () => {
    const url = `etcd://${etcd.endpoints.join(',')}/damaged`;
    const text = await readFile(inFolder('archive-0'), 'utf8');
    await writeFile(inFolder('half'), text.slice(0, text.length / 2));
    expect(await runStore('import', '--store', url, '-f', inFolder('half'))).toMatchObject({ code: 1 });
    const put = inFolder('archive-0');
    expect(await runStore('import', '--store', url, '-f', put)).toMatchObject({ code: 0 });
    const again = await runStore('import', '--store', url, '-f', put);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('not empty')]);
    expect((await runStore('export', '--store', url, '-f', put)).code, 'never over a file').toBe(1);
    const key = Buffer.from('/damaged/data/registry/serviceaccounts/none/ci/x').toString('base64');
    await etcdCall(etcd, '/v3/kv/put', { key, value: Buffer.from('{"metadata":{"name":"y"}}').toString('base64') });
    const checked = await runStore('check', '--store', url);
    expect(checked.code).toBe(1);
    expect(checked.stderr).toMatch(
      /serviceaccounts\/none\/ci\/x: its name, namespace or cluster does not match its key/,
    );
    expect(checked.stderr).toMatch(/serviceaccounts\/none\/ci\/x: has no uid/);
    expect(checked.stderr).toMatch(/its parent \/registry\/clusters\/none does not exist/);
  });
});
