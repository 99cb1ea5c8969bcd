import { describe, expect, it } from 'vitest';
import { createCatalog } from '../api/catalog.ts';
import { type ApiObject, type Kind, kindPrefix, storageKey } from '../api/kind.ts';
import { StoredObject, toStoredBytes } from './stored-object.ts';

const { clusters, namespaces, serviceAccounts, clusterRoles } = createCatalog({ productName: 'orchestrator' });
const key = '/registry/clusters/a';
const AT_ONE = { modRevision: 1, createRevision: 1 };

const cluster = (): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'a', uid: 'u-1', labels: { env: 'dev' }, generation: 1 },
  spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://a' }] }, authInfo: {} },
  status: { type: 'k3s', version: 'v1' },
});
const publicView = ({ apiVersion, kind, metadata }: ApiObject): ApiObject => ({ apiVersion, kind, metadata });
const shown = (entry: StoredObject): unknown => ({
  whole: entry.fullJson.toString(),
  public: entry.publicJson.toString(),
  object: entry.object(),
  facts: [entry.uid, entry.labels, entry.deletionTimestamp, entry.field('status.type'), entry.field('status.version')],
});

describe('a replaced object', () => {
  it('drops its JSON, and encodes the same JSON again', () => {
    const entry = new StoredObject(
      clusters,
      { key, value: toStoredBytes(clusters, cluster()), modRevision: 7, createRevision: 5 },
      publicView,
    );
    const before = shown(entry);
    const { fullJson, publicJson } = entry;
    expect(entry.fullJson).toBe(fullJson);
    entry.onReplaced();
    expect(entry.fullJson).not.toBe(fullJson);
    expect(entry.publicJson).not.toBe(publicJson);
    expect(shown(entry)).toEqual(before);
  });
});

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
