import { afterEach, describe, expect, it } from 'vitest';
import { unauthorized } from '../../api/status.ts';
import { Client, EVERYTHING, NOTHING, Stage } from './watch.fixture.ts';

/** A stage whose turns of the event loop and whose clock are moved by hand. */
class Rounds extends Stage {
  readonly #turns: (() => void)[] = [];
  override later = (run: () => void): void => void this.#turns.push(run);
  /** Each look at the clock is half a millisecond later than the last. */
  #now = 0;
  override clock = (): number => {
    this.#now += 0.5;
    return this.#now;
  };

  constructor() {
    super(3_600_000);
  }

  /** One turn of the event loop; false when there was nothing to do in it. */
  turn(): boolean {
    const run = this.#turns.shift();
    run?.();
    return run !== undefined;
  }
}

/** Counts what is written, as a connection would see it. */
class Counting extends Client {
  writes = 0;
  override write(frames: Uint8Array): boolean {
    this.writes++;
    return super.write(frames);
  }
}

let stage: Rounds;
afterEach(() => stage.broadcaster.shutDown());

function watchers(count: number): Counting[] {
  return Array.from({ length: count }, () => {
    const client = new Counting();
    stage.watch(client).startAfter(0);
    return client;
  });
}

describe('watchers are written to in rounds', () => {
  it('some in each turn, and everybody in the end', () => {
    stage = new Rounds();
    const clients = watchers(12);
    stage.batch(() => stage.write('a'));
    expect(clients.map(({ writes }) => writes)).toEqual(Array(12).fill(0));
    stage.turn();
    const served = clients.filter(({ writes }) => writes === 1).length;
    expect(served).toBeGreaterThan(0);
    expect(served).toBeLessThan(12);
    while (stage.turn());
    expect(clients.every(({ events }) => events.join() === 'ADDED a 1')).toBe(true);
  });

  it('with all that has come since in one write', () => {
    stage = new Rounds();
    const clients = watchers(12);
    stage.batch(() => stage.write('a'));
    stage.turn();
    stage.batch(() => stage.writeAll(['b', 'c']));
    stage.batch(() => stage.write('d'));
    while (stage.turn());
    expect(new Set(clients.map(({ writes }) => writes))).toEqual(new Set([1, 2]));
    for (const { events } of clients) expect(events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3', 'ADDED d 4']);
  });

  it('and nothing overtakes what waits: a change of the rules, the end of a credential, the end of the watch', () => {
    stage = new Rounds();
    const [first, second] = watchers(2);
    stage.batch(() => {
      stage.writeAll(['a', 'b']);
      stage.allow((name) => name === 'b');
      stage.write('c');
      stage.allow(EVERYTHING);
    });
    while (stage.turn());
    for (const client of [first, second]) {
      expect(client?.events).toEqual(['ADDED a 1', 'ADDED b 2', 'DELETED a 2', 'ADDED a 1', 'ADDED c 4']);
    }
    stage.batch(() => stage.write('a'));
    stage.live = false;
    stage.broadcaster.checkCallers();
    expect(first?.events.slice(-2)).toEqual(['MODIFIED a 6', `ERROR ${unauthorized().status.code}`]);
    expect(first?.ending).toBe('ended');
  });

  it('a change of the rules that changes nothing for somebody does not keep them from what follows', () => {
    stage = new Rounds();
    const [client] = watchers(1);
    stage.batch(() => {
      stage.allow((name) => name !== 'other');
      stage.write('a');
    });
    stage.batch(() => stage.allow(NOTHING));
    while (stage.turn());
    expect(client?.events).toEqual(['ADDED a 2', 'DELETED a 2']);
  });

  it('who has much waiting gets it piece by piece, the others in between', () => {
    stage = new Rounds();
    const [first, second] = watchers(2);
    stage.batch(() => stage.writeAll(['a', 'b', 'c'], 'x'.repeat(80_000)));
    stage.turn();
    expect([first, second].map((client) => client?.events)).toEqual([['ADDED a 1'], ['ADDED a 1']]);
    while (stage.turn());
    for (const client of [first, second]) {
      expect(client?.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3']);
      expect(client?.writes).toBe(3);
    }
  });

  it('who has not taken a piece gets no other until then, and what is small goes out together', () => {
    stage = new Rounds();
    const [client] = watchers(1);
    if (client === undefined) throw new Error('nobody watches');
    client.reads = false;
    stage.batch(() => stage.write('a', 'x'.repeat(60_000)));
    while (stage.turn());
    for (const name of ['b', 'c', 'd']) stage.batch(() => stage.write(name));
    while (stage.turn());
    expect(client.writes).toBe(1);
    client.reads = true;
    client.read();
    while (stage.turn());
    expect(client.writes).toBe(2);
    expect(client.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3', 'ADDED d 4']);
  });

  it('whoever takes all it is given is not cut because we are late, until that is too much to keep', () => {
    stage = new Rounds();
    const [client] = watchers(1);
    const mebibyte = (): void => stage.batch(() => stage.write('a', 'x'.repeat(1024 * 1024)));
    for (let count = 0; count < 4; count++) mebibyte();
    while (stage.turn());
    expect(client?.ending).toBe('open');
    expect(client?.events).toHaveLength(4);
    for (let count = 0; count < 12; count++) {
      mebibyte();
      mebibyte();
      stage.turn();
    }
    expect(client?.ending).toBe('cut');
  });
});
