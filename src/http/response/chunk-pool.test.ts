import { describe, expect, test } from 'vitest';
import { ChunkPool } from './chunk-pool.ts';

const pool = (): ChunkPool => new ChunkPool({ size: 1024, kept: 1 });

describe('the pool of chunks', () => {
  test('gives out again what came back, whole, also when only a part of it was used', () => {
    const chunks = pool();
    const first = chunks.take();
    chunks.giveBack(first.subarray(0, 10));
    const second = chunks.take();
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(1024);
  });

  test('never gives out the same twice, whatever comes back twice', () => {
    const chunks = pool();
    const first = chunks.take();
    chunks.giveBack(first);
    chunks.giveBack(first);
    expect(chunks.take().buffer).toBe(first.buffer);
    expect(chunks.take().buffer).not.toBe(first.buffer);
  });

  test('never takes what it did not lend, even of the same size', () => {
    const chunks = pool();
    const theirs = Buffer.allocUnsafeSlow(1024);
    chunks.giveBack(theirs);
    expect(chunks.take().buffer).not.toBe(theirs.buffer);
  });

  test('keeps no more than it was told to', () => {
    const chunks = pool();
    const [first, second] = [chunks.take(), chunks.take()];
    chunks.giveBack(first);
    chunks.giveBack(second);
    expect(chunks.take().buffer).toBe(first.buffer);
    expect(chunks.take().buffer).not.toBe(second.buffer);
  });
});
