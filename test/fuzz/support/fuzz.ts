import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ApiError } from '../../../src/api/status.ts';

/** `npm run fuzz` sets this; without it a short run with a fixed seed is part of `npm test`. */
const seconds = Number(process.env.CLUSTERPASS_FUZZ_SECONDS ?? 0);
/** From the report of a run that failed: `seed: 123`. */
const given = process.env.CLUSTERPASS_FUZZ_SEED;
const SHORT_RUNS = 100;

export interface FuzzOptions<T> {
  /** For targets that take longer. */
  readonly runs?: number;
  /** Inputs that failed once. Every run repeats them. */
  readonly found?: readonly T[];
}

/** A property of all texts of a grammar. The report of a failure has the seed and the smallest input. */
export function fuzz<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  holds: (input: T) => void | Promise<void>,
  { runs = SHORT_RUNS, found = [] }: FuzzOptions<T> = {},
): void {
  const long = seconds > 0;
  const options: fc.Parameters<[T]> = {
    examples: found.map((input): [T] => [input]),
    ...(long
      ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false }
      : // The examples are runs too.
        { numRuns: runs + found.length, seed: 20_261_115 }),
    ...(given === undefined ? {} : { seed: Number(given) }),
  };
  it(name, { timeout: seconds * 1000 + 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        await holds(input);
        // A19: parsing must not have changed Object.prototype.
        expect(Object.keys(Object.prototype)).toEqual([]);
        expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      }),
      options,
    );
  });
}

/** It is read, or refused with a clear 4xx. Any other error would be a 500. */
export function readsOrRefuses<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, message = '' } = error.status;
    expect(code).toBeGreaterThanOrEqual(400);
    expect(code).toBeLessThan(500);
    expect(message).not.toBe('');
    expect(message).not.toContain('[object Object]');
    return undefined;
  }
}

/** Texts with a few of their characters left out, doubled or replaced. */
export const mutated = (texts: fc.Arbitrary<string>, spice: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(
      texts,
      fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.constantFrom('', ...spice)), {
        maxLength: 4,
      }),
    )
    .map(([text, changes]) =>
      changes.reduce((whole, [where, what]) => {
        const at = Math.floor(where * whole.length);
        return what === '' ? whole.slice(0, at) + whole.slice(at + 1) : whole.slice(0, at) + what + whole.slice(at);
      }, text),
    );
