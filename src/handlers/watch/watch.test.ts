import { expect, it } from 'vitest';
import { at, catalog, make, openObjects } from '../../../test/objects/object-store.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ALL_VISIBLE } from '../../api/visibility.ts';
import { MemoryAccount } from '../../lib/memory-account.ts';
import { parseListOptions } from '../options/list-options.ts';
import type { Views } from '../views.ts';
import { Broadcaster } from './broadcaster.ts';
import { Client } from './watch.fixture.ts';
import { watchObjects } from './watch.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const { clusters } = catalog;

it('B4: initial events show the state of their bookmark, however slowly the client reads', async () => {
  const objects = await openObjects();
  const broadcaster = new Broadcaster({
    clusters,
    isPolicy: () => false,
    bookmarkIntervalMs: 3_600_000,
    memory: new MemoryAccount({ perFlow: 2 ** 26, total: 2 ** 28 }),
    timeOfDay: Date.now,
  });
  objects.reflector.listen(broadcaster);
  const annotations = { note: 'x'.repeat(50_000) };
  for (const name of NAMES) await make(objects, clusters, at('', '', name), { annotations });
  const query = new URLSearchParams('watch=1&allowWatchBookmarks=1');
  const response = await watchObjects(
    {
      reader: objects.reader,
      views: {
        rule: () => ALL_VISIBLE,
        whole: () => ALL_VISIBLE,
        spanOf: () => ({ from: 0, until: Number.POSITIVE_INFINITY }),
        now: Date.now,
      } as unknown as Views,
      broadcaster,
      refusal: () => undefined,
      hasChangedSince: () => false,
      now: Date.now,
      random: () => 0,
    },
    {
      caller: { dependsOn: [], isLive: () => true, expiresAt: undefined },
      target: { verb: 'watch', cluster: undefined, namespace: '', name: '', alwaysPublic: false },
      accept: { as: 'object' },
      query,
    } as unknown as ApiRequest,
    clusters,
    parseListOptions(query),
  );
  const client = new Client();
  client.reads = false;
  if (response.type === 'watch') response.start(client);
  const { revision } = broadcaster;
  // The first chunk is full, and the rest of the state is read later.
  expect(client.events.length).toBeLessThan(NAMES.length);
  const label = (name: string) =>
    objects.writer.update(
      clusters,
      at('', '', name),
      (current) => ({ ...current, metadata: { ...current.metadata, labels: { changed: 'yes' } } }),
      { dryRun: false, part: 'object' },
    );
  await label('a');
  await label('f');
  client.reads = true;
  client.read();
  await expect.poll(() => client.events.length).toBe(NAMES.length + 3);
  const versions = client.events.map((event) => Number(event.split(' ')[2]));
  expect(Math.max(...versions.slice(0, NAMES.length))).toBe(revision);
  expect(client.events.slice(NAMES.length)).toEqual([
    `BOOKMARK undefined ${revision}`,
    `MODIFIED a ${revision + 1}`,
    `MODIFIED f ${revision + 2}`,
  ]);
  broadcaster.shutDown();
});
