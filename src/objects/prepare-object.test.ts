import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import { markForDeletion, prepareForUpdate, unchangedParts } from './prepare-object.ts';
import { validateObject } from './validate-object.ts';

const kind = clusterKind('orchestrator');
const ENDPOINTS = 'orchestratorApiEndpoints';

/** As an earlier release stored it: the address and the label are no longer valid. */
const old = (): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: {
    name: 'east',
    uid: 'u',
    creationTimestamp: '2026-01-02T03:04:05Z',
    generation: 3,
    labels: { 'not a key': 'x' },
    annotations: { note: 'a' },
  },
  spec: { [ENDPOINTS]: { serverEndpoints: [{ serverAddress: 'ftp://east.example' }] } },
});

const updated = (before: ApiObject, sent: ApiObject): ApiObject =>
  prepareForUpdate(kind, sent, before, 'object', { computedAnnotations: [] });

const fieldsOf = (before: ApiObject, sent: ApiObject): string[] => invalidFields(updated(before, sent), before);

const invalidFields = (next: ApiObject, before: ApiObject): string[] =>
  validateObject(kind, next, { cluster: '', old: before, unchanged: unchangedParts(next, before) }).map(
    ({ field }) => field,
  );

describe('an update', () => {
  it('is a copy of what was sent', () => {
    const before = old();
    const sent = { ...before, metadata: { ...before.metadata, labels: { env: 'prod' } } };
    const next = updated(before, sent);
    expect(next).toEqual(sent);
    expect(next.metadata).not.toBe(sent.metadata);
    expect(next.metadata.labels).not.toBe(sent.metadata.labels);
  });

  it('is not validated where it leaves the old object unchanged', () => {
    const before = old();
    expect(fieldsOf(before, { ...before, metadata: { ...before.metadata, annotations: { note: 'b' } } })).toEqual([]);
  });

  it('is not validated in parts that it sends as they are stored', () => {
    expect(fieldsOf(old(), old())).toEqual([]);
  });

  it('is validated in the parts that it changes', () => {
    const before = old();
    const metadata = { ...before.metadata, labels: { ...before.metadata.labels, env: 'prod' } };
    const spec = { [ENDPOINTS]: { serverEndpoints: [{ serverAddress: 'ftp://west.example' }] } };
    expect(fieldsOf(before, { ...before, metadata, spec })).toEqual([
      'metadata.labels',
      `spec.${ENDPOINTS}.serverEndpoints[0].serverAddress`,
    ]);
    expect(fieldsOf(before, { ...before, status: { conditions: [{ type: '', status: 'True' }] } })).toEqual([]);
    const status = { conditions: [{ type: '', status: 'True' }] };
    const next = prepareForUpdate(kind, { ...before, status }, before, 'status', { computedAnnotations: [] });
    expect(invalidFields(next, before)).toEqual(['status.conditions[0].type']);
  });

  it('does not read from the prototype of the old object', () => {
    const before = old();
    const labels = JSON.parse('{"constructor":"a","toString":"b"}');
    const next = updated(before, { ...before, metadata: { ...before.metadata, labels } });
    expect(next.metadata.labels).toEqual({ constructor: 'a', toString: 'b' });
  });
});

describe('a deletion that waits', () => {
  it('is a new generation of an object that counts them, as in kube-apiserver', () => {
    const marked = markForDeletion(kind, old(), Date.parse('2026-09-02T12:00:00Z'));
    expect(marked.metadata).toMatchObject({ deletionTimestamp: '2026-09-02T12:00:00Z', generation: 4 });
  });

  it('gives no generation to one that has none', () => {
    const { generation: _, ...metadata } = old().metadata;
    expect(markForDeletion(kind, { ...old(), metadata }, 0).metadata).not.toHaveProperty('generation');
  });
});
