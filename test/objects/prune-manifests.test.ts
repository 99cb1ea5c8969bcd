import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ApiObject, apiVersionOf, type Kind } from '../../src/api/kind.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import { type ApplyParts, applyManifests } from '../../src/manifests/apply-manifests.ts';
import { planPruning, pruneManifests } from '../../src/manifests/prune-manifests.ts';
import type { Manifests } from '../../src/manifests/read-manifests.ts';
import { LEADER_KEY, soleLeadership } from '../../src/storage/contract.ts';
import { catalog, type Gate, type Objects, openObjects } from './object-store.ts';

let folder: string;
let objects: Objects;
let gate: Gate;
let lines: string[];
let securityLines: string[];
let isAuditBroken: boolean;
/** While the audit event of a removal is written. */
let beforeRemoval: () => Promise<void>;
let parts: ApplyParts;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clusterpass-prune-'));
  gate = (_, next) => next();
  objects = await openObjects(join(folder, 'db'), (write, next) => gate(write, next));
  lines = [];
  securityLines = [];
  isAuditBroken = false;
  beforeRemoval = async () => {};
  const log = {
    write: (line: string) => void lines.push(line),
    commit: async (line: string) => {
      if (isAuditBroken) throw new Error('the disk is full');
      lines.push(line);
      await beforeRemoval();
    },
  };
  parts = {
    ...objects,
    work: lonelyWork(),
    catalog,
    leadership: soleLeadership,
    audit: {
      requests: log,
      security: {
        ...log,
        write: (line) => {
          securityLines.push(line);
          log.write(line);
        },
      },
    },
    productName: 'orchestrator',
  };
});
afterEach(() => objects.close());

const manifest = (kind: Kind, cluster: string, namespace: string, name: string) => ({
  kind,
  objectKey: { cluster, namespace, name },
  object: {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name, ...(namespace && { namespace }) },
  } as ApiObject,
  file: 'a.yaml',
  document: 1,
});
const contentOf = (...manifests: ReturnType<typeof manifest>[]): Manifests => ({
  manifests,
  problems: [],
  warnings: [],
});
const east = manifest(catalog.clusters, '', '', 'east');
const west = manifest(catalog.clusters, '', '', 'west');
const ci = manifest(catalog.namespaces, 'east', '', 'ci');
const bot = manifest(catalog.serviceAccounts, 'east', 'ci', 'bot');
const prune = (read: Manifests, maxPercent = 100) => pruneManifests(parts, 'manifests', read, maxPercent);
const namesIn = async () => (await objects.keys()).map((key) => key.replace('/registry/', ''));

test('A41: a change of a cluster or of a binding by a file is in the security log, as one by a request is', async () => {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'x' };
  const admins = manifest(catalog.clusterRoleBindings, '', '', 'admins');
  await applyManifests(parts, 'manifests', contentOf(east, ci, { ...admins, object: { ...admins.object, roleRef } }));
  const labelled = { ...east, object: { ...east.object, metadata: { name: 'east', labels: { env: 'prod' } } } };
  await applyManifests(parts, 'manifests', contentOf(labelled));
  const changes = securityLines.map((line) => JSON.parse(line)).map(({ verb, objectRef: { name } }) => [verb, name]);
  expect(changes).toEqual([
    ['create', 'east'],
    ['create', 'admins'],
    ['update', 'east'],
  ]);
  expect(lines).toHaveLength(4);
});

test('A40: what is inside goes before its parent', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, west, ci, bot));
  const report = await prune(contentOf(west));
  expect(report.removed.map(({ resource, name }) => `${resource} ${name}`)).toEqual([
    'serviceaccounts bot',
    'namespaces ci',
    'clusters east',
  ]);
  expect(await namesIn()).toEqual(['clusters/west']);
});

test('A40: what others put inside at the last moment keeps its cluster', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, west));
  gate = async (write, next) => {
    gate = (_, go) => go();
    expect(write.key).toBe('/registry/clusters/east');
    await objects.writer.create(catalog.namespaces, ci.objectKey, ci.object, { dryRun: false });
    return next();
  };
  const report = await prune(contentOf(west));
  expect(report.removed).toEqual([]);
  expect(report.kept).toMatchObject([{ name: 'east', reason: expect.stringContaining('there are objects inside it') }]);
  expect(await namesIn()).toEqual(['clusters/east', 'clusters/west', 'namespaces/east/ci']);
  expect(lines.map((line) => JSON.parse(line)).slice(-2)).toMatchObject([
    { stage: 'RequestReceived', verb: 'delete' },
    { stage: 'ResponseComplete', responseStatus: { status: 'Failure', reason: 'Conflict', code: 409 } },
  ]);
});

