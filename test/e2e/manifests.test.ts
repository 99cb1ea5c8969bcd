import { mkdtemp, readdir, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CLUSTER_TYPE } from '../../src/api/cluster.fixture.ts';
import { readLines } from './support/audit.ts';
import { create, createCluster, inNamespace } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines } from './support/run.ts';
import { FAST_INTERVALS, type Server, startServer } from './support/server.ts';

/** A server and the folder that it follows. */
class Followed {
  readonly folder: string;
  #server: Server | undefined;

  constructor(folder: string) {
    this.folder = folder;
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error('the server is not started');
    return this.#server;
  }

  async start(...args: string[]): Promise<void> {
    this.#server = await startServer({ args: ['--manifests', this.folder, ...args], env: FAST_INTERVALS });
  }

  /** The same data and address, with other options. */
  async startAgain(...args: string[]): Promise<void> {
    const { dataDir, url } = this.server;
    expect(await this.server.stop()).toBe(0);
    const port = Number(new URL(url).port);
    const all = ['--manifests', this.folder, ...args];
    this.#server = await startServer({ dataDir, port, args: all, env: FAST_INTERVALS });
  }

  async put(...names: string[]): Promise<void> {
    const head = 'apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata:';
    await Promise.all(names.map((name) => writeFile(this.#path(name), `${head} { name: ${name} }\n`)));
  }

  async drop(...names: string[]): Promise<void> {
    await Promise.all(names.map((name) => rm(this.#path(name))));
  }

  async clusters(): Promise<string[]> {
    const { json } = await this.server.call('GET', CLUSTERS);
    return json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  }

  logged(msg: string): Record<string, unknown>[] {
    return logLines(this.server.output.stderr).filter((line) => line.msg === msg);
  }

  isLogged(msg: string, count = 1): Promise<void> {
    return expect.poll(() => this.logged(msg).length).toBe(count);
  }

  async destroy(): Promise<void> {
    await this.#server?.destroy();
    await rm(this.folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.folder, `${name}.yaml`);
  }
}

const CLUSTER = 'apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster';
const cluster = (name: string, extra = ''): string => `${CLUSTER}\nmetadata: { name: ${name}${extra} }\n`;
const inside = (kind: string, name: string, where: string, home = 'east'): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${where}  annotations: { clusterpass.dev/in-cluster: ${home} }\n`;
const account = (name: string, home = 'east'): string => inside('ServiceAccount', name, '  namespace: ci\n', home);

let followed: Followed;
beforeAll(async () => {
  followed = new Followed(await mkdtemp(join(tmpdir(), 'clusterpass-prune-')));
});
afterAll(() => followed.destroy());

const REFUSED = 'nothing is removed';
const REMOVED = 'removed: it is no longer in the manifests';

// Without --manifests-prune: objects-product-name.test.ts.
it('A40: removes up to a quarter with a warning and audit events, and beyond that nothing, whenever it was started', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  await followed.put(...names);
  await followed.start('--manifests-prune');
  await followed.drop('a', 'b');
  await followed.isLogged(REMOVED, 2);
  expect(followed.logged(REMOVED)[0]).toMatchObject({ level: 'warn', resource: 'clusters', name: 'a', file: 'a.yaml' });
  expect(await followed.clusters()).toEqual(names.slice(2));
  const events = async () => {
    const dir = join(followed.server.dataDir, 'audit');
    const all = await Promise.all((await readdir(dir)).map((file) => readLines(join(dir, file))));
    return all.flat().filter(({ objectRef, verb }) => objectRef?.name === 'a' && verb === 'delete');
  };
  await expect.poll(async () => (await events()).length).toBe(2);
  expect(await events()).toMatchObject([
    { stage: 'RequestReceived', user: { username: 'system:clusterpass:manifests' } },
    {
      stage: 'ResponseComplete',
      requestURI: '/apis/clusterregistry.k8s.io/v1alpha1/clusters/a',
      objectRef: { resource: 'clusters', apiGroup: 'clusterregistry.k8s.io', uid: expect.any(String) },
      responseStatus: { code: 200 },
      annotations: { 'clusterpass.dev/manifest': 'manifests:a.yaml' },
    },
  ]);

  // Two of six are more than a quarter.
  await followed.drop('c', 'd');
  await followed.isLogged(REFUSED);
  expect(followed.logged(REFUSED)[0]).toMatchObject({
    level: 'warn',
    reason:
      '2 of the 6 objects that came from the folder are no longer in it, more than 25 %: to remove them, start with --manifests-prune-limit 34',
  });
  await followed.drop('e', 'f', 'g', 'h');
  await followed.isLogged(REFUSED, 2);
  expect(String(followed.logged(REFUSED)[1]?.reason)).toBe(
    'the folder has no objects, and 6 came from it: to remove them, start with --manifests-prune-limit 100',
  );
  expect(await followed.clusters()).toEqual(names.slice(2));
  // A client cannot have an object removed by marking it.
  await create(followed.server, CLUSTERS, {
    ...CLUSTER_TYPE,
    metadata: { name: 'marked', annotations: { 'clusterpass.dev/manifest': 'manifests:gone.yaml' } },
  });
  // Contents before their containers: the order of files and documents does not matter.
  await write('a.yaml', account('builder'), inside('Namespace', 'ci', ''), cluster('east', ', labels: { env: dev }'));
  await followed.startAgain('--manifests-prune', '--manifests-prune-limit', '100');
  await followed.isLogged(REMOVED, 6);
  expect(await followed.clusters()).toEqual(['east', 'marked']);
});

const write = (file: string, ...documents: string[]): Promise<void> =>
  writeFile(join(followed.folder, file), documents.join('---\n'));
const exists = async (path: string): Promise<boolean> => (await followed.server.call('GET', path)).code === 200;
const clusterIs = (name: string): Promise<boolean> => exists(`${CLUSTERS}/${name}`);
/** Pruning comes a poll after the rest. */
const isRemoved = async (name: string): Promise<void> => {
  await expect.poll(() => clusterIs(name)).toBe(false);
};
const labelsOf = async (name: string): Promise<unknown> =>
  (await followed.server.call('GET', `${CLUSTERS}/${name}`)).json.metadata.labels;
const logged = (...messages: string[]): Record<string, unknown>[] =>
  logLines(followed.server.output.stderr).filter(({ msg }) => messages.includes(String(msg)));
const UNREAD = 'a manifest was left out';
const UNWRITTEN = 'a manifest could not be written: it is tried again';

/** Changes the folder, and waits until the server has applied the change. */
async function afterChange(change: () => Promise<unknown>): Promise<Record<string, unknown>> {
  const applied = () => logged('manifests applied', 'manifests applied in part');
  const before = applied().length;
  await change();
  await expect.poll(() => applied().length).toBeGreaterThan(before);
  return applied().at(-1) ?? {};
}

it('follows the folder: changed, added, removed', async () => {
  await afterChange(() =>
    write('a.yaml', account('builder'), inside('Namespace', 'ci', ''), cluster('east', ', labels: { env: prod }')),
  );
  expect(await labelsOf('east')).toEqual({ env: 'prod' });
  const json = JSON.stringify({ ...CLUSTER_TYPE, metadata: { name: 'west' }, status: { version: 'v1' } });
  await afterChange(() => write('b.json', json));
  expect((await followed.server.call('GET', `${CLUSTERS}/west`)).json.status).toEqual({ version: 'v1' });
  const report = await afterChange(() => unlink(join(followed.folder, 'b.json')));
  expect(report).toMatchObject({ applied: 3 });
  await isRemoved('west');
  await afterChange(() => write('a.yaml', cluster('east', ', labels: { env: prod }')));
  await expect.poll(() => exists('/orchestrator/east/api/v1/namespaces/ci')).toBe(false);
  expect(await clusterIs('east')).toBe(true);
});

it('an object whose cluster is missing is retried until the cluster exists', async () => {
  const left = logged(UNREAD).length;
  const report = await afterChange(() => write('later.yaml', account('early', 'someday')));
  expect(report).toMatchObject({ msg: 'manifests applied in part', problems: 1 });
  expect(logged(UNWRITTEN).at(-1)).toMatchObject({
    file: 'later.yaml',
    document: 1,
    problem: 'clusters.clusterregistry.k8s.io "someday" not found',
  });
  const reports = logged(UNWRITTEN).length;
  await createCluster(followed.server, 'someday');
  await afterChange(() =>
    create(followed.server, '/orchestrator/someday/api/v1/namespaces', { metadata: { name: 'ci' } }),
  );
  await expect
    .poll(() => exists(`${inNamespace('serviceaccounts', 'ci', 'someday')}/early`), { timeout: 60_000, interval: 500 })
    .toBe(true);
  // Not at every poll.
  expect(logged(UNWRITTEN).length).toBeLessThanOrEqual(reports + 1);
  expect(logged(UNREAD).length).toBe(left);
});
