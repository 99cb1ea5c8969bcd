import { expect, test } from 'vitest';
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

test('A9: a commit right after another one is written without waiting for a timer', async () => {
  const { log, appended, timers } = setUp();
  await log.commit('1');
  await log.commit('2');
  expect([appended, timers]).toEqual([[['1'], ['2']], []]);
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