test('A40: what was given to the API at the last moment stays', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, west));
  beforeRemoval = async () => {
    beforeRemoval = async () => {};
    const given = ({ metadata: { annotations: _, ...metadata }, ...rest }: ApiObject) => ({ ...rest, metadata });
    await objects.writer.update(catalog.clusters, west.objectKey, given, { dryRun: false, part: 'object' });
  };
  const report = await prune(contentOf());
  expect(report.removed).toMatchObject([{ name: 'east' }]);
  expect(report.kept).toMatchObject([{ name: 'west', reason: expect.stringContaining('given to the API') }]);
  expect(await prune(contentOf())).toEqual({ removed: [], kept: [] });
  expect(await namesIn()).toEqual(['clusters/west']);
});

test('A40: a folder is compared with one state of the store, whatever others delete meanwhile', async () => {
  const fleet = Array.from({ length: 1_000 }, (_, i) => manifest(catalog.clusters, '', '', `c${i}`));
  await applyManifests(parts, 'manifests', contentOf(...fleet));
  const clusters = objects.reader.cache(catalog.clusters);
  const counts: Promise<number>[] = [];
  const stored: number[] = [];
  for (const { objectKey } of fleet.slice(-50)) {
    const deleting = objects.writer.remove(catalog.clusters, objectKey, { dryRun: false, onlyIfEmpty: true });
    stored.push(clusters.current.size);
    counts.push(planPruning(parts, 'manifests', contentOf()).then(({ removable }) => removable.length));
    await deleting;
  }
  expect(await Promise.all(counts)).toEqual(stored);
});

test('A40: nothing goes without its audit event, nor while a document cannot be read, nor from another folder', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, west));
  isAuditBroken = true;
  expect(await prune(contentOf(west))).toMatchObject({ removed: [], kept: [{ reason: 'the disk is full' }] });
  isAuditBroken = false;
  const problems = [{ file: 'renamed.yaml', document: 1, message: 'yaml: line 1' }];
  expect(await prune({ manifests: [west], problems, warnings: [] })).toMatchObject({
    removed: [],
    refusal: '1 document could not be read, and may define what is no longer found',
  });
  expect(await pruneManifests(parts, 'demo', contentOf(), 100)).toEqual({ removed: [], kept: [] });
  expect(await namesIn()).toEqual(['clusters/east', 'clusters/west']);
});

test('A40: the limit counts what came from the folder', async () => {
  const fleet = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => manifest(catalog.clusters, '', '', name));
  await applyManifests(parts, 'manifests', contentOf(...fleet));
  await objects.writer.create(catalog.clusters, west.objectKey, west.object, { dryRun: false });
  // Two of seven. With the one that others created it would be two of eight, a quarter.
  expect((await prune(contentOf(...fleet.slice(2)), 25)).refusal).toContain('2 of the 7 objects');
  expect((await prune(contentOf(...fleet.slice(1)), 25)).removed).toHaveLength(1);
  expect((await prune(contentOf(), 99)).refusal).toContain('the folder has no objects, and 6 came from it');
});

test('A40: a removal at the limit happens, and with a limit of 100 so does that of everything', async () => {
  const fleet = ['a', 'b', 'c', 'd'].map((name) => manifest(catalog.clusters, '', '', name));
  await applyManifests(parts, 'manifests', contentOf(...fleet));
  expect((await prune(contentOf(...fleet.slice(1)), 25)).removed).toHaveLength(1);
  expect((await prune(contentOf(), 100)).removed).toHaveLength(3);
  expect(await namesIn()).toEqual([]);
});

test('A40: a cluster stays, without an audit event, while it contains what others created', async () => {
  await applyManifests(parts, 'manifests', contentOf(east));
  await objects.writer.create(catalog.namespaces, ci.objectKey, ci.object, { dryRun: false });
  const before = lines.length;
  const reason = 'namespaces "ci" is inside it';
  expect(await prune(contentOf())).toMatchObject({ removed: [], kept: [{ name: 'east', reason }] });
  expect(lines).toHaveLength(before);
  expect(await namesIn()).toEqual(['clusters/east', 'namespaces/east/ci']);
});

