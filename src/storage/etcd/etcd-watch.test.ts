import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchStream } from './etcd-watch.ts';
import { KeySpace } from './key-space.ts';
import type { Member } from './member.ts';
import type { Members } from './members.ts';
import type { EtcdWatchRequest, EtcdWatchResponse } from './messages.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => vi.useRealTimers());

const response = (fields: Partial<EtcdWatchResponse>): EtcdWatchResponse => ({
  header: { revision: 1 } as EtcdWatchResponse['header'],
  created: false,
  canceled: false,
  compactRevision: 0,
  cancelReason: '',
  fragment: false,
  events: [],
  ...fields,
});

/** A watch at a member whose responses the test sends. */
function openWatch({ deadMs = 5_000, head = 9 } = {}) {
  const requests: EtcdWatchRequest[] = [];
  const answers = new PassThrough({ objectMode: true });
  const stream = Object.assign(answers, {
    write: (request: EtcdWatchRequest) => requests.push(request),
    cancel: () => answers.destroy(),
  });
  const member = { address: 'etcd:2379' } as unknown as Member;
  const members = { stream: async () => ({ stream, member }), failed: () => {} } as unknown as Members;
  const stop = new AbortController();
  const watch = watchStream({
    members,
    space: new KeySpace('/x', 0),
    head: { revision: head, onAdvance: () => () => {} },
    prefix: '/a/',
    after: 3,
    signal: stop.signal,
    prefer: undefined,
    onOpen: () => {},
    deadMs,
    onAnswer: () => {},
  });
  const send = (fields: Partial<EtcdWatchResponse>): void => void answers.push(response(fields));
  return { watch, requests, send, stop };
}

it('requests progress only after the member has sent the id of the watch', async () => {
  // Before, etcd holds back the events of the watch, and a progress report would overtake them.
  const { watch, requests, send, stop } = openWatch();
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(requests.map((request) => Object.keys(request))).toEqual([['create']]);
  send({ created: true });
  await vi.advanceTimersByTimeAsync(100);
  expect(requests.slice(1).every((request) => request.progress !== undefined)).toBe(true);
  expect(requests.length).toBeGreaterThan(1);
  send({ header: { revision: 9 } as EtcdWatchResponse['header'] });
  expect(await first).toEqual({ done: false, value: { changes: [], revision: 9 } });
  stop.abort();
  await watch.return();
});

it('gives up a member that never sends the id of the watch', async () => {
  const { watch } = openWatch();
  const first = expect(watch.next()).rejects.toThrow('the member etcd:2379 does not answer');
  await vi.advanceTimersByTimeAsync(20_000);
  await first;
});

it('B30: leaves a member within a second of silence, also when nothing is written', async () => {
  const { watch, send } = openWatch({ deadMs: 450, head: 3 });
  const first = watch.next();
  const failed = expect(first).rejects.toThrow('the member etcd:2379 does not answer');
  send({ created: true });
  await vi.advanceTimersByTimeAsync(500);
  let isOver = false;
  void first.catch(() => {
    isOver = true;
  });
  // A sign of life, and the member hangs.
  send({ header: { revision: 3 } as EtcdWatchResponse['header'] });
  await vi.advanceTimersByTimeAsync(450);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(500);
  expect(isOver).toBe(true);
  await failed;
});

it('B30: a pause of this process is not the silence of the member', async () => {
  const { watch, requests, send, stop } = openWatch({ deadMs: 450, head: 3 });
  const first = watch.next();
  send({ created: true });
  await vi.advanceTimersByTimeAsync(400);
  expect(requests.at(-1)?.progress).toBeDefined();
  // The answer is there, and this process is stopped for ten seconds before it can read it.
  const now = performance.now.bind(performance);
  const paused = vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
  await vi.advanceTimersByTimeAsync(50);
  send({ header: { revision: 5 } as EtcdWatchResponse['header'] });
  expect(await first).toEqual({ done: false, value: { changes: [], revision: 5 } });
  paused.mockRestore();
  stop.abort();
  await watch.return();
});
