import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedFrames } from '../../api/shared-frames.ts';
import { type Batch, batchesOf, batchOf, createJoinCache } from './send-buffer.ts';

const counter = (): (() => number) => {
  let last = 0;
  return () => ++last;
};

const bytesOf = (batches: readonly Batch[]): Uint8Array[] =>
  batches.flatMap(({ frames }) => frames.map(({ bytes }) => bytes));

describe('batchesOf', () => {
  it('keeps the order and the number of frames, and joins no more than asked for', () => {
    const anyFrames = fc.array(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)));
    fc.assert(
      fc.property(anyFrames, fc.integer({ min: 1, max: 50 }), (list, maxBytes) => {
        const nextId = counter();
        const frames = list.map((bytes) => new SharedFrames(nextId(), bytes));
        const batches = batchesOf(frames, maxBytes, nextId);
        expect(batches.flatMap((batch) => batch.frames)).toEqual(frames);
        expect(batches.reduce((sum, { events }) => sum + events, 0)).toBe(list.length);
        for (const { bytes, events } of batches) expect(bytes <= maxBytes || events === 1).toBe(true);
        expect(new Set(batches.map(({ id }) => id)).size).toBe(batches.length);
      }),
    );
  });
});

describe('the join cache', () => {
  const bytes = fc.oneof(fc.uint8Array({ maxLength: 30 }), fc.constant(new Uint8Array(100_000).fill(7)));
  /** Writers take runs of one sequence of batches, as the watchers of a group do, in any order and more than once. */
  const history = fc.record({
    contents: fc.array(bytes, { minLength: 1, maxLength: 30 }),
    runs: fc.array(fc.tuple(fc.nat(29), fc.integer({ min: 1, max: 5 })), { maxLength: 40 }),
    maxEntries: fc.integer({ min: 1, max: 4 }),
  });

  it('returns the bytes of the batches, whatever it joined before', () => {
    fc.assert(
      fc.property(history, ({ contents, runs, maxEntries }) => {
        const nextId = counter();
        const batches = contents.map((content) => batchOf(nextId(), [new SharedFrames(nextId(), content)]));
        const join = createJoinCache(nextId, maxEntries);
        for (const [from, count] of runs) {
          const run = batches.slice(from % batches.length, (from % batches.length) + count);
          expect(Buffer.concat(bytesOf(run)).equals(join(run).bytes)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});
