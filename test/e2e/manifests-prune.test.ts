import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readLines } from './support/audit.ts';
import { CLUSTERS, create, createCluster, inNamespace } from './support/objects.ts';
import { logLines } from './support/run.ts';
import { type Server, startServer } from './support/server.ts';

let server: Server;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-prune-'));
});
afterEach(async () => {
  await server.destroy();
  await rm(folder, { recursive: true, force: true });
});

const put = (name: string): Promise<void> =>
  writeFile(
    join(folder, `${name}.yaml`),
    `apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster\nmetadata: { name: ${name} }\n`,
  );
const putAll = (...names: string[]): Promise<unknown> => Promise.all(names.map(put));
const drop = (...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => rm(join(folder, `${name}.yaml`))));
const start = async (...args: string[]): Promise<void> => {
  server = await startServer({ args: ['--manifests', folder, ...args] });
};
/** The same data and address, with other options. */
async function startAgain(...args: string[]): Promise<void> {
  const { dataDir, url } = server;
  expect(await server.stop()).toBe(0);
  server = await startServer({ dataDir, port: Number(new URL(url).port), args: ['--manifests', folder, ...args] });
}
const clusters = async (): Promise<string[]> =>
  (await server.call('GET', CLUSTERS)).json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
const logged = (msg: string): Record<string, unknown>[] =>
  logLines(server.output.stderr).filter((line) => line.msg === msg);
const isLogged = (msg: string, count = 1): Promise<void> => expect.poll(() => logged(msg).length).toBe(count);
const applied = (): number => logged('manifests applied').length;
/** Longer than pruning takes: two polls. */
const PRUNED_MS = 3_500;
const REFUSED = 'nothing is removed';
const REMOVED = 'removed: it is no longer in the manifests';
const KEPT = 'not removed, although it is no longer in the manifests';

it('A40: deletes nothing unless it was asked to, also not from an empty folder', async () => {
  const names = ['a', 'b', 'c', 'd'];
  await putAll(...names);
  await start();
  await drop('a');
  await expect.poll(applied).toBe(2);
  await drop('b', 'c', 'd');
  await expect.poll(applied).toBe(3);
  await isLogged('objects that are no longer in the manifests stay: see --manifests-prune', 2);
  await startAgain();
  expect(logged('manifests applied')).toMatchObject([{ applied: 0 }]);
  await put('unrelated');
  await expect.poll(applied).toBe(2);
  await delay(PRUNED_MS);
  expect(await clusters()).toEqual([...names, 'unrelated']);
});

it('A40: removes up to a quarter with a warning and audit events, and beyond that nothing, whenever it was started', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  await putAll(...names);
  await start('--manifests-prune');
  await drop('a', 'b');
  await isLogged(REMOVED, 2);
  expect(logged(REMOVED)[0]).toMatchObject({ level: 'warn', resource: 'clusters', name: 'a', file: 'a.yaml' });
  expect(await clusters()).toEqual(names.slice(2));
  const events = async () => {
    const dir = join(server.dataDir, 'audit');
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
  await drop('c', 'd');
  await isLogged(REFUSED);
  expect(logged(REFUSED)[0]).toMatchObject({
    level: 'warn',
    reason:
      '2 of the 6 objects that came from the folder are no longer in it, more than 25 %: to remove them, start with --manifests-prune-limit 34',
  });
  await drop('e', 'f', 'g', 'h');
  await isLogged(REFUSED, 2);
  expect(String(logged(REFUSED)[1]?.reason)).toBe(
    'the folder has no objects, and 6 came from it: to remove them, start with --manifests-prune-limit 100',
  );
  expect(await clusters()).toEqual(names.slice(2));
  await startAgain('--manifests-prune');
  await isLogged(REFUSED);
  await put('unrelated');
  await isLogged(REFUSED, 2);
  expect(await clusters()).toEqual([...names.slice(2), 'unrelated']);

  await startAgain('--manifests-prune', '--manifests-prune-limit', '100');
  await isLogged(REMOVED, 6);
  expect(await clusters()).toEqual(['unrelated']);
});

it('A40: a cluster stays while others have something inside it, and goes when that is gone', async () => {
  await putAll('home', 'b', 'c', 'd');
  await start('--manifests-prune');
  await create(server, '/orchestrator/home/api/v1/namespaces', { metadata: { name: 'ci' } });
  await create(server, inNamespace('serviceaccounts', 'ci', 'home'), { metadata: { name: 'bot' } });
  await drop('home');
  await isLogged(KEPT);
  expect(logged(KEPT)[0]).toMatchObject({
    level: 'warn',
    name: 'home',
    file: 'home.yaml',
    reason: 'namespaces "ci" and 1 more inside it: not from the folder, or still waiting for its finalizers',
  });
  expect((await server.call('GET', `${inNamespace('serviceaccounts', 'ci', 'home')}/bot`)).code).toBe(200);
  await server.call('DELETE', '/orchestrator/home/api/v1/namespaces/ci');
  await isLogged(REMOVED);
  expect(await clusters()).toEqual(['b', 'c', 'd']);
});

it('A40: a client cannot have an object pruned by marking it', async () => {
  await putAll('a', 'b', 'c', 'd', 'e');
  await start('--manifests-prune');
  const annotations = { 'clusterpass.dev/manifest': 'manifests:gone.yaml', 'example.com/a': 'b' };
  await create(server, CLUSTERS, {
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'marked', annotations },
  });
  await createCluster(server, 'patched');
  await server.call('PATCH', `${CLUSTERS}/patched`, {
    body: { metadata: { annotations } },
    headers: { 'Content-Type': 'application/merge-patch+json' },
  });
  await drop('a');
  await isLogged(REMOVED);
  await delay(PRUNED_MS);
  expect(await clusters()).toEqual(['b', 'c', 'd', 'e', 'marked', 'patched']);
});
