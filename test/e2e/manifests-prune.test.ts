import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ExpectStatic, it, type TestContext } from 'vitest';
import { readLines } from './support/audit.ts';
import { create } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines } from './support/run.ts';
import { FAST_INTERVALS, type Server, startServer } from './support/server.ts';

/**
 * A server and the folder that it follows. Each test has its own, and the tests are concurrent: they mostly wait until
 * the server reads its folder again.
 */
class Followed {
  readonly folder: string;
  /** Knows its test, which the imported one does not where tests are concurrent. */
  readonly #expect: ExpectStatic;
  #server: Server | undefined;

  private constructor(folder: string, expect: ExpectStatic) {
    this.folder = folder;
    this.#expect = expect;
  }

  /** Until the test has finished. */
  static async in({ expect, onTestFinished }: TestContext): Promise<Followed> {
    const followed = new Followed(await mkdtemp(join(tmpdir(), 'clusterpass-prune-')), expect);
    onTestFinished(() => followed.#destroy());
    return followed;
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
    this.#expect(await this.server.stop()).toBe(0);
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
    return this.#expect.poll(() => this.logged(msg).length).toBe(count);
  }

  isApplied(count: number): Promise<void> {
    return this.isLogged('manifests applied', count);
  }

  async #destroy(): Promise<void> {
    await this.#server?.destroy();
    await rm(this.folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.folder, `${name}.yaml`);
  }
}
const REFUSED = 'nothing is removed';
const REMOVED = 'removed: it is no longer in the manifests';

it.concurrent('A40: deletes nothing unless it was asked to, also not from an empty folder', async (context) => {
  const { expect } = context;
  const followed = await Followed.in(context);
  const names = ['a', 'b', 'c', 'd'];
  await followed.put(...names);
  await followed.start();
  await followed.drop('a');
  await followed.isApplied(2);
  await followed.drop('b', 'c', 'd');
  await followed.isApplied(3);
  await followed.isLogged('objects that are no longer in the manifests stay: see --manifests-prune', 2);
  expect(await followed.clusters()).toEqual(names);
});

it.concurrent('A40: removes up to a quarter with a warning and audit events, and beyond that nothing, whenever it was started', async (context) => {
  const { expect } = context;
  const followed = await Followed.in(context);
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
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'marked', annotations: { 'clusterpass.dev/manifest': 'manifests:gone.yaml' } },
  });
  await followed.startAgain('--manifests-prune', '--manifests-prune-limit', '100');
  await followed.isLogged(REMOVED, 6);
  expect(await followed.clusters()).toEqual(['marked']);
});
