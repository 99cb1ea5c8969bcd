import { describe, expect, test } from 'vitest';
import { ChunkPool } from './body-writer.ts';

const pool = (): ChunkPool => new ChunkPool({ size: 1024, maxFree: 1 });

describe('the pool of chunks', () => {
  test('lends a released chunk again', () => {
    const chunks = pool();
    const first = chunks.take();
    first.release();
    const second = chunks.take();
    expect(second.buffer.buffer).toBe(first.buffer.buffer);
    expect(second.buffer).toHaveLength(1024);
  });

  test('never lends the same twice, however often it is released', () => {
    const chunks = pool();
    const first = chunks.take();
    first.release();
    const again = chunks.take();
    first.release();
    expect(chunks.take().buffer).not.toBe(again.buffer);
  });

  test('keeps no more than it may', () => {
    const chunks = pool();
    const [first, second] = [chunks.take(), chunks.take()];
    first.release();
    second.release();
    expect(chunks.take().buffer).toBe(first.buffer);
    expect(chunks.take().buffer).not.toBe(second.buffer);
  });
});
