import { describe, expect, it, test } from 'vitest';
import { HOSTILE_FIELDS } from '../../test/fuzz/support/field-sets.ts';
import type { ApiObject, ManagedFieldsEntry } from '../api/kind.ts';
import { clusterKind } from '../api/kinds/cluster.ts';
import { checkManagedFieldsSize, storedManagers, trackUpdate } from './managed-fields.ts';
import { MAX_PATHS, readManagers } from './patches/apply/managers.ts';

const kind = clusterKind('orchestrator');

const entry = (manager: string, fieldsV1: unknown): ManagedFieldsEntry =>
  ({
    manager,
    operation: 'Apply',
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    fieldsType: 'FieldsV1',
    fieldsV1,
  }) as ManagedFieldsEntry;
const labels = (...names: string[]): object => ({
  'f:metadata': { 'f:labels': Object.fromEntries(names.map((name) => [`f:${name}`, {}])) },
});
const cluster = (changes: object = {}): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'a', labels: { env: 'dev' }, ...changes },
});
/** As the store has it. */
const OLD = cluster({ managedFields: [entry('owner', JSON.stringify(labels('env')))] });

/** The managers after a PUT that sends these entries and changes nothing else. */
function managersAfter(sent: readonly ManagedFieldsEntry[], old = OLD): string[] {
  const write = { object: cluster(), old, sent, part: 'object', manager: 'writer', now: 0 } as const;
  return (trackUpdate(kind, write) ?? []).map(({ manager = '' }) => manager);
}

describe('AP-66, A19: managedFields that a client writes', () => {
  it('replaces the stored entries if it can be read', () => {
    expect(managersAfter([entry('other', labels('env'))])).toEqual(['other']);
  });

  it.each(HOSTILE_FIELDS)('$name: $outcome', ({ fieldsV1, outcome }) => {
    expect(managersAfter([entry('hostile', fieldsV1)])).toEqual(outcome === 'ignored' ? ['owner'] : []);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('AP-40: one entry that cannot be read makes all of them unreadable', () => {
    expect(managersAfter([entry('good', labels('env')), entry('bad', { 'f:metadata': 1 })])).toEqual(['owner']);
  });

  it('refuses a name that is too long, unless it is stored: every update sends it back', () => {
    const name = '\u9375'.repeat(43);
    const sent = [entry(name, labels('env'))];
    expect(() => managersAfter(sent)).toThrow('metadata.managedFields[0].manager: Too long');
    expect(managersAfter(sent, cluster({ managedFields: [entry(name, JSON.stringify(labels('env')))] }))).toEqual([
      name,
    ]);
    const known = cluster({ managedFields: [entry('me', JSON.stringify(labels('env')))] });
    const longer = { ...entry('me', labels('env')), subresource: 'x'.repeat(129) };
    expect(() => managersAfter([longer], known)).toThrow('metadata.managedFields[0].subresource: Too long');
  });
});

describe('AP-61: managedFields that would be too large', () => {
  const many = (count: number): ManagedFieldsEntry[] => [
    entry('many', labels(...Array.from({ length: count }, (_, index) => `l${index}`))),
  ];

  test('are kept up to the limit, and dropped by an update beyond it', () => {
    expect(managersAfter(many(MAX_PATHS))).toEqual(['many']);
    expect(managersAfter(many(MAX_PATHS + 1))).toEqual([]);
  });

  test('are dropped with a warning', () => {
    const warnings: string[] = [];
    const warn = (text: string): void => void warnings.push(text);
    const managers = (count: number) =>
      Array.from({ length: count }, (_, index) => entry(`m${index}`, JSON.stringify(labels('env'))));
    const object = cluster({ labels: { env: 'dev', new: '' } });
    const write = { object, part: 'object', manager: 'writer', now: 0, warn } as const;
    trackUpdate(kind, { ...write, sent: undefined, old: cluster({ managedFields: managers(99) }) });
    expect(warnings).toEqual([]);
    trackUpdate(kind, { ...write, sent: undefined, old: cluster({ managedFields: managers(100) }) });
    trackUpdate(kind, { ...write, sent: many(MAX_PATHS + 1), old: OLD });
    const consequence = 'no field has a manager until it is applied again';
    expect(warnings).toEqual([
      `metadata.managedFields was dropped: it must have at most 100 managers; ${consequence}`,
      `metadata.managedFields was dropped: it is too large; ${consequence}`,
    ]);
  });

  test('are refused in an apply, which needs them', () => {
    const full = readManagers(many(MAX_PATHS));
    expect(() => checkManagedFieldsSize(kind, 'a', full)).not.toThrow();
    const more = new Map([...full, ...readManagers([entry('more', labels('one'))])]);
    expect(() => checkManagedFieldsSize(kind, 'a', more)).toThrow(
      'metadata.managedFields: Too many: 2001: must have at most 2000 fields of all managers together',
    );
  });

  test('are refused with the limit that they exceed', () => {
    const managers = readManagers(Array.from({ length: 101 }, (_, index) => entry(`m${index}`, labels('one'))));
    expect(() => checkManagedFieldsSize(kind, 'a', managers)).toThrow(
      'metadata.managedFields: Too many: 101: must have at most 100 managers',
    );
    const [first, second] = ['a', 'b'].map((name) => readManagers([entry(name, labels(name.repeat(300_000)))]));
    expect(() => checkManagedFieldsSize(kind, 'a', new Map([...(first ?? []), ...(second ?? [])]))).toThrow(
      /metadata\.managedFields: Too many: 6\d{5}: must have at most 524288 characters of the names of the fields$/,
    );
  });
});

test('a stored entry that cannot be read is no manager', () => {
  const broken = cluster({ managedFields: [entry('owner', '{"f:metadata":1}')] });
  expect(storedManagers(kind, broken).size).toBe(0);
});
