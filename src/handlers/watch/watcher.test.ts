import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { unauthorized } from '../../api/status.ts';
import { Client, EVERYTHING, NOTHING, WatchHarness } from './watch.fixture.ts';

let harnesses: WatchHarness[] = [];
function newHarness(...options: Partial<ConstructorParameters<typeof WatchHarness>>): WatchHarness {
  const [bookmarkIntervalMs = 3_600_000, memory] = options;
  const harness = new WatchHarness(bookmarkIntervalMs, memory);
  harnesses.push(harness);
  return harness;
}
afterEach(() => {
  for (const { broadcaster } of harnesses) broadcaster.shutDown();
  harnesses = [];
});

describe('events that arrive together', () => {
  it('are sent in order, each under the rules of its revision', () => {
    const harness = newHarness();
    const client = new Client();
    harness.watch(client).startAfter(0);
    harness.batch(() => {
      harness.write('a');
      harness.write('b');
      harness.allow((name) => name === 'b');
      harness.write('a');
      harness.write('b');
      harness.allow(EVERYTHING);
      harness.write('c');
      harness.allow(NOTHING);
    });
    expect(client.events).toEqual([
      'ADDED a 1',
      'ADDED b 2',
      'DELETED a 2',
      'MODIFIED b 5',
      'ADDED a 4',
      'ADDED c 7',
      'DELETED a 7',
      'DELETED b 7',
      'DELETED c 7',
    ]);
  });

  it('are sent from the resource version of the client on', () => {
    const harness = newHarness();
    harness.batch(() => harness.writeAll(['a', 'b', 'c', 'd', 'e']));
    const client = new Client();
    harness.watch(client).startAfter(3);
    expect(client.events).toEqual(['ADDED d 4', 'ADDED e 5']);
    harness.batch(() => harness.write('a'));
    expect(client.events.slice(2)).toEqual(['MODIFIED a 6']);
  });

  it('V-11: are sent from a resource version in the future on', () => {
    const harness = newHarness();
    const client = new Client();
    harness.watch(client).startAfter(3);
    harness.batch(() => harness.write('a'));
    harness.batch(() => harness.writeAll(['b', 'c', 'd', 'e']));
    expect(client.events).toEqual(['ADDED d 4', 'ADDED e 5']);
  });

  it('end with the credential: later events are not sent', () => {
    const harness = newHarness();
    const client = new Client();
    harness.watch(client).startAfter(0);
    harness.batch(() => {
      harness.write('a');
      harness.live = false;
      harness.write('home');
      harness.write('b');
    });
    expect(client.events).toEqual(['ADDED a 1', 'ERROR 401']);
    expect(client.ending).toBe('ended');
    expect(harness.broadcaster.size).toBe(0);
  });

  it('end with the permission: later events are not sent', () => {
    const harness = newHarness();
    const client = new Client();
    harness.watch(client).startAfter(0);
    harness.batch(() => {
      harness.write('a');
      harness.refusal = unauthorized();
      harness.allow(EVERYTHING);
      harness.write('b');
    });
    expect(client.events).toEqual(['ADDED a 1', 'ERROR 401']);
  });
});

it('a watch that cannot be written fails alone', () => {
  const harness = newHarness();
  harness.batch(() => harness.writeAll(['a', 'b']));
  const [first, broken, last] = [new Client(), new Client(), new Client()];
  for (const client of [first, broken, last]) harness.watch(client).startAfter(2);
  broken.writeShared = () => {
    throw new RangeError('cannot be encoded');
  };
  harness.batch(() => harness.write('a'));
  harness.batch(() => harness.write('b'));
  expect(broken.ending).toBe('failed');
  for (const client of [first, last]) {
    expect(client.ending).toBe('open');
    expect(client.events).toEqual(['MODIFIED a 3', 'MODIFIED b 4']);
  }
  expect(harness.broadcaster.size).toBe(2);
});

