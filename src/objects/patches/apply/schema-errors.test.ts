import { describe, expect, test } from 'vitest';
import { clusterKind } from '../../../api/kinds/cluster.ts';
import { serviceAccountKind } from '../../../api/kinds/core.ts';
import { fieldSetOf } from './field-set-of.ts';
import { writeFields } from './fields-v1.ts';
import { schemaErrors } from './schema-errors.ts';

const { shape } = clusterKind('orchestrator');

describe('AP-29: several mistakes', () => {
  test('are listed in the order of the document, and an object is left at its first unknown field', () => {
    const config = {
      metadata: { labels: 'text', annotations: [] },
      spec: { odd: 1, strange: 2 },
      status: { conditions: {}, version: 1 },
    };
    expect(schemaErrors(config, shape)).toBe(
      [
        'errors:',
        '  .metadata.labels: expected map, got &{text}',
        '  .metadata.annotations: expected map, got &{[]}',
        '  .spec.odd: field not declared in schema',
        '  .status.conditions: expected list, got &{map[]}',
        '  .status.version: expected string, got &value.valueUnstructured{Value:1}',
      ].join('\n'),
    );
  });

  test('are twenty at most, each of a bounded length', () => {
    const value = 'v'.repeat(10_000);
    const labels = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${index}${value}`, [value]]));
    const lines = schemaErrors({ metadata: { labels } }, shape)?.split('\n') ?? [];
    expect(lines).toHaveLength(1 + 20);
    for (const line of lines) expect(line.length).toBeLessThan(1_200);
  });

  test('one alone has no list', () => {
    expect(schemaErrors({ spec: { odd: 1 } }, shape)).toBe('.spec.odd: field not declared in schema');
    expect(schemaErrors({ spec: {} }, shape)).toBeUndefined();
  });
});

describe('AP-47: an item of a list map without its key', () => {
  const owned = (references: object[]) =>
    writeFields(fieldSetOf({ metadata: { ownerReferences: references } } as never, shape));

  test('has the default of the key', () => {
    const config = { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'a' }] } };
    expect(schemaErrors(config, shape)).toBeUndefined();
    expect(owned(config.metadata.ownerReferences)).toEqual({
      'f:metadata': { 'f:ownerReferences': { 'k:{"uid":""}': {} } },
    });
  });

  test('is the same item as one with the default', () => {
    const references = [{ name: 'a' }, { name: 'b', uid: '' }];
    expect(schemaErrors({ metadata: { ownerReferences: references } }, shape)).toBe(
      '.metadata.ownerReferences: duplicate entries for key [uid=""]',
    );
  });

  test('is an error where the key has no default', () => {
    expect(schemaErrors({ secrets: [{}] }, serviceAccountKind.shape)).toBe(
      '.secrets: element 0: associative list with keys has an element that omits all key fields ["name"] ' +
        "(and doesn't have default values for any key fields)",
    );
  });
});
