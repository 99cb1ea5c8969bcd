import { describe, expect, it } from 'vitest';
import { AMPLE } from '../http.fixture.ts';
import { createFlowControl, type FlowControl, isLargeBody, RejectionLimiter } from './flow-control.ts';

/** A released seat is free when the tick of the event loop is over. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const start = (now = 0): FlowControl => createFlowControl(AMPLE, () => now);

describe('B15: requests whose body is to be received', () => {
  it('that are rejected for their address do not count for their flow', async () => {
    const flowControl = start();
    const seats = Array.from({ length: 1_000 }, (_, i) => flowControl.startReceiving(`flow ${i % 10}`, 'address'));
    expect(seats).not.toContain(undefined);
    for (let i = 0; i < 200; i += 1) expect(flowControl.startReceiving('new', 'address')).toBeUndefined();
    await tick();
    expect(flowControl.usage().receiving.executing).toBe(1_000);
    expect(flowControl.startReceiving('new', 'other address')).toBeDefined();
    for (const seat of seats) seat?.release();
    await tick();
    const { receiving, 'receiving-address': ofAddress } = flowControl.usage();
    expect([receiving.executing, ofAddress.executing]).toEqual([1, 1]);
  });

  it('are bounded for all flows and addresses together', () => {
    const flowControl = start();
    const begin = (i: number) => flowControl.startReceiving(`flow ${i}`, `address ${i}`);
    for (let i = 0; i < 5_000; i += 1) expect(begin(i)).toBeDefined();
    expect(begin(5_000)).toBeUndefined();
  });

  it('are large when longer than 64 KiB', () => {
    expect([65_536, 65_537].map(isLargeBody)).toEqual([false, true]);
  });
});

describe('B15: a level', () => {
  it('of writes dispatches eight in a tick of the event loop: each is long', async () => {
    const flowControl = start();
    const seats = Array.from({ length: 20 }, (_, i) => flowControl.takeSeat('writes', `flow ${i}`));
    expect(seats.filter((seat) => seat?.queued === undefined)).toHaveLength(8);
    await Promise.all(seats.map((seat) => seat?.queued));
    const reads = Array.from({ length: 20 }, (_, i) => flowControl.takeSeat('reads', `flow ${i}`));
    expect(reads.filter((seat) => seat?.queued === undefined)).toHaveLength(20);
  });

  it.each(['health', 'public'] as const)('of %s bounds an address, and its queue', async (level) => {
    const flowControl = start();
    const seats = Array.from({ length: 1_100 }, () => flowControl.takeSeat(level, 'address'));
    expect(flowControl.usage()[level]).toMatchObject({ executing: 100, inQueue: 1_000 });
    expect(flowControl.takeSeat(level, 'address')).toBeUndefined();
    expect(flowControl.takeSeat(level, 'other address')?.queued).toBeUndefined();
    for (const seat of seats) seat?.release();
  });
});

describe('B15: rejections', () => {
  it('are delayed up to a number for each flow', () => {
    const flowControl = start();
    const all = Array.from({ length: 5_020 }, () => flowControl.delayRejection('reads', 'a'));
    expect(all).not.toContain(false);
    expect(flowControl.delayRejection('reads', 'a')).toBe(false);
  });
});

function startLimiter(maxDelayed = 2) {
  let now = 0;
  const wake: (() => void)[] = [];
  const delays: number[] = [];
  const limiter = new RejectionLimiter({
    perSecond: 2,
    burst: 2,
    maxDelayMs: 3_000,
    maxDelayed,
    now: () => now,
    sleep: (ms) => {
      delays.push(ms);
      return new Promise<void>((resolve) => wake.push(resolve));
    },
  });
  const log: string[] = [];
  const ask = async (flow: string): Promise<void> => {
    log.push(`${flow} ${(await limiter.wait(flow)) ? 'answered' : 'cut'}`);
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { limiter, ask, log, wake, delays, settled, later: (ms: number) => (now += ms) };
}

describe('B15: rejections', () => {
  it('are delayed up to a number: past that the connection is closed', async () => {
    const { ask, log, wake, settled } = startLimiter(1);
    for (let i = 0; i < 4; i += 1) void ask('a');
    await settled();
    expect(log).toEqual(['a answered', 'a answered', 'a cut']);
    for (const resume of wake) resume();
    await settled();
    void ask('a');
    await settled();
    expect(wake).toHaveLength(2);
    wake[1]?.();
  });
});
