import { describe, expect, it } from 'vitest';
import type { ApiObject, ManagedFieldsEntry } from '../api/kind.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import { mergeManifest } from './merge-manifest.ts';

const kind = clusterKind('orchestrator');
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

  it('keeps its finalizers, which controllers set', () => {
    expect(mergeManifest(kind, file, before).object.metadata.finalizers).toEqual(['example.com/a']);
  });

  it('is adopted, too, if another program applied to it first', () => {
    // The first apply gives what was there before to `before-first-apply` (AP-48).
    const labels = { 'f:labels': { '.': {}, 'f:env': {}, 'f:old': {} } };
    const managedFields = [
      entry('flux', 'Apply', { 'f:metadata': { 'f:labels': { 'f:team': {} } } }),
      entry('before-first-apply', 'Update', {
        'f:metadata': { ...labels, 'f:finalizers': { '.': {}, 'v:"example.com/a"': {} } },
        'f:spec': { '.': {}, 'f:authInfo': { '.': {}, 'f:user': { '.': {}, 'f:name': {} } } },
      }),
    ];
    const applied = cluster(
      { ...before.metadata, labels: { env: 'dev', old: '1', team: 'a' }, managedFields },
      before.spec as object,
    );
    const merged = mergeManifest(kind, file, applied);
    expect(merged.object.metadata.labels).toEqual({ env: 'prod', team: 'a' });
    expect(merged.object.metadata.finalizers).toEqual(['example.com/a']);
    expect(merged.takenOver).toBeUndefined();
    expect(managersOf(merged)).toEqual(
      expect.arrayContaining(['flux Apply', 'clusterpass-manifests Apply', 'before-first-apply Update']),
    );
  });
});

describe('an object that did not come from the folder', () => {
  it('keeps what the file does not mention, and the conflict names who had set the rest', () => {
    const merged = mergeManifest(kind, file, cluster({ labels: { env: 'dev', old: '1' } }));
    expect(merged.object.metadata.labels).toEqual({ env: 'prod', old: '1' });
    expect(merged.takenOver).toBe(
      'conflict with "before-first-apply" using clusterregistry.k8s.io/v1alpha1: .metadata.labels.env',
    );
  });
});
