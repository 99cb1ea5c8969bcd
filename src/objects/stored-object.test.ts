import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { type Kind, kindPrefix, storageKey } from '../api/kind.ts';
import { StoredObject } from './stored-object.ts';

const { clusters, namespaces, serviceAccounts, clusterRoles } = createCatalog({ productName: 'orchestrator' });
const AT_ONE = { modRevision: 1, createRevision: 1 };
it.each([
  [[{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: 'only-this' }], 'is a string'],
  [[null], 'is null'],
  [{ verbs: ['*'] }, 'is an object'],
])('a role cannot be read that has rules of another type: %j', (rules, problem) => {
  const value = Buffer.from(JSON.stringify({ metadata: {}, rules }));
  const read = () => new StoredObject(clusterRoles, { key: '/registry/clusterroles/a', value, ...AT_ONE });
  expect(read).toThrow(problem);
});

describe('the object key, from the storage key', () => {
  const at = (kind: Kind, key: string) => {
    const value = Buffer.from('{"metadata":{}}');
    const { cluster, namespace, name } = new StoredObject(kind, { key, value, ...AT_ONE });
    return { cluster, namespace, name };
  };

  it.each([
    [clusters, { cluster: '', namespace: '', name: 'a.b' }],
    [clusterRoles, { cluster: '', namespace: '', name: 'system:a' }],
    [namespaces, { cluster: 'a.b', namespace: '', name: 'ci' }],
    [serviceAccounts, { cluster: 'a.b', namespace: 'ci', name: 'builder' }],
  ])('$resource', (kind, objectKey) => {
    expect(at(kind, storageKey(kind, objectKey))).toEqual(objectKey);
  });

  it.each([
    [clusters, 'a/b'],
    [namespaces, 'a'],
    [serviceAccounts, 'a/ci'],
    [serviceAccounts, 'a/ci/builder/token'],
  ])('a key of $resource with too few or too many parts is refused: %s', (kind, rest) => {
    expect(() => at(kind, `${kindPrefix(kind)}${rest}`)).toThrow(`${rest} is no key of ${kind.resource}`);
  });
});
