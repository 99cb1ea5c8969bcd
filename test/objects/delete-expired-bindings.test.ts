import { expect, it } from 'vitest';
import { storageKey } from '../../src/api/kind.ts';
import { startBindingExpiry } from '../../src/authz/binding-expiry.ts';
import { fleetBinding } from '../../src/authz/policy/rbac.fixture.ts';
import { soleLeadership } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { at, catalog, type Gate, type Objects, openObjects } from './object-store.ts';

const KIND = catalog.fleetRoleBindings;
const END = Date.parse('2026-11-16T18:00:00Z');

interface World extends Objects {
  readonly logged: string[];
  /** One call of the timer. */
  tick(): Promise<void>;
  /** The names of the bindings that are stored. */
  stored(): Promise<string[]>;
}

/** Expired bindings of these names, in this order. */
async function openWorld(names: readonly string[], gate: Gate): Promise<World> {
  const objects = await openObjects(newDatabase(), gate);
  for (const name of names) {
    const object = fleetBinding(name, 'ClusterRole/x', ['User:jane'], { expiresAt: '2026-11-16T18:00:00Z' });
    await objects.writer.create(KIND, at('', '', name), object, { dryRun: false });
  }
  await objects.reader.catchUp();
  const logged: string[] = [];
  let act = (): void => {};
  const start = () =>
    startBindingExpiry({
      ...objects,
      catalog,
      leadership: soleLeadership,
      removalTime: () => END,
      every: (_, callback) => {
        act = callback;
        return () => {};
      },
      logger: { warn: (_: object, text: string) => logged.push(text) },
    });
  const ended = start();
  return {
    ...objects,
    logged,
    tick: async () => {
      act();
      await ended();
    },
    stored: async () => (await objects.keys()).map((key) => key.split('/').at(-1) ?? ''),
  };
}

it('a binding that was changed meanwhile does not keep the others from being deleted', async () => {
  let changeFirst = async (): Promise<void> => {};
  const gate: Gate = async (write, next) => {
    if (write.value === null && write.key.endsWith('/a')) await changeFirst();
    return next();
  };
  const { logged, store, stored, tick } = await openWorld(['a', 'b'], gate);
  changeFirst = async () => {
    changeFirst = async () => {};
    const key = storageKey(KIND, at('', '', 'a'));
    const { value = Buffer.of(), modRevision = 0 } = (await store.get(key)) ?? {};
    await store.write({ key, value, expect: { modRevision } });
  };
  await tick();
  expect([await stored(), logged]).toEqual([['a'], []]);
});

it('is deleted whatever it reaches, and kept while it has not ended or its end cannot be read', async () => {
  const { reader, store, writer, logged, stored, tick } = await openWorld(['everywhere'], (_, next) => next());
  const put = async (name: string, spec: object) => {
    const value = { kind: 'FleetRoleBinding', metadata: { name, uid: name }, spec };
    await store.write({
      key: storageKey(KIND, at('', '', name)),
      value: Buffer.from(JSON.stringify(value)),
      expect: { absent: true },
    });
  };
  const ended = { expiresAt: '2026-11-16T18:00:00Z' };
  const uid = fleetBinding('no-cluster', 'ClusterRole/x', ['User:jane'], {
    ...ended,
    clusters: 'kubernetes.io/metadata.name=a',
    uid: 'of-no-cluster',
  });
  await writer.create(KIND, at('', '', 'no-cluster'), uid, { dryRun: false });
  await put('refused', { ...ended, clusters: {}, unknown: true });
  await put('later', { expiresAt: '2026-11-16T18:00:01Z' });
  await put('unreadable', { expiresAt: 'tomorrow' });
  await put('endless', {});
  await reader.catchUp();
  await tick();
  expect([(await stored()).sort(), logged]).toEqual([['endless', 'later', 'unreadable'], []]);
});
