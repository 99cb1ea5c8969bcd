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
afterEach(() => {
  vi.useRealTimers();
});

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
function openWatch() {
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
    head: { revision: 9, onAdvance: () => () => {} },
    prefix: '/a/',
    after: 3,
    signal: stop.signal,
    prefer: undefined,
    onOpen: () => {},
    deadMs: 5_000,
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
