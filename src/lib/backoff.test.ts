import { describe, expect, it } from 'vitest';
import { pause, reconnectMs } from './backoff.ts';

describe('backoff', () => {
  it('is at most half a minute between two connections', () => {
    expect([0, 1, 20].map((failures) => reconnectMs(failures, () => 1))).toEqual([500, 1_000, 30_000]);
    expect(reconnectMs(20, () => 0)).toBe(15_000);
  });
});

describe('a pause', () => {
  it('takes its time', async () => {
    const start = performance.now();
    await pause(20);
    expect(performance.now() - start).toBeGreaterThan(15);
  });

  it('ends when the signal is aborted, and at once when it was aborted before', async () => {
    const stop = new AbortController();
    const paused = pause(60_000, { signal: stop.signal });
    stop.abort();
    await paused;
    await pause(60_000, { signal: stop.signal });
  });

  it('leaves no listener at the signal', async () => {
    const listeners = new Set<unknown>();
    const { signal } = new AbortController();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners.add(args[1]);
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners.delete(args[1]);
      removeEventListener.apply(signal, args);
    };
    const paused = pause(1, { signal });
    expect(listeners.size).toBe(1);
    await paused;
    expect(listeners.size).toBe(0);
  });
});
