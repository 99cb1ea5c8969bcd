import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { serviceAccountKind } from '../../../api/kinds/core.ts';
import type { JsonMap } from '../../../lib/json.ts';
import { fieldRules } from '../../managed-fields.ts';
import { applyConfig } from './apply-config.ts';
import { type Config, configs, Live, leavesOf, Model, ownedIn } from './apply-model.fixture.ts';
import { FieldSet, pathsOf } from './field-set.ts';
import { pathText, writeFields } from './fields-v1.ts';
import { updateManagers } from './ownership.ts';

type Write =
  | { readonly type: 'apply'; readonly manager: string; readonly config: Config; readonly force: boolean }
  | { readonly type: 'update'; readonly manager: string; readonly config: Config };

const manager = fc.constantFrom('one', 'two', 'three');
const applies = fc.record({ type: fc.constant('apply' as const), manager, config: configs(), force: fc.boolean() });
const forced = applies.map((write) => ({ ...write, force: true }));
const updates = fc.record({ type: fc.constant('update' as const), manager, config: configs() });

/** Tracking begins with the first write: a history without it is not one. */
const histories = (write: fc.Arbitrary<Write>): fc.Arbitrary<Write[]> =>
  fc.array(write, { minLength: 1, maxLength: 8 });

function run(target: Live | Model, write: Write): void {
  if (write.type === 'apply') target.apply(write.manager, write.config, write.force);
  else target.update(write.manager, write.config);
}

const stateOf = (live: Live): object => ({ leaves: leavesOf(live.object), owners: live.owners });

describe('server-side apply', () => {
  test('AP-48, AP-52: values, owners and conflicts are those of a plain model', () => {
    fc.assert(
      fc.property(histories(fc.oneof(applies, updates)), (writes) => {
        const [live, model] = [new Live(), new Model()];
        for (const write of writes) {
          // Without managers the first apply makes an entry for what was there before (AP-60).
          if (live.managers.size === 0 && live.object !== undefined) return;
          if (write.type === 'apply') {
            const found = live.apply(write.manager, write.config, write.force).conflicts;
            const names = [...new Set(found.flatMap(({ paths }) => ownedIn(paths)))].sort();
            expect(names).toEqual(model.apply(write.manager, write.config, write.force).sort());
          } else {
            run(live, write);
            run(model, write);
          }
          expect(stateOf(live)).toEqual({ leaves: model.leaves, owners: model.owners });
        }
      }),
      { numRuns: 100 },
    );
  });

  test('is idempotent: the second time nothing changes, not even a time', () => {
    fc.assert(
      fc.property(histories(fc.oneof(applies, updates)), manager, configs(), (writes, name, config) => {
        const live = new Live();
        for (const write of writes) run(live, write);
        live.apply(name, config, true);
        const { object, managers } = live;
        const again = live.apply(name, config, false);
        expect(again.conflicts).toEqual([]);
        expect(again.object).toEqual(object);
        expect(new Map(again.managers)).toEqual(new Map(managers));
      }),
      { numRuns: 50 },
    );
  });

  test('what no manager owns goes, where every writer applies', () => {
    fc.assert(
      fc.property(histories(forced), (writes) => {
        const live = new Live();
        for (const write of writes) run(live, write);
        const owned = new Set(Object.values(live.owners).flat());
        expect(Object.keys(leavesOf(live.object)).filter((name) => !owned.has(name))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  describe('AP-30: stored items of a list map with the same key', () => {
    const twice = [
      { name: 'a', uid: '1' },
      { name: 'a', uid: '2' },
    ];
    const accountRules = fieldRules(serviceAccountKind, 'object');
    const NOW = '2026-01-01T00:00:00Z';
    const live = { metadata: { name: 'x' }, secrets: [...twice, { name: 'b' }] };
    const managers = updateManagers(accountRules, {
      before: {},
      after: live,
      managers: new Map(),
      updater: { name: 'creator', subresource: '' },
      now: NOW,
    });
    const apply = (config: JsonMap, force = false) =>
      applyConfig(accountRules, { live, managers, config, manager: 'one', subresource: '', force, now: NOW });
    const secretsOf = (set: FieldSet | undefined) =>
      (writeFields(set ?? new FieldSet()) as Record<string, object>)['f:secrets'];

    test('are owned as one', () => {
      const [creator] = managers.values();
      expect(secretsOf(creator?.set)).toEqual({ '.': {}, 'k:{"name":"a"}': {}, 'k:{"name":"b"}': {} });
    });

    test('are kept by an apply that does not set that key', () => {
      const { object, conflicts } = apply({ secrets: [{ name: 'c' }] });
      expect(conflicts).toEqual([]);
      expect(object.secrets).toEqual(expect.arrayContaining([...twice, { name: 'b' }, { name: 'c' }]));
      expect(object.secrets).toHaveLength(4);
    });

    test('are replaced as one by an apply that sets it, which is a conflict with their owner', () => {
      const config = { secrets: [{ name: 'a', uid: '3' }] };
      const paths = apply(config).conflicts.flatMap((conflict) => [...pathsOf(conflict.paths)].map(pathText));
      expect(paths).toEqual(['.secrets[name="a"]']);
      const { object, managers: after } = apply(config, true);
      expect(object.secrets).toEqual([{ name: 'a', uid: '3' }, { name: 'b' }]);
      const owned = [...after.values()].map(({ name, set }) => [name, Object.keys(secretsOf(set) ?? {})]);
      expect(owned).toEqual(
        expect.arrayContaining([
          ['one', ['k:{"name":"a"}']],
          ['creator', ['.', 'k:{"name":"b"}']],
        ]),
      );
    });
  });

  test('AP-83: a container that another manager owns stays as empty', () => {
    const live = new Live();
    live.update('creator', { labelA: '1' });
    live.apply('one', { labelA: '2' }, true);
    live.apply('one', {}, true);
    expect(leavesOf(live.object)).toEqual({});
    expect(live.object?.metadata).toEqual({ labels: {} });
  });
});
