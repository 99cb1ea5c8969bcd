import { afterEach, describe, expect, it, vi } from 'vitest';
import { gone, unauthorized } from '../../api/status.ts';
import { Client, EVERYTHING, NOTHING, Stage } from './watch.fixture.ts';

let stages: Stage[] = [];
function newStage(bookmarkIntervalMs = 3_600_000): Stage {
  const stage = new Stage(bookmarkIntervalMs);
  stages.push(stage);
  return stage;
}
afterEach(() => {
  for (const { broadcaster } of stages) broadcaster.shutDown();
  stages = [];
});

describe('events that arrive together', () => {
  it('are told in order, each under the rules of its moment', () => {
    const stage = newStage();
    const client = new Client();
    stage.watch(client).startAfter(0);
    stage.batch(() => {
      stage.write('a');
      stage.write('b');
      stage.allow((name) => name === 'b');
      stage.write('a');
      stage.write('b');
      stage.allow(EVERYTHING);
      stage.write('c');
      stage.allow(NOTHING);
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

  it('are told from the middle on to who knows the first of them', () => {
    const stage = newStage();
    stage.batch(() => stage.writeAll(['a', 'b', 'c', 'd', 'e']));
    const client = new Client();
    stage.watch(client).startAfter(3);
    expect(client.events).toEqual(['ADDED d 4', 'ADDED e 5']);
    stage.batch(() => stage.write('a'));
    expect(client.events.slice(2)).toEqual(['MODIFIED a 6']);
  });

  it('V-11: are told from the middle on to who waited for it', () => {
    const stage = newStage();
    const client = new Client();
    stage.watch(client).startAfter(3);
    stage.batch(() => stage.write('a'));
    stage.batch(() => stage.writeAll(['b', 'c', 'd', 'e']));
    expect(client.events).toEqual(['ADDED d 4', 'ADDED e 5']);
  });

  it('end with the credential: what comes after is not heard', () => {
    const stage = newStage();
    const client = new Client();
    stage.watch(client).startAfter(0);
    stage.batch(() => {
      stage.write('a');
      stage.live = false;
      stage.write('home');
      stage.write('b');
    });
    expect(client.events).toEqual(['ADDED a 1', 'ERROR 401']);
    expect(client.ending).toBe('ended');
    expect(stage.broadcaster.size).toBe(0);
  });

  it('end with the permission: what comes after is not heard', () => {
    const stage = newStage();
    const client = new Client();
    stage.watch(client).startAfter(0);
    stage.batch(() => {
      stage.write('a');
      stage.refusal = unauthorized();
      stage.allow(EVERYTHING);
      stage.write('b');
    });
    expect(client.events).toEqual(['ADDED a 1', 'ERROR 401']);
  });
});

it('many clusters that come at once go out in one write', () => {
  const stage = newStage();
  const client = new Client();
  stage.watch(client).startAfter(0);
  const write = vi.spyOn(client, 'write');
  stage.batch(() => stage.writeAll(['a', 'b', 'c']));
  expect(client.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3']);
  expect(write).toHaveBeenCalledTimes(1);
});

describe('B14: a client that is slow', () => {
  it('and takes nothing for half a minute while it catches up is cut', () => {
    vi.useFakeTimers();
    try {
      const stage = newStage();
      stage.batch(() => stage.writeAll(['a', 'b', 'c', 'd'], 'x'.repeat(100_000)));
      const [still, slow] = [new Client(), new Client()];
      for (const client of [still, slow]) {
        client.reads = false;
        stage.watch(client).startAfter(0);
      }
      vi.advanceTimersByTime(29_000);
      slow.read();
      vi.advanceTimersByTime(2_000);
      expect([still.ending, slow.ending]).toEqual(['cut', 'open']);
      expect(stage.broadcaster.size).toBe(1);
      vi.advanceTimersByTime(60_000);
      expect(slow.ending).toBe('open');
    } finally {
      vi.useRealTimers();
    }
  });

  it('is not judged by how much comes at once', () => {
    const stage = newStage();
    const client = new Client();
    stage.watch(client).startAfter(0);
    client.reads = false;
    stage.batch(() => {
      for (let count = 0; count < 3_000; count++) stage.write('a', 'x'.repeat(1_000));
    });
    client.read();
    stage.batch(() => stage.write('a'));
    expect(client.ending).toBe('open');
    expect(client.events).toHaveLength(3_001);
  });

  it.each([
    ['a thousand events', 1_001, ''],
    ['a mebibyte', 18, 'x'.repeat(60_000)],
  ])('is cut when it is more than %s behind, and costs no more from then on', (_, writes, note) => {
    const stage = newStage();
    const [slow, quick] = [new Client(), new Client()];
    for (const client of [slow, quick]) stage.watch(client).startAfter(0);
    slow.reads = false;
    for (let count = 0; count < writes; count++) stage.batch(() => stage.write('a', note));
    expect(slow.ending).toBe('open');
    stage.batch(() => stage.write('a', note));
    expect(slow.ending).toBe('cut');
    expect(stage.broadcaster.size).toBe(1);
    stage.batch(() => stage.write('a', note));
    // Of all the rest it was given nothing: that waited where it is shared.
    expect(slow.events).toHaveLength(1);
    expect(quick.events).toHaveLength(writes + 2);
  });

  it('reads the past at its own pace, and joins the present without gap or repetition', () => {
    const stage = newStage();
    const note = 'x'.repeat(50_000);
    stage.batch(() => {
      for (let count = 0; count < 100; count++) stage.write('a', note);
    });
    const client = new Client();
    client.reads = false;
    stage.watch(client).startAfter(0);
    expect(client.pending).toBeLessThan(300_000);
    stage.batch(() => stage.write('a', note));
    client.read();
    stage.batch(() => stage.write('a'));
    expect(client.ending).toBe('open');
    const versions = client.events.map((event) => Number(event.split(' ')[2]));
    expect(versions).toEqual(Array.from({ length: 102 }, (_, index) => index + 1));
  });

  it('is not shown what was hidden while it was reading', () => {
    const stage = newStage();
    const note = 'x'.repeat(50_000);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    stage.batch(() => stage.writeAll(names, note));
    const client = new Client();
    client.reads = false;
    stage.watch(client).startWithState(stage.cache.current.copy(), 6, false);
    expect(client.events).toEqual(['ADDED a 1', 'ADDED b 2', 'ADDED c 3']);
    stage.batch(() => stage.allow((name) => name === 'a' || name === 'f'));
    client.read();
    expect(client.events.slice(3)).toEqual(['ADDED f 6', 'DELETED b 6', 'DELETED c 6', 'DELETED d 6', 'DELETED e 6']);
    stage.batch(() => stage.writeAll(names));
    expect(client.events.slice(8)).toEqual(['MODIFIED a 8', 'MODIFIED f 13']);
  });
});

it('V-08: bookmarks come from time to time, to who wants them', async () => {
  const stage = newStage(1);
  const [plain, marked] = [new Client(), new Client()];
  stage.watch(plain).startAfter(0);
  stage.watch(marked, { bookmarks: true }).startAfter(0);
  stage.batch(() => stage.write('a'));
  await vi.waitUntil(() => marked.events.includes('BOOKMARK undefined 1'));
  expect(plain.events).toEqual(['ADDED a 1']);
});

it('V-10: what is no longer known can not be resumed from', () => {
  const stage = newStage();
  stage.batch(() => stage.write('a'));
  const client = new Client();
  const turns = (): never => {
    throw gone('too old resource version');
  };
  stage.watch(client, { turns }).startAfter(0);
  expect(client.events).toEqual(['ERROR 410']);
  expect(client.ending).toBe('ended');
  expect(stage.broadcaster.size).toBe(0);
});
