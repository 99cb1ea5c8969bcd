import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { type Desired, keyOf, type Ownership, type Plan, type PlanInput, planChanges } from './plan.ts';

const MANAGER = 'clusterpass';

const desired = (name: string, value: string, labels: Record<string, string> = {}): Desired => ({
  object: { apiVersion: 'v1', kind: 'X', metadata: { name, labels: { ...labels, owner: 'us' } }, spec: { value } },
  status: { conditions: [{ type: 'Ready', status: value }] },
});

const OWNERSHIP: Ownership = {
  mayChange: ({ metadata }) => metadata.labels?.owner === 'us',
  mayRemove: ({ metadata }) => metadata.labels?.owner === 'us' && metadata.annotations?.mark === 'here',
};

/** What the target has after an apply: also fields of others, and the record of who applied what. */
const stored = ({ object, status }: Desired, extra: object = {}): ApiObject => {
  const labels = Object.keys(object.metadata.labels ?? {});
  return {
    ...object,
    metadata: {
      ...object.metadata,
      annotations: { mark: 'here' },
      managedFields: [
        {
          manager: MANAGER,
          operation: 'Apply',
          fieldsV1: {
            'f:metadata': { 'f:labels': Object.fromEntries(labels.map((key) => [`f:${key}`, {}])) },
            'f:spec': { 'f:value': {} },
          },
        },
        {
          manager: MANAGER,
          operation: 'Apply',
          subresource: 'status',
          fieldsV1: {
            'f:status': { 'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:status': {} } } },
          },
        },
      ],
      ...extra,
    },
    status: { ...status, foreign: true },
  };
};

const OTHER = { type: 'Other', status: 'False' };

const withAddresses = (...addresses: readonly string[]): Desired => ({
  object: { apiVersion: 'v1', kind: 'X', metadata: { name: 'a', labels: { owner: 'us' } }, spec: { addresses } },
});

const mapOf = <T>(items: readonly T[], key: (item: T) => string): Map<string, T> =>
  new Map(items.map((item) => [key(item), item]));

const plan = (wanted: readonly Desired[], found: readonly ApiObject[], input: Partial<PlanInput> = {}): Plan =>
  planChanges({
    desired: mapOf(wanted, ({ object }) => keyOf(object)),
    kept: new Set(),
    actual: mapOf(found, keyOf),
    ownership: OWNERSHIP,
    fieldManager: MANAGER,
    prune: true,
    maxDelete: 5,
    removedRecently: 0,
    ...input,
  });

const NOTHING = { creates: [], updates: [], removals: [], taken: [], held: [] };

