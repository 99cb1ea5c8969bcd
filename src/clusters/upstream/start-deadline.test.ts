import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeadline } from './start-deadline.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a deadline', () => {
  it('aborts at the deadline, with hasPassed', () => {
    const { signal, hasPassed } = startDeadline(1_000, undefined);
    vi.advanceTimersByTime(999);
    expect([signal.aborted, hasPassed()]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([signal.aborted, hasPassed(), (signal.reason as Error).name]).toEqual([true, true, 'TimeoutError']);
  });

  it('aborts with the signal of the caller, for its reason', () => {
    const by = new AbortController();
    const { signal, hasPassed } = startDeadline(1_000, by.signal);
    const reason = new Error('gone');
    by.abort(reason);
    vi.advanceTimersByTime(2_000);
    expect([signal.reason, hasPassed()]).toEqual([reason, false]);
  });

  it('is aborted from the start with an aborted signal', () => {
    const { signal } = startDeadline(1_000, AbortSignal.abort(new Error('gone')));
    expect(signal.aborted).toBe(true);
  });

  it('leaves no timer and no listener when the work is done', () => {
    const by = new AbortController();
    const { signal, clear } = startDeadline(1_000, by.signal);
    clear();
    expect(vi.getTimerCount()).toBe(0);
    by.abort();
    expect(signal.aborted).toBe(false);
  });
});