describe('B14: a slow client', () => {
  it('is disconnected when it reads nothing for half a minute while it catches up', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const harness = newHarness();
    harness.batch(() => harness.writeAll(['a', 'b', 'c', 'd'], 'x'.repeat(100_000)));
    const [still, slow] = [new Client(), new Client()];
    for (const client of [still, slow]) {
      client.reads = false;
      harness.watch(client).startAfter(0);
    }
    vi.advanceTimersByTime(29_000);
    slow.read();
    vi.advanceTimersByTime(2_000);
    expect([still.ending, slow.ending]).toEqual(['destroyed', 'open']);
    expect(harness.broadcaster.size).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(slow.ending).toBe('open');
  });

  it('is not disconnected because of a burst', () => {
    const harness = newHarness();
    const client = new Client();
    harness.watch(client).startAfter(0);
    client.reads = false;
    harness.batch(() => {
      for (let count = 0; count < 3_000; count++) harness.write('a', 'x'.repeat(1_000));
    });
    client.read();
    harness.batch(() => harness.write('a'));
    expect(client.ending).toBe('open');
    expect(client.events).toHaveLength(3_001);
  });

  it.each([
    ['a thousand events', 1_001, ''],
    ['a mebibyte', 18, 'x'.repeat(60_000)],
  ])('is disconnected when it is more than %s behind, and is sent nothing from then on', (_, writes, note) => {
    const harness = newHarness();
    const [slow, quick] = [new Client(), new Client()];
    for (const client of [slow, quick]) harness.watch(client).startAfter(0);
    slow.reads = false;
    for (let count = 0; count < writes; count++) harness.batch(() => harness.write('a', note));
    expect(slow.ending).toBe('open');
    harness.batch(() => harness.write('a', note));
    expect(slow.ending).toBe('destroyed');
    expect(harness.broadcaster.size).toBe(1);
    harness.batch(() => harness.write('a', note));
    // The rest was never written: it waited in the shared batches.
    expect(slow.events).toHaveLength(1);
    expect(quick.events).toHaveLength(writes + 2);
  });

  it('catches up as fast as it reads, and goes live without gap or repetition', () => {
    const harness = newHarness();
    const note = 'x'.repeat(50_000);
    harness.batch(() => {
      for (let count = 0; count < 100; count++) harness.write('a', note);
    });
    const client = new Client();
    client.reads = false;
    harness.watch(client).startAfter(0);
    expect(client.pending).toBeLessThan(300_000);
    harness.batch(() => harness.write('a', note));
    client.read();
    harness.batch(() => harness.write('a'));
    expect(client.ending).toBe('open');
    const versions = client.events.map((event) => Number(event.split(' ')[2]));
    expect(versions).toEqual(Array.from({ length: 102 }, (_, index) => index + 1));
  });

  it.each(['live', 'catching up'])(
    'gets the rest of a long frame before the error that ends the watch: %s',
    (state) => {
      const harness = newHarness();
      const note = 'x'.repeat(500_000);
      const client = new Client();
      client.reads = false;
      const write = (): void => harness.batch(() => harness.writeAll(['a', 'b'], note));
      if (state === 'catching up') write();
      const watcher = harness.watch(client);
      watcher.startAfter(0);
      if (state === 'live') write();
      expect(client.pending).toBeLessThan(200_000);
      watcher.expire();
      expect([client.pending < 200_000, client.ending]).toEqual([true, 'open']);
      write();
      client.read();
      expect(client.events).toEqual(['ADDED a 1', 'ERROR 410']);
      expect([client.ending, harness.broadcaster.size]).toEqual(['ended', 0]);
    },
  );

  it('is disconnected when it takes nothing of a watch that has ended', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const harness = newHarness();
    const client = new Client();
    const watcher = harness.watch(client);
    watcher.startAfter(0);
    client.reads = false;
    harness.batch(() => harness.write('a'));
    watcher.expire();
    vi.advanceTimersByTime(29_000);
    expect(client.ending).toBe('open');
    vi.advanceTimersByTime(2_000);
    expect([client.ending, harness.broadcaster.size]).toEqual(['destroyed', 0]);
  });

  it('lists again when its permissions change while it reads', () => {
    const harness = newHarness();
    const note = 'x'.repeat(50_000);
    harness.batch(() => harness.writeAll(['a', 'b', 'c', 'd', 'e', 'f'], note));
    const client = new Client();
    client.reads = false;
    harness.watch(client).startWithState(harness.cache.current.copy(), 6, { marksEnd: false });
    expect(client.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3']);
    harness.batch(() => harness.allow((name) => name === 'a' || name === 'f'));
    client.read();
    expect([client.events.slice(3), client.ending]).toEqual([['ERROR 410'], 'ended']);
  });

  it('is not shown events of objects that were hidden before it read them', () => {
    const harness = newHarness();
    const client = new Client();
    const watcher = harness.watch(client);
    watcher.startAfter(0);
    client.reads = false;
    harness.batch(() => harness.writeAll(['a'], 'x'.repeat(50_000)));
    harness.batch(() => harness.write('b'));
    harness.batch(() => harness.allow((name) => name === 'a'));
    client.read();
    expect([client.events, client.ending]).toEqual([['ADDED a 1', 'ERROR 410'], 'ended']);
  });
});