describe('the plan', () => {
  it.each<[string, Desired, ApiObject, { object: boolean; status?: boolean }]>([
    ['a value', desired('a', 'True'), stored(desired('a', 'False')), { object: true, status: true }],
    [
      'a label that another client removed',
      desired('a', 'True', { x: '1' }),
      { ...stored(desired('a', 'True', { x: '1' })), metadata: stored(desired('a', 'True')).metadata },
      { object: true, status: false },
    ],
    [
      'a label that the source no longer has',
      desired('a', 'True'),
      stored(desired('a', 'True', { x: '1' })),
      { object: true, status: false },
    ],
    [
      'a condition that the source no longer has',
      { ...desired('a', 'True'), status: { conditions: [] } },
      stored(desired('a', 'True')),
      { object: false, status: true },
    ],
    [
      'a condition that the source has replaced',
      { ...desired('a', 'True'), status: { conditions: [OTHER] } },
      { ...stored(desired('a', 'True')), status: { conditions: [OTHER, { type: 'Ready', status: 'True' }] } },
      { object: false, status: true },
    ],
    ['an item of a list without keys', withAddresses('10.0.0.2'), withAddresses('10.0.0.1').object, { object: true }],
    ['a list that is missing', withAddresses('10.0.0.1'), { ...withAddresses().object, spec: {} }, { object: true }],
    [
      'a label with the name of a member that every object has',
      desired('a', 'True'),
      stored(desired('a', 'True', { constructor: 'x' })),
      { object: true, status: false },
    ],
  ])('updates %s', (_, wanted, found, parts) => {
    expect(plan([wanted], [found]).updates).toMatchObject([parts]);
  });

  it('leaves fields and list items of others', () => {
    const wanted = desired('a', 'True');
    const found = stored(wanted);
    const conditions = [OTHER, { type: 'Ready', status: 'True' }];
    const labels = { ...found.metadata.labels, theirs: 'x' };
    const changed = { ...found, metadata: { ...found.metadata, labels }, status: { conditions } };
    expect(plan([wanted], [changed])).toEqual({ ...NOTHING, unchanged: 1 });
    const theirs = { 'f:metadata': { 'f:labels': { 'f:theirs': {} } } };
    const managedFields = [
      { manager: 'others', operation: 'Apply', fieldsV1: theirs },
      { manager: MANAGER, operation: 'Update', fieldsV1: theirs },
      ...(found.metadata.managedFields ?? []),
    ] as const;
    const shared = { ...changed, metadata: { ...changed.metadata, managedFields: [...managedFields] } };
    expect(plan([wanted], [shared])).toEqual({ ...NOTHING, unchanged: 1 });
    const withoutStatus: Desired = { object: wanted.object };
    expect(plan([withoutStatus], [{ ...found, status: {} }])).toEqual({ ...NOTHING, unchanged: 1 });
  });

  it('neither changes nor removes what is being deleted, and removes nothing without prune', () => {
    const dying = stored(desired('a', 'False'), { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(plan([desired('a', 'True')], [dying])).toEqual({ ...NOTHING, unchanged: 1 });
    expect(plan([], [dying])).toEqual({ ...NOTHING, unchanged: 0 });
    expect(plan([], [stored(desired('a', 'True'))], { prune: false }).removals).toEqual([]);
  });

  it.each([
    [2, 2, 0, 2, 0],
    [3, 2, 0, 0, 3],
    [2, 2, 1, 0, 2],
    [1, 0, 0, 0, 1],
    [0, 0, 9, 0, 0],
  ])(
    'of %i that are gone, with a bound of %i and %i removed before, removes %i',
    (gone, maxDelete, removedRecently, removed, held) => {
      const found = Array.from({ length: gone }, (_, index) => stored(desired(`c-${index}`, 'True')));
      const result = plan([], found, { maxDelete, removedRecently });
      expect([result.removals.length, result.held.length]).toEqual([removed, held]);
    },
  );

  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
  const fleet = fc.uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMES), value: fc.constantFrom('True', 'False') }),
    {
      selector: ({ name }) => name,
    },
  );
  const found = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...NAMES),
      value: fc.constantFrom('True', 'False'),
      owner: fc.constantFrom('us', 'them'),
      isMarked: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  );

  it('is idempotent, touches nothing of others, and keeps its bound, for any two states', () => {
    fc.assert(
      fc.property(
        ...([fleet, found, fc.subarray(NAMES), fc.nat(6), fc.nat(3)] as const),
        (source, target, keptNames, maxDelete, removedRecently) => {
          const wanted = source.map(({ name, value }) => desired(name, value));
          const actual = target.map(({ name, value, owner, isMarked }): ApiObject => {
            const object = stored(desired(name, value));
            const { metadata } = object;
            const annotations = isMarked ? { mark: 'here' } : {};
            return { ...object, metadata: { ...metadata, labels: { ...metadata.labels, owner }, annotations } };
          });
          const kept = new Set(keptNames);
          const input = { kept, maxDelete, removedRecently };
          const first = plan(wanted, actual, input);

          const isOurs = (object: ApiObject): boolean => object.metadata.labels?.owner === 'us';
          expect(first.updates.every((update) => isOurs(update.actual))).toBe(true);
          expect(first.removals.every((each) => OWNERSHIP.mayRemove(each) && !kept.has(keyOf(each)))).toBe(true);
          expect(first.creates.every(({ object }) => !target.some(({ name }) => name === keyOf(object)))).toBe(true);
          if (first.removals.length > 0) expect(first.removals.length + removedRecently).toBeLessThanOrEqual(maxDelete);

          const after = new Map(actual.map((object) => [keyOf(object), object]));
          for (const each of first.creates) after.set(keyOf(each.object), stored(each));
          for (const each of first.updates) after.set(keyOf(each.actual), stored(each.desired));
          for (const each of first.removals) after.delete(keyOf(each));
          const second = plan(wanted, [...after.values()], input);
          expect(second).toEqual({ ...NOTHING, taken: first.taken, held: first.held, unchanged: expect.any(Number) });
        },
      ),
      { numRuns: 300 },
    );
  });
});
