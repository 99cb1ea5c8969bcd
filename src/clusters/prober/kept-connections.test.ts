import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { keptConnections, memoryLimit, readOpenFileLimit } from './kept-connections.ts';

describe('how many connections stay open between two looks', () => {
  const asked = { wanted: 10_000, intervalMs: 30_000, clients: 10_000, openFiles: 100_000, memory: 8 * 2 ** 30 };

  it.each([
    ['as many as were asked for', {}, 10_000],
    ['none, when none were asked for', { wanted: 0 }, 0],
    ['no more than files can be open beside the connections of clients', { openFiles: 20_000 }, 9_488],
    ['none, when clients need all of them', { openFiles: 1_024 }, 0],
    ['few, when nobody knows how many files can be open', { openFiles: undefined }, 256],
    ['no more than fit into a quarter of the memory', { memory: 512 * 2 ** 20 }, 1_310],
    ['none, when looks are far apart', { intervalMs: 60_001 }, 0],
  ])('%s', (_, changes, expected) => {
    expect(keptConnections({ ...asked, ...changes })).toBe(expected);
  });
});

describe('how many files can be open', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-limits-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const limits = (text: string): number | undefined => {
    writeFileSync(join(folder, 'limits'), text);
    return readOpenFileLimit(join(folder, 'limits'));
  };

  it('is the soft limit', () => {
    const head = 'Limit                     Soft Limit           Hard Limit           Units     \n';
    expect(limits(`${head}Max open files            20000                524288               files     \n`)).toBe(
      20_000,
    );
    expect(limits(`${head}Max open files            unlimited            unlimited            files     \n`)).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it('is not known where there is no such file, or no such line in it', () => {
    expect(readOpenFileLimit(join(folder, 'absent'))).toBeUndefined();
    expect(limits('nothing of the kind\n')).toBeUndefined();
  });
});

it('the memory that there is at most is known everywhere', () => {
  expect(memoryLimit()).toBeGreaterThan(2 ** 20);
  expect(memoryLimit()).toBeLessThanOrEqual(totalmem());
});
