import { describe, expect, it } from 'vitest';
import type { ApiObject, ManagedFieldsEntry } from '../api/kind.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import { writeManagers } from '../objects/patches/apply/managers.ts';
import { mergeManifest } from './merge-manifest.ts';

const kind = clusterKind('orchestrator');
const OWNERS = [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }];
const ORIGIN = { 'clusterpass.dev/manifest': 'manifests:a.yaml' };

const cluster = (metadata: object, spec?: object): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'east', ...metadata },
  ...(spec === undefined ? {} : { spec }),
});
const file = cluster({ labels: { env: 'prod' } });
const managersOf = ({ managers }: ReturnType<typeof mergeManifest>): string[] =>
  [...managers.values()].map(({ name, operation }) => `${name} ${operation}`);
/** In the stored form. */
const entry = (manager: string, operation: string, fields: object): ManagedFieldsEntry =>
  ({
    manager,
    operation,
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    fieldsType: 'FieldsV1',
    fieldsV1: JSON.stringify(fields),
  }) as ManagedFieldsEntry;

describe('an object that an earlier release brought from the folder, without managers', () => {
  const before = cluster(
    { labels: { env: 'dev', old: '1' }, annotations: ORIGIN, finalizers: ['example.com/a'] },
    { authInfo: { user: { name: 'x' } } },
  );

  it('is adopted: what the file no longer has goes, and no conflict is reported', () => {
    const merged = mergeManifest(kind, file, before);
    expect(merged.object.metadata.labels).toEqual({ env: 'prod' });
    expect(JSON.stringify(merged.object)).not.toContain('authInfo');
    expect(merged.takenOver).toBeUndefined();
    expect(managersOf(merged)).toEqual(['clusterpass-manifests Apply']);
  });

  it('keeps its finalizers and owners, which controllers set', () => {
    const owned = cluster({ ...before.metadata, ownerReferences: OWNERS });
    expect(mergeManifest(kind, file, owned).object.metadata).toMatchObject({
      finalizers: ['example.com/a'],
      ownerReferences: OWNERS,
    });
  });

  it('is adopted, too, if another program applied to it first', () => {
    // The first apply gives what was there before to `before-first-apply` (AP-48).
    const labels = { 'f:labels': { '.': {}, 'f:env': {}, 'f:old': {} } };
    const managedFields = [
      entry('flux', 'Apply', { 'f:metadata': { 'f:labels': { 'f:team': {} } } }),
      entry('before-first-apply', 'Update', {
        'f:metadata': {
          ...labels,
          'f:finalizers': { '.': {}, 'v:"example.com/a"': {} },
          'f:ownerReferences': { '.': {}, 'k:{"uid":"u"}': {} },
        },
        'f:spec': { '.': {}, 'f:authInfo': { '.': {}, 'f:user': { '.': {}, 'f:name': {} } } },
      }),
    ];
    const applied = cluster(
      { ...before.metadata, labels: { env: 'dev', old: '1', team: 'a' }, ownerReferences: OWNERS, managedFields },
      before.spec as object,
    );
    const merged = mergeManifest(kind, file, applied);
    expect(merged.object.metadata.labels).toEqual({ env: 'prod', team: 'a' });
    expect(merged.object.metadata).toMatchObject({ finalizers: ['example.com/a'], ownerReferences: OWNERS });
    expect(merged.takenOver).toBeUndefined();
    expect(managersOf(merged)).toEqual(
      expect.arrayContaining(['flux Apply', 'clusterpass-manifests Apply', 'before-first-apply Update']),
    );
  });

  it('is adopted once: what others added since stays', () => {
    const managedFields = [
      entry('clusterpass-manifests', 'Apply', { 'f:metadata': { 'f:labels': { 'f:env': {} } } }),
      entry('before-first-apply', 'Update', { 'f:metadata': { 'f:labels': { 'f:old': {} } } }),
    ];
    const applied = cluster({ labels: { env: 'prod', old: '1' }, annotations: ORIGIN, managedFields });
    expect(mergeManifest(kind, file, applied).object.metadata.labels).toEqual({ env: 'prod', old: '1' });
  });
});

describe('a manifest that a server wrote', () => {
  const written = {
    ...cluster({
      ...file.metadata,
      ...{ uid: 'of the file', resourceVersion: '1', generation: 7, creationTimestamp: '2020-01-01T00:00:00Z' },
    }),
    status: { version: 'v1.0.0' },
  };

  it('sets neither status nor the fields of the server', () => {
    const created = mergeManifest(kind, written, undefined).object;
    expect([created.metadata, created.status]).toEqual([{ name: 'east', labels: { env: 'prod' } }, undefined]);
    const server = {
      uid: 'of the store',
      resourceVersion: '5',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
    };
    const live = { ...cluster({ ...server }), status: { version: 'v1.36.0' } };
    const merged = mergeManifest(kind, written, live);
    expect(merged.object).toMatchObject({ metadata: server, status: { version: 'v1.36.0' } });
    expect(merged.takenOver).toBeUndefined();
  });
});

describe('an object that did not come from the folder', () => {
  it('keeps what the file does not mention, and the conflict names who had set the rest', () => {
    const merged = mergeManifest(kind, file, cluster({ labels: { env: 'dev', old: '1' } }));
    expect(merged.object.metadata.labels).toEqual({ env: 'prod', old: '1' });
    expect(merged.takenOver).toBe(
      'conflict with "before-first-apply" using clusterregistry.k8s.io/v1alpha1: .metadata.labels.env',
    );
    // The field belongs to the folder from then on.
    const managedFields = writeManagers(merged.managers) ?? [];
    const again = mergeManifest(kind, file, cluster({ ...merged.object.metadata, managedFields }));
    expect([again.object.metadata.labels, again.takenOver]).toEqual([{ env: 'prod', old: '1' }, undefined]);
  });
});
