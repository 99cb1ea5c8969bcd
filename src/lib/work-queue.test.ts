import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from './property-runs.fixture.ts';
import { WorkQueue } from './work-queue.ts';

/** What one tick has, beside the rest of the turn that passes it. */
const TICK_MS = 2;

interface Turn {
  readonly flow: string;
  readonly cost: number;
  readonly tick: number;
}

/** A queue with a clock that only work moves, and ticks that end when the test says so. */
function fakeLoop() {
  let now = 0;
  let tick = 0;
  let afterTick: (() => void)[] = [];
  const turns: Turn[] = [];
  const queue = new WorkQueue({ now: () => now, afterTick: (act) => afterTick.push(act) });
  return {
    queue,
    turns,
    /** A job that takes a turn for each of these costs. */
    async run(flow: string, costs: readonly number[], signal?: AbortSignal): Promise<void> {
      const work = queue.job(flow, signal && { signal });
      for (const cost of costs) {
        await work.turn();
        turns.push({ flow, cost, tick });
        now += cost;
      }
    },
    /** Everything that this tick has to do, then the next one. False when nothing waits for it. */
    async nextTick(idleMs = 0): Promise<boolean> {
      await new Promise(setImmediate);
      const acts = afterTick;
      afterTick = [];
      tick += 1;
      now += idleMs;
      for (const act of acts) act();
      await new Promise(setImmediate);
      return acts.length > 0;
    },
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
const costOf = fc.integer({ min: 1, max: 120 }).map((tenths) => tenths / 10);
/** Of one flow: the tick in which each of its jobs arrives, and their turns. */
const flowOf = fc.record({
  arrivals: fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 4 }),
  costs: fc.array(costOf, { minLength: 1, maxLength: 25 }),
});

describe('the work queue', () => {
  it('A19, FA-1: gives no tick more than its share, and each waiting flow as much as every other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(flowOf, { minLength: 2, maxLength: 5 }), async (flows) => {
        const loop = fakeLoop();
        const done: Promise<void>[] = [];
        /** Turns that each flow has not had yet, of jobs that have arrived. */
        const open = new Map<string, number>();
        const busy: ReadonlySet<string>[] = [];
        for (let tick = 0; tick <= 8 || (await loop.nextTick()); tick++) {
          for (const [index, { arrivals, costs }] of flows.entries()) {
            for (const _ of arrivals.filter((arrival) => arrival === tick)) {
              open.set(`${index}`, (open.get(`${index}`) ?? 0) + costs.length);
              done.push(loop.run(`${index}`, costs));
            }
          }
          if (tick < 8) await loop.nextTick();
          for (const { flow } of loop.turns.slice(busy.length)) {
            busy.push(new Set([...open].filter(([, turns]) => turns > 0).map(([name]) => name)));
            open.set(flow, (open.get(flow) ?? 0) - 1);
          }
        }
        await Promise.all(done);
        expect(loop.turns).toHaveLength(sum(flows.map(({ arrivals, costs }) => arrivals.length * costs.length)));
        for (const inTick of Map.groupBy(loop.turns, ({ tick }) => tick).values()) {
          expect(sum(inTick.slice(0, -1).map(({ cost }) => cost))).toBeLessThan(TICK_MS + 1e-9);
        }
        for (const [a] of flows.entries()) {
          for (let b = 0; b < a; b++) {
            const most = Math.max(...(flows[a]?.costs ?? [])) + Math.max(...(flows[b]?.costs ?? []));
            expect(unevenness(loop.turns, busy, `${a}`, `${b}`)).toBeLessThanOrEqual(most + 1e-6);
          }
        }
      }),
      propertyRuns(150, 1_500),
    );
  });

  it('keeps the debt of a flow that has nothing to do meanwhile, and forgets it with time', async () => {
    const returns = async (idleTicks: number): Promise<number> => {
      const loop = fakeLoop();
      void loop.run('a', [30]);
      if (idleTicks > 0) for (let tick = 0; tick < idleTicks; tick++) await loop.nextTick(1);
      void loop.run(
        'b',
        Array.from({ length: 60 }, () => 1),
      );
      await loop.nextTick();
      const before = loop.turns.length;
      void loop.run('a', [1]);
      while (await loop.nextTick());
      return loop.turns.slice(before).findIndex(({ flow }) => flow === 'a');
    };
    expect(await returns(0)).toBeGreaterThanOrEqual(20);
    expect(await returns(40)).toBeLessThanOrEqual(1);
  });

  it('ends the wait of a job whose client has left, at no cost to its flow', async () => {
    const loop = fakeLoop();
    const client = new AbortController();
    const first = loop.run('a', [6]);
    const left = expect(loop.run('a', [6, 6], client.signal)).rejects.toMatchObject({ name: 'AbortError' });
    client.abort();
    const next = loop.run('b', [6]);
    while (await loop.nextTick());
    await Promise.all([first, left, next]);
    expect(loop.turns.map(({ flow }) => flow)).toEqual(['a', 'b']);
  });
});

/** The largest difference between what two flows got in any time in which both were waiting. */
function unevenness(turns: readonly Turn[], busy: readonly ReadonlySet<string>[], a: string, b: string): number {
  let [ahead, least, most, worst] = [0, 0, 0, 0];
  for (const [index, { flow, cost }] of turns.entries()) {
    if (!busy[index]?.has(a) || !busy[index].has(b)) {
      [ahead, least, most] = [0, 0, 0];
      continue;
    }
    if (flow === a) ahead += cost;
    if (flow === b) ahead -= cost;
    least = Math.min(least, ahead);
    most = Math.max(most, ahead);
    worst = Math.max(worst, most - least);
  }
  return worst;
}
