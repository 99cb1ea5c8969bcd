import { describe, expect, it } from 'vitest';
import { AMPLE } from '../http.fixture.ts';
import { createFlowControl, type FlowControl, isLargeBody } from './flow-control.ts';

/** A released seat is free when the tick of the event loop is over. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How many rejections are sent at once before one is delayed. */
function sentAtOnce(delay: () => boolean | Promise<boolean>): number {
  let sent = 0;
  while (sent < 1_000 && delay() === true) sent += 1;
  return sent;
}

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
  it('of one flow at one level delay neither those of other levels nor those of other flows', () => {
    const flowControl = start();
    expect(sentAtOnce(() => flowControl.delayRejection('reads', 'a'))).toBe(20);
    expect(sentAtOnce(() => flowControl.delayRejection('writes', 'a'))).toBe(20);
    expect(sentAtOnce(() => flowControl.delayRejection('reads', 'b'))).toBe(20);
    expect(sentAtOnce(() => flowControl.delayUnauthorized('a'))).toBe(20);
  });

  it('are delayed up to a number for each flow', () => {
    const flowControl = start();
    const all = Array.from({ length: 5_020 }, () => flowControl.delayRejection('reads', 'a'));
    expect(all).not.toContain(false);
    expect(flowControl.delayRejection('reads', 'a')).toBe(false);
  });
});
