import { afterEach, describe, expect, it } from 'vitest';
import { sharedBeginning } from './beginnings.ts';
import { Client, Stage } from './watch.fixture.ts';

/** Keeps what it is given as it is. */
class Keeping extends Client {
  readonly given: Uint8Array[] = [];
  override write(frames: Uint8Array): boolean {
    this.given.push(frames);
    return super.write(frames);
  }
}

let stage: Stage;
afterEach(() => stage.hub.shutDown());

function begin(names: readonly string[], note?: string): void {
  stage = new Stage(3_600_000);
  stage.batch(() => stage.writeAll(names, note));
}

const watch = (marked = false): Keeping => {
  const client = new Keeping();
  stage.watch(client, { bookmarks: marked }).startWithState(stage.cache.present, stage.hub.revision, marked);
  return client;
};

describe('A18: what watches begin with', () => {
  it('is the same bytes for all who see the same, until something changes', () => {
    begin(['a', 'b']);
    const [first, second] = [watch(), watch()];
    expect(first.events).toEqual(['ADDED a 1', 'ADDED b 2']);
    expect(second.given[0]).toBe(first.given[0]);
    stage.batch(() => stage.write('a'));
    expect(first.events.slice(2)).toEqual(['MODIFIED a 3']);
    const third = watch();
    expect(third.events).toEqual(['ADDED a 3', 'ADDED b 2']);
    expect(third.given[0]).not.toBe(first.given[0]);
  });

  it('is something else for those who see something else', () => {
    begin(['a', 'b']);
    expect(watch().events).toEqual(['ADDED a 1', 'ADDED b 2']);
    stage.batch(() => stage.allow((name) => name === 'b'));
    expect(watch().events).toEqual(['ADDED b 2']);
    stage.batch(() => stage.allow(() => false));
    expect(watch().events).toEqual([]);
  });

  it('ends with the mark of those who want one, of the revision they began at', () => {
    begin(['a']);
    expect(watch().events).toEqual(['ADDED a 1']);
    expect(watch(true).events).toEqual(['ADDED a 1', 'BOOKMARK undefined 1']);
    stage.batch(() => stage.allow(() => true));
    expect(watch(true).events).toEqual(['ADDED a 1', 'BOOKMARK undefined 2']);
  });

  it('is not held for all when it is long, and told all the same', () => {
    begin(['a', 'b', 'c'], 'x'.repeat(30_000));
    const [first, second] = [watch(), watch()];
    expect(second.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3']);
    expect(second.given[0] === first.given[0]).toBe(false);
    expect(second.taken === first.taken).toBe(true);
  });

  it('is remembered for a few, and looked at once where it is too long', () => {
    begin(['a']);
    const { cache } = stage;
    let looks = 0;
    const of = (who: string, length: number): Buffer | undefined =>
      sharedBeginning(cache, cache.present, who, () => {
        looks += 1;
        return [Buffer.alloc(length)];
      });
    expect([of('long', 65_537), of('long', 65_537), looks]).toEqual([undefined, undefined, 1]);
    expect(of('short', 65_536)).toBe(of('short', 65_536));
    for (let i = 0; i < 16; i += 1) of(`${i}`, 1);
    of('short', 1);
    expect(looks).toBe(19);
  });
});