/** Others act at the moment of the next write. */
const before = (act: () => Promise<unknown>): void => {
  gate = async (_, next) => {
    gate = (_write, go) => go();
    await act();
    return next();
  };
};

const removeEast = () =>
  objects.otherWriter().remove(catalog.clusters, east.objectKey, { dryRun: false, onlyIfEmpty: true });

test('A40: an object that others removed meanwhile is none of those removed; the log has both outcomes', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, west));
  lines = [];
  before(removeEast);
  expect(await prune(contentOf())).toMatchObject({ removed: [{ name: 'west' }], kept: [] });
  const events = lines.map((line) => JSON.parse(line));
  expect(events.map(({ objectRef, stage, responseStatus }) => [objectRef.name, stage, responseStatus?.code])).toEqual([
    ['east', 'RequestReceived', undefined],
    ['east', 'ResponseComplete', 404],
    ['west', 'RequestReceived', undefined],
    ['west', 'ResponseComplete', 200],
  ]);
});

test('A40: a former leader that does not know it removes nothing', async () => {
  await applyManifests(parts, 'manifests', contentOf(east));
  const fence = () => ({ key: LEADER_KEY, expect: { createRevision: 1 } });
  parts = { ...parts, leadership: { leads: () => true, fence } };
  const reason = expect.stringContaining('a condition of this deletion no longer holds');
  expect(await prune(contentOf())).toMatchObject({ removed: [], kept: [{ name: 'east', reason }] });
  expect(await namesIn()).toEqual(['clusters/east']);
});

test('changes are recorded, and applying the same again is not one', async () => {
  await applyManifests(parts, 'manifests', contentOf(east, ci));
  await applyManifests(parts, 'manifests', contentOf(east, ci));
  const labelled = { ...east, object: { ...east.object, metadata: { name: 'east', labels: { env: 'x' } } } };
  await applyManifests(parts, 'manifests', contentOf(labelled, ci));
  expect(
    lines
      .map((line) => JSON.parse(line))
      .map(({ verb, objectRef, responseStatus }) => [verb, objectRef.name, responseStatus.code]),
  ).toEqual([
    ['create', 'east', 201],
    ['create', 'ci', 201],
    ['update', 'east', 200],
  ]);
});

test('B21: what the server wrote to the status of a cluster stays, and applying the manifest again is no change', async () => {
  const condition = (type: string, reason: string) => ({ type, status: 'True', reason, message: '' });
  const status = { version: 'v1', conditions: [condition('Healthy', 'Fine')] };
  const manifested = { ...east, object: { ...east.object, status } as ApiObject };
  await applyManifests(parts, 'manifests', contentOf(manifested));
  expect(objects.reader.find(catalog.clusters, east.objectKey)?.object().status).toMatchObject(status);
  const written = {
    version: 'v1.34.1',
    type: 'K3s',
    conditions: [
      ...status.conditions,
      condition('CredentialUsable', 'Accepted'),
      condition('Ready', 'ProbeSucceeded'),
      condition('Stale', 'WasInTheFileOnce'),
    ],
  };
  await objects.writer.update(catalog.clusters, east.objectKey, (current) => ({ ...current, status: written }), {
    dryRun: false,
    part: 'status',
  });
  await applyManifests(parts, 'manifests', contentOf(manifested));
  const stored = objects.reader.find(catalog.clusters, east.objectKey);
  expect(stored?.object().status).toMatchObject({ version: 'v1.34.1', type: 'K3s' });
  const { conditions } = (stored?.object().status ?? {}) as Partial<typeof written>;
  expect(conditions?.map(({ type }) => type)).toEqual(['Healthy', 'CredentialUsable', 'Ready']);
  await applyManifests(parts, 'manifests', contentOf(manifested));
  expect(objects.reader.find(catalog.clusters, east.objectKey)?.revision).toBe(stored?.revision);
  // A condition in the file replaces the one that the server wrote.
  const owned = { ...manifested, object: { ...east.object, status: { conditions: [condition('Ready', 'ByHand')] } } };
  await applyManifests(parts, 'manifests', contentOf(owned as typeof manifested));
  expect(objects.reader.find(catalog.clusters, east.objectKey)?.object().status).toMatchObject({
    conditions: [{ type: 'Ready', reason: 'ByHand' }, { type: 'CredentialUsable' }],
  });
});
