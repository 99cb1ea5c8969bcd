import { describe, expect, test } from 'vitest';
import { ChunkPool } from './body-writer.ts';

const pool = (): ChunkPool => new ChunkPool({ size: 1024, maxFree: 1 });

describe('the pool of chunks', () => {
  test('never lends the same twice, however often it is released', () => {
    const chunks = pool();
    const first = chunks.take();
    first.release();
    const again = chunks.take();
    first.release();
    expect(chunks.take().buffer).not.toBe(again.buffer);
  });
});
