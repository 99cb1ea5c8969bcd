import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRequestDeadlines, type RequestDeadline } from './request-deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** An answer that is first in line on its connection, or one that waits behind another. */
function start({ pipelined = false } = {}) {
  const start = createRequestDeadlines({ servingMs: 100, unreadMs: 50, now: () => Date.now() });
  const socket = new Socket();
  const res = new ServerResponse(new IncomingMessage(socket));
  if (!pipelined) res.assignSocket(socket);
  let timeouts = 0;
  const deadline: RequestDeadline = start(res, () => {
    timeouts += 1;
    deadline.respond({ isWatch: false });
  });
  return { deadline, res, socket, timeouts: () => timeouts };
}

describe('the deadline of a request', () => {
  it('T-35: is the time to serve it, and then the time to read the answer', () => {
    const { deadline, socket, timeouts } = start();
    expect([deadline.state, deadline.isOpen]).toEqual(['serving', true]);
    vi.advanceTimersByTime(99);
    expect(timeouts()).toBe(0);
    vi.advanceTimersByTime(1);
    expect([timeouts(), deadline.state, deadline.isOpen]).toEqual([1, 'responding', false]);
    vi.advanceTimersByTime(99);
    expect(socket.timeout ?? 0).toBe(0);
    vi.advanceTimersByTime(1);
    expect(socket.timeout).toBe(50);
    expect(timeouts()).toBe(1);
  });

  it('T-35: is not prolonged by an answer', () => {
    const { deadline, socket } = start();
    vi.advanceTimersByTime(60);
    deadline.respond({ isWatch: false });
    vi.advanceTimersByTime(40);
    expect(socket.timeout).toBe(50);
  });

  it('C-07: is shorter when the client says so, and never longer', () => {
    const short = start();
    short.deadline.shorten(10);
    const long = start();
    long.deadline.shorten(1_000);
    const none = start();
    none.deadline.shorten(0);
    vi.advanceTimersByTime(10);
    expect([short.timeouts(), long.timeouts(), none.timeouts()]).toEqual([1, 0, 0]);
    vi.advanceTimersByTime(90);
    expect([short.timeouts(), long.timeouts(), none.timeouts()]).toEqual([1, 1, 1]);
  });

  it('C-07: is the first of several timeouts, and none is left when it is over', () => {
    const { deadline, timeouts } = start();
    deadline.shorten(50);
    deadline.shorten(10);
    deadline.shorten(30);
    vi.advanceTimersByTime(10);
    expect(timeouts()).toBe(1);
    const ended = start();
    ended.deadline.shorten(20);
    ended.deadline.shorten(10);
    ended.deadline.end();
    vi.advanceTimersByTime(1_000);
    expect([timeouts(), ended.timeouts()]).toEqual([1, 0]);
  });

  it('V-17: is removed for a watch, and bounds what is left of it when it has ended', () => {
    const { deadline, res, socket, timeouts } = start();
    deadline.setUnbounded();
    vi.advanceTimersByTime(1_000);
    expect([deadline.state, deadline.respond({ isWatch: true }), deadline.state]).toEqual([
      'unbounded',
      true,
      'unbounded',
    ]);
    vi.advanceTimersByTime(1_000);
    expect(timeouts()).toBe(0);
    res.emit('prefinish');
    expect(deadline.state).toBe('responding');
    vi.advanceTimersByTime(100);
    expect(socket.timeout).toBe(50);
  });

  it('V-17: is removed by the answer of a watch', () => {
    const { deadline, timeouts } = start();
    expect([deadline.respond({ isWatch: true }), deadline.state]).toEqual([true, 'unbounded']);
    vi.advanceTimersByTime(1_000);
    expect(timeouts()).toBe(0);
  });
});
