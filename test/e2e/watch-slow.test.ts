import { beforeAll, expect, it } from 'vitest';
import { addCluster, PUBLIC_LIST, revisionNow, touch } from './support/fleet.ts';
import { sharedServer } from './support/shared-server.ts';
import { drain, NOTE_BYTES, stalledWatch, WRITES } from './support/stalled-watch.ts';
import { Watch } from './support/watch.ts';

const server = sharedServer();

beforeAll(() => addCluster(server, 'a'));

it('B14, V-14: a client that does not read is disconnected; others miss nothing', async () => {
  const start = await revisionNow(server);
  const path = `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`;
  const stalled = stalledWatch(server, path);
  const good = await Promise.all([1, 2, 3].map(() => Watch.open(server, path)));
  const versions: number[] = [];
  const reading = good.map(async (watch) => {
    const got: number[] = [];
    for (const event of await watch.take(WRITES)) got.push(Number(event.object.metadata.resourceVersion));
    return got;
  });
  for (let count = 0; count < WRITES; count++) {
    versions.push(await touch(server, 'a', String(count % 10).repeat(NOTE_BYTES)));
  }
  for (const got of reading) expect(await got).toEqual(versions);
  const { bytes, ended } = await drain(stalled);
  expect(ended).toBe(false);
  expect(bytes).toBeLessThan(WRITES * NOTE_BYTES);
  for (const watch of good) watch.close();
});

it('a client that resumes far back gets the events as fast as it reads', async () => {
  const start = await revisionNow(server);
  const versions: number[] = [];
  for (let count = 0; count < 40; count++)
    versions.push(await touch(server, 'a', String(count % 10).repeat(NOTE_BYTES)));
  // Ten megabytes of history: the limit for slow clients must not count them.
  const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${start}`);
  const now = await touch(server, 'a', 'live');
  const events = await watch.take(versions.length + 1);
  expect(events.map(({ object }) => Number(object.metadata.resourceVersion))).toEqual([...versions, now]);
  watch.close();
});
