import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { tooManyRequests } from '../../api/status.ts';
import { PriorityLevel, type PriorityLevelLimits, type PriorityLevelOptions, type Seat } from './priority-level.ts';

/** When a released seat is free. Most tests are about which request is next, not about when. */
const AT_ONCE = { afterTick: (act: () => void) => act() };

const open = (
  limits: PriorityLevelLimits,
  maxQueueWaitMs = 1_000,
  ticks: Pick<PriorityLevelOptions, 'afterTick'> = AT_ONCE,
): PriorityLevel =>
  new PriorityLevel({
    ...limits,
    maxQueueWaitMs,
    now: () => performance.now(),
    rejection: tooManyRequests('full', 1),
    ...ticks,
  });

/** A request that still waits when a test is over would be rejected later, in the middle of another test. */
function mustTakeSeat(level: PriorityLevel, who: string): Seat {
  const seat = level.takeSeat(who);
  if (seat === undefined) throw new Error('there is no seat');
  return seat;
}

/** Takes a seat, and notes in `log` when the request is dispatched. */
function enter(level: PriorityLevel, who: string, log: string[] = [], label = who): Seat {
  const seat = mustTakeSeat(level, who);
  onTestFinished(() => seat.release());
  if (seat.queued === undefined) log.push(label);
  else void seat.queued.then(() => log.push(label));
  return seat;
}

/** Lets promises that are resolved already call their listeners. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('B15: a level', () => {
  it('dispatches a newcomer at once beside a flow that takes all it can', () => {
    const level = open({ seats: 4, seatsPerFlow: 3, queueLengthPerFlow: 100 });
    const log: string[] = [];
    for (let i = 0; i < 50; i += 1) enter(level, 'greedy', log);
    enter(level, 'other', log);
    expect(log).toEqual(['greedy', 'greedy', 'greedy', 'other']);
    expect([level.usage.executing, level.usage.inQueue]).toEqual([4, 47]);
  });

  it('serves the callers of a flow round-robin, and keeps none of them out', async () => {
    const level = open({ seats: 2, seatsPerFlow: 1, queueLengthPerFlow: 3 });
    const log: string[] = [];
    const wait = (caller: string, flow = 'flow'): Seat | undefined => {
      const seat = level.takeSeat(flow, { key: caller });
      if (seat !== undefined) onTestFinished(() => seat.release());
      void seat?.queued?.then(() => {
        log.push(caller);
        seat.release();
      });
      return seat;
    };
    const first = wait('greedy');
    for (let i = 0; i < 3; i += 1) expect(wait('greedy')).toBeDefined();
    expect(wait('greedy')).toBeUndefined();
    expect(wait('second')).toBeDefined();
    expect(wait('second')).toBeUndefined();
    expect(wait('third')).toBeDefined();
    expect(level.usage).toMatchObject({ executing: 1, inQueue: 5 });
    wait('other', 'another flow');
    expect(level.usage).toMatchObject({ executing: 2, inQueue: 5 });
    first?.release();
    await settled();
    expect(log).toEqual(['greedy', 'second', 'third', 'greedy', 'greedy']);
  });

  it('rejects the flow whose queue is full, and no other', () => {
    const level = open({ seats: 2, seatsPerFlow: 1, queueLengthPerFlow: 2 });
    for (let i = 0; i < 3; i += 1) enter(level, 'greedy');
    expect(level.takeSeat('greedy')).toBeUndefined();
    expect(() => enter(level, 'other')).not.toThrow();
    expect(() => enter(level, 'third')).not.toThrow();
  });

  it('lets no request overtake those of its flow that wait', async () => {
    const limits = fc.record({
      seats: fc.integer({ min: 1, max: 6 }),
      seatsPerFlow: fc.integer({ min: 1, max: 4 }),
      queueLengthPerFlow: fc.integer({ min: 1, max: 4 }),
      dispatchesPerTick: fc.integer({ min: 1, max: 3 }),
    });
    const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c', 'tick'), fc.nat({ max: 20 })), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(limits, steps, async (given, script) => {
        const ticks: (() => void)[] = [];
        const level = open(given, 60_000, { afterTick: (act) => ticks.push(act) });
        const inside: Seat[] = [];
        const waiting = new Map<string, Set<Seat>>(['a', 'b', 'c'].map((flow) => [flow, new Set()]));
        for (const step of script) {
          if (step === 'tick') ticks.shift()?.();
          else if (typeof step === 'number') {
            for (const seat of inside.splice(step % Math.max(1, inside.length), 1)) {
              seat.release();
              for (const queue of waiting.values()) queue.delete(seat);
            }
          } else {
            const seat = level.takeSeat(step);
            const queue = waiting.get(step);
            if (seat === undefined) continue;
            expect(seat.queued === undefined && (queue?.size ?? 0) > 0).toBe(false);
            inside.push(seat);
            if (seat.queued !== undefined) queue?.add(seat);
            void seat.queued?.then(() => queue?.delete(seat));
          }
          await settled();
        }
        for (const seat of inside) seat.release();
        while (ticks.length > 0) ticks.shift()?.();
        expect(level.usage).toMatchObject({ executing: 0, inQueue: 0 });
      }),
      { numRuns: 100 },
    );
  });

  it('rejects a request that has waited too long, and dispatches the next', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const level = open({ seats: 1, seatsPerFlow: 1, queueLengthPerFlow: 5 }, 1_000);
    const first = mustTakeSeat(level, 'a');
    const late = mustTakeSeat(level, 'b');
    const rejected = expect(late.queued).rejects.toThrow('full');
    await vi.advanceTimersByTimeAsync(999);
    const fresh = mustTakeSeat(level, 'c');
    await vi.advanceTimersByTimeAsync(2);
    await rejected;
    late.release();
    expect(level.usage.rejected['time-out']).toBe(1);
    first.release();
    await expect(fresh.queued).resolves.toBeUndefined();
    expect([level.usage.executing, level.usage.inQueue]).toEqual([1, 0]);
  });

  it('never executes more than it may, never leaves a seat free while a request waits, and never loses one', () => {
    const limits = fc.record({
      seats: fc.integer({ min: 1, max: 6 }),
      seatsPerFlow: fc.integer({ min: 1, max: 4 }),
      queueLengthPerFlow: fc.integer({ min: 0, max: 4 }),
    });
    const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 20 })), { maxLength: 60 });
    fc.assert(
      fc.property(limits, steps, (given, script) => {
        const level = open(given, 60_000);
        const inside: Seat[] = [];
        for (const step of script) {
          if (typeof step === 'number') {
            for (const seat of inside.splice(step % Math.max(1, inside.length), 1)) seat.release();
            continue;
          }
          const seat = level.takeSeat(step);
          if (seat !== undefined) inside.push(seat);
          else {
            expect(given.queueLengthPerFlow === 0 || level.usage.inQueue >= given.queueLengthPerFlow).toBe(true);
          }
          expect(level.usage.executing).toBeLessThanOrEqual(given.seats);
          expect(level.usage.executing + level.usage.inQueue).toBe(inside.length);
          expect(level.usage.inQueue > 0 && level.usage.executing < Math.min(given.seats, given.seatsPerFlow)).toBe(
            false,
          );
        }
        for (const seat of inside) seat.release();
        expect([level.usage.executing, level.usage.inQueue]).toEqual([0, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
