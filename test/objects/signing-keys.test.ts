import { expect, it, onTestFinished } from 'vitest';
import { fleetKey, storageKey } from '../../src/api/kind.ts';
import type { ApiRequest } from '../../src/api/request.ts';
import { signingKeyVerbs } from '../../src/handlers/signing-keys/signing-key-verbs.ts';
import { StorageError } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import type { StoredKeyRing } from '../../src/tokens/keys/key-ring.ts';
import { createSigningKeyPublisher } from '../../src/tokens/keys/signing-key-publisher.ts';
import { openTestRing, START } from '../../src/tokens/tokens.fixture.ts';
import { catalog, type Objects, openObjects } from './object-store.ts';

const KIND = catalog.signingKeys;

interface World extends Objects {
  readonly ring: StoredKeyRing;
  readonly logged: string[];
  /** Writes of SigningKey objects fail. */
  outage: boolean;
  leads: boolean;
  /** The maintenance of the publisher. */
  tick(): Promise<void>;
  create(spec: object): Promise<number>;
  remove(name: string): Promise<number>;
  /** Names and states of the SigningKey objects, and of the keys. */
  published(): string[];
  keys(): Promise<string[]>;
}

async function openWorld(): Promise<World> {
  const state = { outage: false, leads: true };
  const objects = await openObjects(newDatabase(), (write, next) => {
    if (state.outage && write.key.startsWith('/registry/signingkeys/')) {
      throw new StorageError('unavailable', 'the disk is full');
    }
    return next();
  });
  const { store, reader } = objects;
  const ring = await openTestRing({ store, clock: { now: START } });
  onTestFinished(() => ring.close());
  const logged: string[] = [];
  const publisher = createSigningKeyPublisher({
    ...objects,
    kind: KIND,
    keyRing: ring,
    leadership: { leads: () => state.leads },
    logger: { error: (_: object, text: string) => logged.push(text) },
  });
  await publisher.publish();
  const verbs = signingKeyVerbs({ kind: KIND, reader, keyRing: ring, publisher, requireRightClock: () => {} });
  const call = async (verb: 'create' | 'delete', name: string, body?: object): Promise<number> => {
    const request = {
      target: { name },
      query: new URLSearchParams(),
      body: body && { bytes: Buffer.from(JSON.stringify(body)), mediaType: 'application/json' },
      warn: () => {},
      annotate: () => {},
    };
    const response = await verbs.get(KIND)?.[verb]?.(request as unknown as ApiRequest);
    return response?.type === 'json' || response?.type === 'value' ? response.code : 0;
  };
  const type = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'SigningKey' };
  return Object.assign(state, {
    ...objects,
    ring,
    logged,
    tick: () => publisher.maintain(),
    create: (spec: object) => call('create', '', { ...type, spec }),
    remove: (name: string) => call('delete', name),
    published: () =>
      [...reader.cache(KIND).current.scan('/registry/signingkeys/')]
        .map((entry) => `${entry.name} ${(entry.object().status as { state: string }).state.toLowerCase()}`)
        .toSorted(),
    keys: async () => {
      await reader.catchUp();
      return ring
        .entries()
        .map(({ kid, state: is }) => `${kid} ${is}`)
        .toSorted();
    },
  });
}

const currentOf = (ring: StoredKeyRing): string => ring.signing().kid;

it('a rotation that is stored is answered with its key, and is not repeated, though no object can be written', async () => {
  const world = await openWorld();
  const before = currentOf(world.ring);
  world.outage = true;
  expect(await world.create({ force: true })).toBe(201);
  expect(world.ring.entries().map(({ state }) => state)).toEqual(['current', 'next', 'retired']);
  expect(currentOf(world.ring)).not.toBe(before);
  expect(world.logged).toEqual(['the SigningKey objects could not be written']);
  await world.tick();
  // Logged once for each problem.
  expect(world.logged).toHaveLength(1);
  world.outage = false;
  await world.tick();
  expect(world.published()).toEqual(await world.keys());
});

it('a key is revoked though its object is damaged, or missing', async () => {
  const world = await openWorld();
  const { ring, store, reader } = world;
  const [first = '', second = ''] = ring.entries().map(({ kid }) => kid);
  const keyOf = (kid: string): string => storageKey(KIND, fleetKey(kid));
  for (const [kid, value] of [
    [first, Buffer.from('{"metadata":')],
    [second, null],
  ] as const) {
    const modRevision = (await store.get(keyOf(kid)))?.modRevision ?? 0;
    await store.write({ key: keyOf(kid), value, expect: { modRevision } });
    await reader.catchUp();
    expect(reader.find(KIND, fleetKey(kid))).toBeUndefined();
    expect(await world.remove(kid)).toBe(200);
    expect(ring.all().map((key) => key.kid)).not.toContain(kid);
  }
  await expect(world.remove(second)).rejects.toMatchObject({ status: { code: 404 } });
});

it('the leader publishes a change of the ring that its predecessor did not publish', async () => {
  const world = await openWorld();
  await world.ring.rotate({ force: true, dryRun: false });
  const before = world.published();
  expect(before).not.toEqual(await world.keys());
  world.leads = false;
  await world.tick();
  expect(world.published()).toEqual(before);
  world.leads = true;
  await world.tick();
  expect(world.published()).toEqual(await world.keys());
  // Nothing is left to write.
  const revision = await world.store.revision();
  await world.tick();
  expect(await world.store.revision()).toBe(revision);
});
