import { expect, test } from 'vitest';
import { endOfTick } from '../../lib/event-loop.ts';
import { createLogger } from '../logger.ts';
import { AuditLog } from './audit-log.ts';

/** A disk that does what the test says, one append at a time. */
function setUp(maxWaitingBytes?: number, stallMs?: number) {
  const appended: string[][] = [];
  const timers: (() => void)[] = [];
  const messages: string[] = [];
  let broken = false;
  let held: (() => void) | undefined;
  let holding = false;
  const file = {
    async append(bytes: Uint8Array): Promise<void> {
      if (holding) await new Promise<void>((resolve) => (held = resolve));
      held = undefined;
      if (broken) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      appended.push(Buffer.from(bytes).toString().trimEnd().split('\n'));
    },
    /** Waits for a write that has not returned, as a file handle does. */
    async close(): Promise<void> {
      if (held !== undefined) await new Promise(() => {});
    },
  };
  const log = new AuditLog({
    consequence: 'no tokens are issued until it can',
    file,
    logger: createLogger({ level: 'info', write: (line) => messages.push(JSON.parse(line).msg) }),
    later: (task) => timers.push(task),
    ...(maxWaitingBytes === undefined ? {} : { maxWaitingBytes }),
    ...(stallMs === undefined ? {} : { stallMs }),
  });
  return {
    log,
    appended,
    messages,
    timers,
    tick: () => timers.splice(0).forEach((task) => void task()),
    break: (now: boolean) => (broken = now),
    hold: () => (holding = true),
    letGo: () => {
      holding = false;
      held?.();
    },
  };
}

test('lines without a commit are collected', async () => {
  const { log, appended, tick } = setUp();
  log.write('a');
  log.write('b');
  expect(appended).toEqual([]);
  tick();
  await expect.poll(() => appended).toEqual([['a', 'b']]);
});

test('lines without a commit share one timer, and there is none after closing', async () => {
  const { log, appended, timers, tick } = setUp();
  for (let count = 0; count < 10; count++) log.write('a');
  expect(timers).toHaveLength(1);
  tick();
  await expect.poll(() => appended.flat()).toHaveLength(10);
  await log.close();
  log.write('late');
  expect(timers).toHaveLength(0);
});

test('A9: a commit right after another one is written without waiting for a timer', async () => {
  const { log, appended, timers } = setUp();
  await log.commit('1');
  await log.commit('2');
  expect([appended, timers]).toEqual([[['1'], ['2']], []]);
});

test('A9: lines that are written take no memory: neither commits nor lines are lost, however many there are', async () => {
  const { log, appended, tick } = setUp(100);
  for (let count = 1; count <= 50; count++) {
    log.write('x'.repeat(40));
    await log.commit('y'.repeat(40));
    tick();
  }
  expect(appended.flat()).toHaveLength(100);
  expect(log.counts).toEqual({ written: 100, lost: 0, failing: false });
});

test('A9: commits at the same time share one write to the disk, and lines keep their order', async () => {
  const { log, appended, hold, letGo } = setUp();
  hold();
  const first = log.commit('1');
  const others = ['2', '3', '4'].map((line) => log.commit(line));
  log.write('5');
  letGo();
  await Promise.all([first, ...others]);
  expect(appended.length).toBeLessThanOrEqual(2);
  expect(appended.flat()).toEqual(['1', '2', '3', '4', '5']);
});

/** One commit waits while a line is written; the client of that line sends its next request once it is answered. */
async function askAgain({ log, appended, hold, letGo }: ReturnType<typeof setUp>): Promise<string[][]> {
  hold();
  const again = log.commit('1').then(async () => {
    // The answer is sent in one tick of the event loop, and the next request arrives in the one after.
    await new Promise(setImmediate);
    return log.commit('3');
  });
  // Now the first is being written.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const waiting = log.commit('2');
  letGo();
  await Promise.all([again, waiting]);
  return appended;
}

test('A9: the next requests of clients that were answered share the next write with the commits that waited for it', async () => {
  expect(await askAgain(setUp())).toEqual([['1'], ['2', '3']]);
});

test('a write does not wait for a second tick while every tick ends with other work', async () => {
  let isBusy = true;
  const work = (): void => {
    if (isBusy) endOfTick.work(work);
  };
  work();
  expect(await askAgain(setUp())).toEqual([['1'], ['2'], ['3']]);
  isBusy = false;
});

