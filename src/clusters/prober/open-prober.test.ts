import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keepAliveConnections, memoryLimit, readOpenFileLimit } from './open-prober.ts';

describe('the number of connections that stay open between two probes', () => {
  const options = { intervalMs: 30_000, clients: 10_000, openFiles: 100_000, memory: 8 * 2 ** 30 };

  it.each([
    ['is the option', {}, 10_000],
    ['leaves files for the connections of clients', { openFiles: 20_000 }, 9_488],
    ['is 0 when clients need all files', { openFiles: 1_024 }, 0],
    ['is small when the limit of open files is unknown', { openFiles: undefined }, 256],
    ['fits into a quarter of the memory', { memory: 512 * 2 ** 20 }, 1_310],
    ['is 0 when probes are far apart', { intervalMs: 60_001 }, 0],
  ])('%s', (_, changes, expected) => {
    expect(keepAliveConnections({ ...options, ...changes })).toBe(expected);
  });
});

describe('the limit of open files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-limits-'));
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

  it('is unknown without the file, or without its line', () => {
    expect(readOpenFileLimit(join(folder, 'absent'))).toBeUndefined();
    expect(limits('nothing of the kind\n')).toBeUndefined();
  });
});

it('the memory limit is known on every system', () => {
  expect(memoryLimit()).toBeGreaterThan(2 ** 20);
  expect(memoryLimit()).toBeLessThanOrEqual(totalmem());
});
