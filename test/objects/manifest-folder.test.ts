import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ApiObject } from '../../src/api/kind.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import { ManifestFolder, type ManifestFolderOptions } from '../../src/manifests/manifest-folder.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { soleLeadership } from '../../src/storage/contract.ts';
import { at, catalog, type Gate, type Objects, openObjects } from './object-store.ts';

let logged: string[];
let folder: string;
let objects: Objects;
let gate: Gate;
let manifests: ManifestFolder;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-folder-'));
  await mkdir(join(folder, 'manifests'));
  gate = (_, next) => next();
  logged = [];
  objects = await openObjects(join(folder, 'db'), (write, next) => gate(write, next));
  manifests = open();
});

function open(more: Partial<ManifestFolderOptions> = {}, leads = () => true): ManifestFolder {
  const log = { write: () => {}, commit: async () => {} };
  return new ManifestFolder({
    parts: {
      ...objects,
      work: lonelyWork(),
      catalog,
      leadership: { ...soleLeadership, leads },
      audit: { requests: log, security: log },
      productName: 'orchestrator',
    },
    source: 'manifests',
    path: join(folder, 'manifests'),
    prune: { maxPercent: 100 },
    logger: createLogger({ level: 'warn', write: (line) => logged.push(line) }),
    pollMs: 10,
    ...more,
  });
}
afterEach(async () => {
  await manifests.stop();
  await objects.close();
});

const stored = async (): Promise<number> => (await objects.keys()).length;

test('what others change or delete is set back after a time, and said; only the leader does it', async () => {
  let leads = false;
  manifests = open({ reapplyPolls: 2 }, () => leads);
  const cluster = { apiVersion: 'clusterregistry.k8s.io/v1alpha1', kind: 'Cluster' };
  const file = join(folder, 'manifests/a.json');
  await writeFile(file, JSON.stringify({ ...cluster, metadata: { name: 'a', labels: { env: 'prod' } } }));
  await writeFile(join(folder, 'manifests/bad.yaml'), 'kind: [');
  await manifests.start();
  expect(manifests.problems).toBe(1);
  const key = at('', '', 'a');
  const found = () => objects.reader.find(catalog.clusters, key)?.object().metadata.labels;
  const label = (current: ApiObject) => ({ ...current, metadata: { ...current.metadata, labels: { env: 'dev' } } });
  await objects.writer.update(catalog.clusters, key, label, { dryRun: false, part: 'object', manager: 'eve' });
  expect(found()).toEqual({ env: 'dev' });
  leads = true;
  await expect.poll(found).toEqual({ env: 'prod' });
  await objects.writer.remove(catalog.clusters, key, { dryRun: false, onlyIfEmpty: true });
  await expect.poll(found).toEqual({ env: 'prod' });
  await expect.poll(() => logged.join()).toContain('a manifest took over fields of another manager');
  expect(logged.join()).toContain('an object of a manifest was deleted: it is created again');
});

test('the status of a binding is that of the leader, also if a file has one', async () => {
  const key = at('', '', 'b');
  const writeBinding = (label: string): Promise<void> => {
    const spec = { subjects: [], roleRef: { kind: 'ClusterRole', name: 'r' }, clusters: { all: true } };
    const object = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'FleetRoleBinding', spec, status: { clusters: 9 } };
    return writeFile(
      join(folder, 'manifests/b.json'),
      JSON.stringify({ ...object, metadata: { name: 'b', labels: { label } } }),
    );
  };
  const found = () => objects.reader.find(catalog.fleetRoleBindings, key)?.object();
  await writeBinding('old');
  await manifests.start();
  expect(found()?.status).toBeUndefined();
  const status = { clusters: 1 };
  const change = { dryRun: false, part: 'status' } as const;
  await objects.writer.update(catalog.fleetRoleBindings, key, (current) => ({ ...current, status }), change);
  await writeBinding('new');
  await expect.poll(() => found()?.metadata.labels?.label).toBe('new');
  expect(found()?.status).toEqual(status);
});

test.each<[string, object]>([
  ['spec.clustres', { clustres: { all: true } }],
  ['spec.clusters', { clusters: {} }],
  ['spec.clusters.selector.matchlabels', { clusters: { selector: { matchlabels: { env: 'dev' } } } }],
  ['spec.expiresat', { clusters: { all: true }, expiresat: '2126-11-20T18:00:00Z' }],
  ['spec.agents', { clusters: { all: true }, agents: null }],
  ['spec.approval.by', { clusters: { all: true }, approval: { by: 'Friend' } }],
])('a binding with a mistake in %s is refused with this field, and not stored', async (field, fields) => {
  const spec = { subjects: [], roleRef: { kind: 'ClusterRole', name: 'r' }, ...fields };
  const object = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'FleetRoleBinding', metadata: { name: 'b' }, spec };
  await writeFile(join(folder, 'manifests/b.json'), JSON.stringify(object));
  await manifests.start();
  expect([await stored(), logged.join()]).toEqual([0, expect.stringContaining(field)]);
});