test('A20: lines that come during a write are collected, and the next commit does not find a write of them begun', async () => {
  const { log, appended, timers, hold, letGo, tick } = setUp();
  hold();
  const first = log.commit('1');
  // Now the first is being written.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  log.write('refused 1');
  letGo();
  await first;
  await expect.poll(() => timers).toHaveLength(1);
  expect(appended).toEqual([['1']]);
  log.write('refused 2');
  await log.commit('2');
  expect(appended).toEqual([['1'], ['refused 1', 'refused 2', '2']]);
  tick();
  log.write('refused 3');
  await log.close();
  expect(appended.flat().at(-1)).toBe('refused 3');
});

test('A9: a commit does not resolve before its line is durable', async () => {
  const { log, hold, letGo } = setUp();
  hold();
  let done = false;
  const committed = log.commit('1').then(() => {
    done = true;
  });
  await new Promise(setImmediate);
  expect(done).toBe(false);
  letGo();
  await committed;
});

test('A9: a full disk rejects commits, keeps other lines, and is tried again', async () => {
  const { log, appended, messages, timers, tick, break: setBroken } = setUp();
  setBroken(true);
  log.write('read');
  await expect(log.commit('token')).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(log.commit('token')).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(log.counts).toEqual({ written: 0, lost: 0, failing: true });
  expect(messages).toEqual(['the audit log cannot be written: no tokens are issued until it can']);
  setBroken(false);
  await expect.poll(() => timers.length).toBeGreaterThan(0);
  tick();
  await expect.poll(() => appended).toEqual([['read']]);
  await log.commit('token');
  expect(log.counts).toEqual({ written: 2, lost: 0, failing: false });
  expect(messages.at(-1)).toBe('the audit log can be written again');
});

test('A9: a write that does not return rejects commits, later ones at once, and its lines count when it returns', async () => {
  const { log, appended, messages, tick, hold, letGo } = setUp(undefined, 20);
  hold();
  log.write('read');
  const waiting = ['token 1', 'token 2'].map((line) => log.commit(line));
  for (const commit of waiting) await expect(commit).rejects.toThrow('takes longer than 20 ms');
  await expect(log.commit('token 3')).rejects.toThrow('takes no lines');
  log.write('refused');
  expect(log.counts).toEqual({ written: 0, lost: 0, failing: true });
  expect(messages).toEqual(['the audit log cannot be written: no tokens are issued until it can']);
  letGo();
  await expect.poll(() => log.counts.failing).toBe(false);
  tick();
  await expect.poll(() => appended.flat()).toEqual(['read', 'token 1', 'token 2', 'refused']);
  await log.commit('token 4');
  expect(log.counts).toEqual({ written: 5, lost: 0, failing: false });
});

test('A9: closing does not wait for a write that does not return', async () => {
  const { log, messages, hold } = setUp(undefined, 20);
  hold();
  log.write('read');
  await log.close();
  expect(messages.at(-1)).toBe('audit events were lost');
});

test('A9: commits that were rejected take no memory', async () => {
  const { log, break: setBroken } = setUp(100);
  setBroken(true);
  for (let count = 0; count < 20; count++) {
    await expect(log.commit('x'.repeat(40))).rejects.toMatchObject({ code: 'ENOSPC' });
  }
  setBroken(false);
  await log.commit('x'.repeat(40));
  expect(log.counts).toEqual({ written: 1, lost: 0, failing: false });
});

test('while it cannot be written, its memory is bounded', async () => {
  const { log, break: setBroken } = setUp(100);
  setBroken(true);
  for (let count = 0; count < 50; count++) log.write('x'.repeat(10));
  expect(log.counts.lost).toBe(40);
  await expect(log.commit('token')).rejects.toThrow('too many audit events are waiting');
  setBroken(false);
  await log.close();
  expect(log.counts).toEqual({ written: 10, lost: 40, failing: false });
});

test.each([1, 1_500])('closing writes the %i lines that are left', async (count) => {
  const { log, appended, messages } = setUp();
  for (let written = 0; written < count; written++) log.write('a');
  await log.close();
  expect([appended.flat().length, messages]).toEqual([count, []]);
  for (const lines of appended) expect(lines.length).toBeLessThanOrEqual(1_000);
});

test('B20: time in which the event loop is blocked does not count for the disk', async () => {
  const { log, appended, messages, hold, letGo } = setUp(undefined, 20);
  hold();
  const committed = log.commit('1');
  await new Promise(setImmediate);
  const until = performance.now() + 60;
  while (performance.now() < until);
  // The disk has answered meanwhile; the answer is read after the timers.
  setImmediate(letGo);
  await committed;
  expect([appended, messages]).toEqual([[['1']], []]);
});
