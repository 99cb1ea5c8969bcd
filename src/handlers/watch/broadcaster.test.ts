import { afterEach, describe, expect, it } from 'vitest';
import { unauthorized } from '../../api/status.ts';
import { Client, EVERYTHING, NOTHING, WatchHarness } from './watch.fixture.ts';

/** A harness whose event loop and clock are moved by the test. */
class TickHarness extends WatchHarness {
  readonly #deferred: (() => void)[] = [];
  override defer = (run: () => void): void => void this.#deferred.push(run);
  /** Each read of the clock is half a millisecond after the last. */
  #time = 0;
  override now = (): number => {
    this.#time += 0.5;
    return this.#time;
  };

  constructor() {
    super(3_600_000);
  }

  /** Runs one tick of the event loop; false when there was nothing to do in it. */
  tick(): boolean {
    const run = this.#deferred.shift();
    run?.();
    return run !== undefined;
  }
}

/** Counts the writes to the connection. */
class Counting extends Client {
  writes = 0;
  override write(frames: Uint8Array): boolean {
    this.writes++;
    return super.write(frames);
  }
}

let harness: TickHarness;
afterEach(() => harness.broadcaster.shutDown());

function watchers(count: number): Counting[] {
  return Array.from({ length: count }, () => {
    const client = new Counting();
    harness.watch(client).startAfter(0);
    return client;
  });
}

describe('the broadcaster', () => {
  it('writes to some watchers in each tick, and to all in the end', () => {
    harness = new TickHarness();
    const clients = watchers(12);
    harness.batch(() => harness.write('a'));
    expect(clients.map(({ writes }) => writes)).toEqual(Array(12).fill(0));
    harness.tick();
    const served = clients.filter(({ writes }) => writes === 1).length;
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThan(12);
    while (harness.tick());
    expect(clients.every(({ events }) => events.join() === 'ADDED a 1')).toBe(true);
  });

  it('writes waiting events before a policy change, the end of a credential and the end of a watch', () => {
    harness = new TickHarness();
    const [first, second] = watchers(2);
    harness.batch(() => {
      harness.writeAll(['a', 'b']);
      harness.allow((name) => name === 'b');
      harness.write('c');
    });
    while (harness.tick());
    harness.batch(() => harness.allow(EVERYTHING));
    while (harness.tick());
    for (const client of [first, second]) {
      expect(client?.events).toEqual(['ADDED a 1', 'ADDED b 2', 'DELETED a 2', 'ADDED a 1', 'ADDED c 4']);
    }
    harness.batch(() => harness.write('a'));
    harness.live = false;
    harness.broadcaster.checkCallers();
    expect(first?.events.slice(-2)).toEqual(['MODIFIED a 6', `ERROR ${unauthorized().status.code}`]);
    expect(first?.ending).toBe('ended');
  });

  it('sends the next event to a watcher whose view a policy change did not change', () => {
    harness = new TickHarness();
    const [client] = watchers(1);
    harness.batch(() => {
      harness.allow((name) => name !== 'other');
      harness.write('a');
    });
    harness.batch(() => harness.allow(NOTHING));
    while (harness.tick());
    expect(client?.events).toEqual(['ADDED a 2', 'DELETED a 2']);
  });

  it('does not disconnect a client because the server is late, until its buffer is too large', () => {
    harness = new TickHarness();
    const [client] = watchers(1);
    const mebibyte = (): void => harness.batch(() => harness.write('a', 'x'.repeat(1024 * 1024)));
    for (let count = 0; count < 4; count++) mebibyte();
    while (harness.tick());
    expect(client?.ending).toBe('open');
    expect(client?.events).toHaveLength(4);
    for (let count = 0; count < 12; count++) {
      mebibyte();
      mebibyte();
      harness.tick();
    }
    expect(client?.ending).toBe('destroyed');
  });
});
