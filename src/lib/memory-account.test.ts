import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryAccount, type MemoryCharge, type MemoryHolder, SharedBytes } from './memory-account.ts';

const AMPLE = 1_000_000;

describe('beyond a limit', () => {
  /** A watch that holds bytes until it is given up. */
  class Watch implements MemoryHolder {
    readonly charge: MemoryCharge;
    readonly name: string;
    unsentBytes: number;
    constructor(name: string, unsentBytes: number) {
      this.name = name;
      this.unsentBytes = unsentBytes;
      this.charge = account.open(name.charAt(0), this);
      this.charge.set(unsentBytes);
    }
    giveUp(): void {
      givenUp.push(this.name);
      this.charge.close();
    }
  }
  let account: MemoryAccount;
  let givenUp: string[] = [];
  let deferred: (() => void)[] = [];

  function relieve(limits: { perFlow: number; total: number }, held: Record<string, number>): string[] {
    account = new MemoryAccount(limits, (act) => deferred.push(act));
    [givenUp, deferred] = [[], []];
    for (const [name, bytes] of Object.entries(held)) new Watch(name, bytes);
    for (const act of deferred) act();
    return givenUp;
  }

  it.each([
    ['nothing is over', { a1: 50, a2: 50, b1: 100 }, []],
    ['one flow is over: its own that hold most', { a1: 10, a2: 60, a3: 50, b1: 90 }, ['a2']],
    ['those that hold nothing back stay', { a1: 0, a2: 200, a3: 0 }, ['a2']],
    ['the process is over: the largest flow first', { a1: 80, b1: 40, b2: 60, c1: 70, d1: 60 }, ['b2']],
    [
      'the process is far over: no flow gets less than an equal share',
      { a1: 100, b1: 100, c1: 100, d1: 40, e1: 40 },
      ['a1', 'b1'],
    ],
  ])('%s', (_, held, expected) => {
    expect(relieve({ perFlow: 100, total: 250 }, held)).toEqual(expected);
    expect(account.usage.givenUp).toBe(expected.length);
    expect(deferred.length).toBe(expected.length > 0 ? 1 : 0);
  });
});

describe('bytes that several watches wait for', () => {
  it('count once for each flow, and once for the process', () => {
    const account = new MemoryAccount({ perFlow: AMPLE, total: AMPLE });
    const [one, two, other] = [account.open('a'), account.open('a'), account.open('b')];
    const [frame, small] = [new SharedBytes(100), new SharedBytes(1)];
    const batches = [new SharedBytes(0, [frame]), new SharedBytes(0, [frame, small])];
    for (const charge of [one, two, other]) for (const batch of batches) charge.take(batch);
    expect(account.usage.bytes).toBe(101);
    expect([account.refusal('a', AMPLE - 101), account.refusal('a', AMPLE - 100)]).toEqual([undefined, 'caller']);
    for (const batch of batches) one.drop(batch);
    expect(account.usage.bytes).toBe(101);
    for (const charge of [two, other]) for (const batch of batches) charge.drop(batch);
    expect(account.usage.bytes).toBe(0);
  });
});

/** What a random history does with charges of three flows and with shared bytes. */
const step = fc.oneof(
  fc.record({ do: fc.constant('open' as const), flow: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ do: fc.constantFrom('close', 'drop all'), at: fc.nat(20) }),
  fc.record({ do: fc.constant('set' as const), at: fc.nat(20), bytes: fc.nat(1_000) }),
  fc.record({ do: fc.constantFrom('take', 'drop'), at: fc.nat(20), shared: fc.nat(4) }),
);

it('is never negative, counts what is held, and gives each byte back once, in whatever order it is closed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const account = new MemoryAccount({ perFlow: AMPLE, total: 10 * AMPLE });
      const frames = [new SharedBytes(10), new SharedBytes(100)];
      const shared = [...frames, new SharedBytes(0, frames), new SharedBytes(5, [frames[0] as SharedBytes])];
      /** The frames behind each of `shared`, and its own bytes. */
      const parts = [[0], [1], [0, 1], [0, 2]] as const;
      const sizes = [10, 100, 5];
      const open: { flow: string; charge: MemoryCharge; own: number; taken: number[]; isOpen: boolean }[] = [];
      const check = (): void => {
        const live = open.filter(({ isOpen }) => isOpen);
        const framesOf = (some: typeof live) =>
          [...new Set(some.flatMap(({ taken }) => taken.flatMap((index) => parts[index] as readonly number[])))].reduce(
            (sum, frame) => sum + (sizes[frame] ?? 0),
            0,
          );
        const own = (some: typeof live) => some.reduce((sum, charge) => sum + charge.own, 0);
        expect(account.usage.bytes).toBe(own(live) + framesOf(live));
        for (const [flow, some] of Map.groupBy(live, (charge) => charge.flow)) {
          const free = AMPLE - own(some) - framesOf(some);
          expect([account.refusal(flow, free), account.refusal(flow, free + 1)]).toEqual([undefined, 'caller']);
        }
        expect(account.size).toBe(new Set(live.map(({ flow }) => flow)).size);
      };
      const dropAll = (entry: (typeof open)[number]): void => {
        for (const index of entry.taken.splice(0)) entry.charge.drop(shared[index] as SharedBytes);
      };
      for (const each of steps) {
        if (each.do === 'open') {
          open.push({ flow: each.flow, charge: account.open(each.flow), own: 0, taken: [], isOpen: true });
        } else {
          const entry = open[each.at];
          if (entry === undefined) continue;
          if (each.do === 'close') {
            dropAll(entry);
            entry.charge.close();
            entry.isOpen = false;
          } else if (each.do === 'drop all') dropAll(entry);
          else if ('bytes' in each) {
            entry.charge.set(each.bytes);
            entry.own = entry.isOpen ? each.bytes : 0;
          } else if ('shared' in each) {
            const index = each.shared % shared.length;
            if (each.do === 'take') {
              entry.charge.take(shared[index] as SharedBytes);
              if (entry.isOpen) entry.taken.push(index);
            } else if (entry.taken.includes(index)) {
              entry.taken.splice(entry.taken.indexOf(index), 1);
              entry.charge.drop(shared[index] as SharedBytes);
            }
          }
        }
        check();
      }
      for (const entry of open) {
        dropAll(entry);
        entry.charge.close();
        entry.charge.close();
      }
      expect([account.usage.bytes, account.size]).toEqual([0, 0]);
    }),
  );
});
