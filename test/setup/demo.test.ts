import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createCatalog } from '../../src/api/catalog.ts';
import { type ApiObject, NOTHING_UNCHANGED } from '../../src/api/kind.ts';

const folder = new URL('../../demo/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const objects: { file: string; object: ApiObject }[] = files.flatMap((file) =>
  [...parseAllDocuments(readFileSync(new URL(file, folder), 'utf8'))].map((document) => {
    expect(document.errors, file).toEqual([]);
    return { file, object: document.toJS() };
  }),
);
const ofKind = (kind: string): ApiObject[] =>
  objects.filter(({ object }) => object.kind === kind).map(({ object }) => object);
const clusterOf = (object: ApiObject): string => object.metadata.annotations?.['clusterpass.dev/in-cluster'] ?? '';

interface ClusterObject extends ApiObject {
  spec: { orchestratorApiEndpoints: { caBundle: string; serverEndpoints: { serverAddress: string }[] } };
  status: { conditions: { type: string; status: string; lastTransitionTime?: string }[] };
}
const clusters = ofKind('Cluster') as ClusterObject[];

const catalog = createCatalog({ productName: 'orchestrator' });

/** Keys the schema does not have, e.g. a misspelt field that would be dropped with a warning. */
function unknownKeys(value: unknown, schema: unknown, at: string): string[] {
  if (Array.isArray(value)) {
    const { items } = schema as { items?: unknown };
    return value.flatMap((item, index) => unknownKeys(item, items, `${at}[${index}]`));
  }
  const { properties } = (schema ?? {}) as { properties?: Record<string, unknown> };
  if (value === null || typeof value !== 'object' || properties === undefined) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key in properties ? unknownKeys(inner, properties[key], `${at}.${key}`) : [`${at}.${key}`],
  );
}

describe('the demo fleet', () => {
  it('has only kinds and fields that the server knows', () => {
    for (const { file, object } of objects) {
      const kind = catalog.findKind(object.apiVersion, object.kind);
      const where = `${file}: ${object.kind} ${object.metadata.name}`;
      expect(kind, where).toBeDefined();
      expect(unknownKeys(object, kind?.schema, where)).toEqual([]);
      expect(kind?.validate(object, undefined, NOTHING_UNCHANGED), where).toEqual([]);
      expect(clusterOf(object) !== '', where).toBe(kind?.inCluster);
      expect(object.metadata.namespace !== undefined, where).toBe(kind?.namespaced);
    }
  });

  it('has unique names, and objects only in clusters and namespaces that exist', () => {
    const key = (o: ApiObject): string => [clusterOf(o), o.kind, o.metadata.namespace, o.metadata.name].join(' ');
    const keys = new Set(objects.map(({ object }) => key(object)));
    expect(keys.size).toBe(objects.length);
    for (const { object } of objects.filter(({ object: o }) => clusterOf(o) !== '')) {
      expect(clusters.map((c) => c.metadata.name)).toContain(clusterOf(object));
      if (object.metadata.namespace !== undefined) {
        expect(keys).toContain([clusterOf(object), 'Namespace', undefined, object.metadata.namespace].join(' '));
      }
    }
    for (const pod of ofKind('Pod')) {
      const { serviceAccountName } = pod.spec as { serviceAccountName: string };
      expect(keys).toContain([clusterOf(pod), 'ServiceAccount', pod.metadata.namespace, serviceAccountName].join(' '));
    }
  });

  it('has only reserved host names, and a valid CA', () => {
    for (const { spec } of clusters) {
      const { caBundle, serverEndpoints } = spec.orchestratorApiEndpoints;
      expect(new X509Certificate(Buffer.from(caBundle, 'base64')).ca).toBe(true);
      for (const { serverAddress } of serverEndpoints)
        expect(serverAddress).toMatch(/^https:\/\/[a-z0-9.-]+\.example\.com:6443$/);
    }
  });

  it('has no secret: no key in a file, no data in a Secret', () => {
    for (const file of files)
      expect(readFileSync(new URL(file, folder), 'utf8')).not.toMatch(/PRIVATE KEY|UFJJVkFURSBLRV/);
    for (const secret of ofKind('Secret')) expect(Object.keys(secret)).not.toContain('data');
  });
});
