import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedFrames } from '../../api/shared-frames.ts';
import { type Batch, batchesOf, createJoinCache } from './send-buffer.ts';

const counter = (): (() => number) => {
  let last = 0;
  return () => ++last;
};

describe('batchesOf', () => {
  it('keeps the order and the number of frames, and joins no more than asked for', () => {
    const anyFrames = fc.array(fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)));
    fc.assert(
      fc.property(anyFrames, fc.integer({ min: 1, max: 50 }), (list, maxBytes) => {
        const batches = batchesOf(list, maxBytes, counter());
        expect(Buffer.concat(batches.map(({ frames }) => frames.bytes))).toEqual(Buffer.concat(list));
        expect(batches.reduce((sum, { events }) => sum + events, 0)).toBe(list.length);
        for (const { frames, events } of batches) expect(frames.bytes.length <= maxBytes || events === 1).toBe(true);
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
        const batches: Batch[] = contents.map((content) => ({
          id: nextId(),
          frames: new SharedFrames(content),
          events: 1,
        }));
        const join = createJoinCache(maxEntries);
        for (const [from, count] of runs) {
          const run = batches.slice(from % batches.length, (from % batches.length) + count);
          expect(Buffer.concat(run.map((batch) => batch.frames.bytes)).equals(join(run).bytes)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('shares the joined bytes between writers of the same batches', () => {
    const [one, two] = [1, 2].map(
      (id): Batch => ({ id, frames: new SharedFrames(Buffer.from(`frame ${id}`)), events: 1 }),
    );
    if (one === undefined || two === undefined) throw new Error('no batches');
    const join = createJoinCache();
    expect(join([one, two])).toBe(join([{ ...one }, { ...two }]));
    expect(join([one])).toBe(one.frames);
  });
});
