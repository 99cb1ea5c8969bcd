import { expect, it } from 'vitest';
import type { ApiObject } from '../../api/kind.ts';
import { looksPublic } from './hidden-fields.ts';

const withAnnotations = (...keys: string[]): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'a', annotations: Object.fromEntries(keys.map((key) => [key, 'x'])) },
});

it.each<[string, boolean, readonly string[]]>([
  ['all annotations of the view', true, ['note', 'issuer', 'audience']],
  ['one of those that only the view has', true, ['issuer']],
  ['annotations of the stored object', false, ['note']],
  ['no annotations', false, []],
])('a body with %s looks like the public view: %s', (_, expected, sent) => {
  const current = withAnnotations('note');
  const view = withAnnotations('note', 'issuer', 'audience');
  expect(looksPublic(withAnnotations(...sent), current, view)).toBe(expected);
});