describe('FA-3: clients that do not read', () => {
  /** Each connection takes one of them before it is full. */
  const note = 'x'.repeat(60_000);

  it('end with 410 beyond the memory of their caller, those first that hold most; watches of others go on', () => {
    const harness = newHarness(3_600_000, { perFlow: 5 * 60_000 });
    const clients = Array.from({ length: 8 }, () => new Client());
    const other = new Client();
    for (const client of clients) {
      client.reads = false;
      harness.watch(client).startAfter(0);
    }
    const plain = harness.watch(new Client()).caller;
    harness.watch(other, { caller: { ...plain, flow: 'another flow' } }).startAfter(0);
    harness.batch(() => harness.write('a', note));
    // What waits in a connection is its own: four events of 60 KB are below the limit, the fifth is not.
    expect(harness.memory.usage.givenUp).toBe(4);
    for (let count = 0; count < 5; count++) harness.batch(() => harness.write('a'));
    expect(harness.memory.usage.givenUp).toBe(4);
    for (const client of clients) client.read();
    const ends = clients.map(({ events, ending }) => [events.at(-1), ending]);
    expect(ends.filter(([last]) => last === 'ERROR 410')).toEqual(Array(4).fill(['ERROR 410', 'ended']));
    expect(ends.filter(([last]) => last === 'MODIFIED a 6')).toEqual(Array(4).fill(['MODIFIED a 6', 'open']));
    expect([other.events.length, other.ending]).toEqual([6, 'open']);
    expect(harness.memory.usage.bytes).toBe(0);
  });

  it('share what waits for them: it counts once', () => {
    const harness = newHarness(3_600_000, { perFlow: 3_000_000 });
    const clients = Array.from({ length: 100 }, () => new Client());
    for (const client of clients) harness.watch(client).startAfter(0);
    harness.batch(() => harness.write('a'));
    for (const client of clients) client.reads = false;
    harness.batch(() => harness.write('a'));
    for (let count = 0; count < 10; count++) harness.batch(() => harness.write('a', note));
    expect(harness.memory.usage.bytes).toBeGreaterThan(600_000);
    expect(harness.memory.usage.bytes).toBeLessThan(700_000);
    for (const client of clients) client.read();
    expect([harness.memory.usage.bytes, harness.broadcaster.size]).toEqual([0, 100]);
  });

  it('hold what is left of a long frame, and lose their connection in the midst of it', () => {
    const harness = newHarness(3_600_000, { perFlow: 1_500_000 });
    harness.batch(() => harness.write('a', 'x'.repeat(1_000_000)));
    const clients = [new Client(), new Client()];
    const usage = clients.map((client) => {
      client.reads = false;
      harness.watch(client).startWithState(harness.cache.current, 1, { marksEnd: false });
      return harness.memory.usage.bytes;
    });
    expect(usage[0]).toBeGreaterThan(1_000_000);
    // The relief of the account comes before the second one has returned.
    expect(usage[1]).toBe(usage[0]);
    expect(clients.map(({ ending }) => ending).sort()).toEqual(['destroyed', 'open']);
  });

  it('give back what they held when they leave, or the server ends', () => {
    const harness = newHarness();
    const watchers = Array.from({ length: 4 }, () => {
      const client = new Client();
      client.reads = false;
      const watcher = harness.watch(client);
      watcher.startAfter(0);
      return watcher;
    });
    for (let count = 0; count < 3; count++) harness.batch(() => harness.write('a', note));
    expect(harness.memory.usage.bytes).toBeGreaterThan(300_000);
    watchers[0]?.disconnect();
    watchers[1]?.expire();
    watchers[2]?.giveUp();
    harness.broadcaster.shutDown();
    for (const watcher of watchers) watcher.disconnect();
    expect([harness.memory.usage.bytes, harness.memory.size]).toEqual([0, 0]);
  });
});

it('V-08: bookmarks are sent in intervals to watches that allow them', async () => {
  const harness = newHarness(1);
  const [plain, marked] = [new Client(), new Client()];
  harness.watch(plain).startAfter(0);
  harness.watch(marked, { bookmarks: true }).startAfter(0);
  harness.batch(() => harness.write('a'));
  await vi.waitUntil(() => marked.events.includes('BOOKMARK undefined 1'));
  expect(plain.events).toEqual(['ADDED a 1']);
});

it('V-10: a watch from before a change of its permissions ends with 410, and another resumes', () => {
  const harness = newHarness();
  harness.batch(() => {
    harness.write('a');
    harness.allow((name) => name === 'a');
    harness.write('a');
  });
  const [old, recent] = [new Client(), new Client()];
  harness.watch(old).startAfter(1);
  harness.watch(recent).startAfter(2);
  expect([old.events, recent.events]).toEqual([['ERROR 410'], ['MODIFIED a 3']]);
  expect([old.ending, recent.ending]).toEqual(['ended', 'open']);
  expect(harness.broadcaster.size).toBe(1);
});

describe('a permission that time has ended', () => {
  const ended = () => {
    const harness = newHarness();
    harness.batch(() => harness.writeAll(['a', 'b']));
    const client = new Client();
    harness.watch(client).startAfter(2);
    harness.steadyUntil = 1_000;
    harness.expireTo((name) => name === 'a');
    const pass = (time: number): void => {
      harness.time = time;
      vi.advanceTimersByTime(1_000);
    };
    return { harness, client, pass };
  };

  it('is followed with the event of its deletion', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { harness, client, pass } = ended();
    pass(999);
    harness.batch(() => harness.allow((name) => name === 'a'));
    harness.steadyUntil = Number.POSITIVE_INFINITY;
    pass(5_000);
    harness.batch(() => harness.writeAll(['a', 'b']));
    expect(client.events).toEqual(['DELETED b 2', 'MODIFIED a 4']);
  });

  it('ends the watch if there is no such event, unless another one gives the same', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { client, pass } = ended();
    pass(1_000);
    expect([client.events, client.ending]).toEqual([['ERROR 410'], 'ended']);
    const same = newHarness();
    const other = new Client();
    same.watch(other).startAfter(0);
    same.steadyUntil = 0;
    vi.advanceTimersByTime(5_000);
    expect(other.ending).toBe('open');
  });
});
