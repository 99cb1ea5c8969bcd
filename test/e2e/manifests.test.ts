import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, createCluster, inNamespace } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { logLines } from './support/run.ts';
import { FAST_INTERVALS, type Server, startServer } from './support/server.ts';

let server: Server;
let folder: string;

const CLUSTER = 'apiVersion: clusterregistry.k8s.io/v1alpha1\nkind: Cluster';
const cluster = (name: string, extra = ''): string => `${CLUSTER}\nmetadata: { name: ${name}${extra} }\n`;
const inside = (kind: string, name: string, where: string, home = 'east'): string =>
  `apiVersion: v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${where}  annotations: { clusterpass.dev/in-cluster: ${home} }\n`;
const account = (name: string, home = 'east'): string => inside('ServiceAccount', name, '  namespace: ci\n', home);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-manifests-'));
  // Contents before their containers: the order of files and documents does not matter.
  await write('a.yaml', account('builder'), inside('Namespace', 'ci', ''), cluster('east', ', labels: { env: dev }'));
  server = await startServer({
    args: ['--manifests', folder, '--manifests-prune', '--manifests-prune-limit', '100'],
    env: FAST_INTERVALS,
  });
});
afterAll(async () => {
  await server.destroy();
  await rm(folder, { recursive: true, force: true });
});

const write = (file: string, ...documents: string[]): Promise<void> =>
  writeFile(join(folder, file), documents.join('---\n'));
const exists = async (path: string): Promise<boolean> => (await server.call('GET', path)).code === 200;
const clusterIs = (name: string): Promise<boolean> => exists(`${CLUSTERS}/${name}`);
/** Pruning comes a poll after the rest. */
const isRemoved = async (name: string): Promise<void> => {
  await expect.poll(() => clusterIs(name)).toBe(false);
};
const labelsOf = async (name: string): Promise<unknown> =>
  (await server.call('GET', `${CLUSTERS}/${name}`)).json.metadata.labels;
const logged = (...messages: string[]): Record<string, unknown>[] =>
  logLines(server.output.stderr).filter(({ msg }) => messages.includes(String(msg)));
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

it('the objects of the folder exist when the server starts to serve', async () => {
  expect(await labelsOf('east')).toEqual({ env: 'dev' });
  expect(await exists(`${inNamespace('serviceaccounts', 'ci', 'east')}/builder`)).toBe(true);
  expect(logged('manifests applied')).toMatchObject([{ path: folder, applied: 3, problems: 0 }]);
});

it('follows the folder: changed, added, removed', async () => {
  await afterChange(() =>
    write('a.yaml', account('builder'), inside('Namespace', 'ci', ''), cluster('east', ', labels: { env: prod }')),
  );
  expect(await labelsOf('east')).toEqual({ env: 'prod' });
  const json = JSON.stringify({
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'west' },
    status: { version: 'v1' },
  });
  await afterChange(() => write('b.json', json));
  expect((await server.call('GET', `${CLUSTERS}/west`)).json.status).toEqual({ version: 'v1' });
  const report = await afterChange(() => unlink(join(folder, 'b.json')));
  expect(report).toMatchObject({ applied: 3 });
  await isRemoved('west');
  await afterChange(() => write('a.yaml', cluster('east', ', labels: { env: prod }')));
  await expect.poll(() => exists('/orchestrator/east/api/v1/namespaces/ci')).toBe(false);
  expect(await clusterIs('east')).toBe(true);
});

it('an object that existed before is updated, and stays when its file is removed', async () => {
  await createCluster(server, 'theirs', { env: 'theirs' });
  await afterChange(() => write('theirs.yaml', cluster('theirs', ', labels: { env: ours }')));
  expect(await labelsOf('theirs')).toEqual({ env: 'ours' });
  await afterChange(() => write('witness.yaml', cluster('witness')));
  await unlink(join(folder, 'witness.yaml'));
  await afterChange(() => unlink(join(folder, 'theirs.yaml')));
  await isRemoved('witness');
  expect(await labelsOf('theirs')).toEqual({ env: 'ours' });
});

it('a bad document is reported with its file, line and field, and the others are applied', async () => {
  const before = logged(UNREAD, UNWRITTEN).length;
  const address = '\nspec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: "http://h" }] } }\n';
  await afterChange(() =>
    write(
      'mixed.yaml',
      cluster('good-1'),
      cluster('odd-field').replace('metadata', 'colour: red\nmetadata'),
      cluster('odd-value').trimEnd() + address,
      'kind: [unclosed\n',
      '# nothing but a remark\n',
      account('homeless').replace(/ {2}annotations.*\n/, ''),
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\n',
      cluster('twice').replace('}', ', labels: { a: b, a: c } }'),
      cluster('good-1'),
      cluster('good-2'),
    ),
  );
  expect([await clusterIs('good-1'), await clusterIs('good-2')]).toEqual([true, true]);
  const problems = logged(UNREAD, UNWRITTEN).slice(before);
  expect(problems.filter(({ msg }) => msg === UNWRITTEN)).toMatchObject([{ document: 3 }]);
  expect(problems.every(({ level, file, path }) => level === 'error' && file === 'mixed.yaml' && path === folder)).toBe(
    true,
  );
  const found = problems.map(({ document, line, problem }) => [document, line, String(problem)] as const);
  expect(found.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
    [2, 4, expect.stringContaining('strict decoding error: unknown field "colour"')],
    [
      3,
      9,
      expect.stringContaining(
        'spec.orchestratorApiEndpoints.serverEndpoints[0].serverAddress: Invalid value: "http://h"',
      ),
    ],
    [4, 14, expect.stringContaining('yaml: line 15')],
    [5, 18, expect.stringContaining('metadata.annotations[clusterpass.dev/in-cluster]: Required value')],
    [6, 24, expect.stringContaining('kind: Deployment in apps/v1 is not served here')],
    [7, 28, expect.stringContaining('key "a" already set in map')],
    [8, 32, 'already defined in mixed.yaml, document 1'],
  ]);
  await afterChange(() => unlink(join(folder, 'mixed.yaml')));
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
  await createCluster(server, 'someday');
  await afterChange(() => create(server, '/orchestrator/someday/api/v1/namespaces', { metadata: { name: 'ci' } }));
  await expect
    .poll(() => exists(`${inNamespace('serviceaccounts', 'ci', 'someday')}/early`), { timeout: 60_000, interval: 500 })
    .toBe(true);
  // Not at every poll.
  expect(logged(UNWRITTEN).length).toBeLessThanOrEqual(reports + 1);
  expect(logged(UNREAD).length).toBe(left);
});
