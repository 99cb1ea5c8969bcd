import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDnsCache } from './dns-cache.ts';

const TTL_MS = 1_000;

function open() {
  const state = { lookups: 0, time: 1, fails: false };
  const resolve = async (): Promise<string[]> => {
    state.lookups++;
    if (state.fails) throw new Error('no such name');
    return [`10.0.0.${state.lookups}`];
  };
  return Object.assign(state, { cache: createDnsCache(resolve, TTL_MS, () => state.time) });
}

describe('the DNS cache', () => {
  it('resolves a name again when its entry has expired, not before', async () => {
    const world = open();
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.1']);
    world.time += TTL_MS;
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.1']);
    world.time += 1;
    expect(await world.cache.resolve('a')).toEqual(['10.0.0.2']);
  });

  it('returns addresses that the name has, or had within the last TTL and not before it was forgotten', async () => {
    const name = fc.constantFrom('a', 'b');
    const step = fc.oneof(
      fc.record({ do: fc.constant('resolve' as const), name }),
      fc.record({ do: fc.constant('forget' as const), name }),
      fc.record({ do: fc.constant('change' as const), name }),
      fc.record({ do: fc.constant('wait' as const), name, ms: fc.integer({ min: 1, max: 600 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        let time = 1;
        let changes = 0;
        /** The addresses of each name, each with the time until which it was valid. */
        const records = new Map<string, { address: string; until: number }[]>();
        const recordsOf = (hostname: string) => {
          const list = records.get(hostname) ?? [{ address: `${hostname}-0`, until: Number.POSITIVE_INFINITY }];
          records.set(hostname, list);
          return list;
        };
        const cache = createDnsCache(
          async (hostname) => [recordsOf(hostname).at(-1)?.address ?? ''],
          TTL_MS,
          () => time,
        );
        for (const one of steps) {
          const list = recordsOf(one.name);
          if (one.do === 'wait') time += one.ms;
          // Older addresses must not come back after this.
          if (one.do === 'forget') {
            cache.forget(one.name);
            list.splice(0, list.length - 1);
          }
          if (one.do === 'change') {
            for (const record of list) record.until = Math.min(record.until, time);
            list.push({ address: `${one.name}-${++changes}`, until: Number.POSITIVE_INFINITY });
          }
          if (one.do === 'resolve') {
            const [address] = await cache.resolve(one.name);
            const possible = list.filter(({ until }) => until >= time - TTL_MS).map((record) => record.address);
            expect(possible).toContain(address);
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});
