import { describe, expect, it } from 'vitest';
import type { ApiObject, ManagedFieldsEntry } from '../api/kind.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import { writeManagers } from '../objects/patches/apply/managers.ts';
import { mergeManifest } from './apply-manifests.ts';

const kind = clusterKind('orchestrator');
const ORIGIN = { 'clusterpass.dev/manifest': 'manifests:a.yaml' };

const cluster = (metadata: object, spec?: object): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'east', ...metadata },
  ...(spec === undefined ? {} : { spec }),
});
const file = cluster({ labels: { env: 'prod' } });
/** In the stored form. */
const entry = (manager: string, operation: string, fields: object): ManagedFieldsEntry =>
  ({
    manager,
    operation,
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    fieldsType: 'FieldsV1',
    fieldsV1: JSON.stringify(fields),
  }) as ManagedFieldsEntry;

it('keeps what others added since the folder applied it', () => {
  const managedFields = [
    entry('clusterpass-manifests', 'Apply', { 'f:metadata': { 'f:labels': { 'f:env': {} } } }),
    entry('before-first-apply', 'Update', { 'f:metadata': { 'f:labels': { 'f:old': {} } } }),
  ];
  const applied = cluster({ labels: { env: 'prod', old: '1' }, annotations: ORIGIN, managedFields });
  expect(mergeManifest(kind, file, applied).object.metadata.labels).toEqual({ env: 'prod', old: '1' });
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
