import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';
import { recordBaseUrl } from './inventory.ts';

it('K-09: a start with another --base-url than the last one is warned of once, also by several processes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-base-url-'));
  const store = await openSqliteStore({ file: join(folder, 'clusterpass.db') });
  onTestFinished(() => store.close());
  const warnings: object[] = [];
  const logger = { warn: (fields: object) => void warnings.push(fields) };
  const startAs = (host: string) => recordBaseUrl(store, `https://${host}.example.com`, logger);
  await startAs('cp');
  await startAs('cp');
  expect(warnings).toEqual([]);
  await Promise.all([startAs('pc'), startAs('pc')]);
  expect(warnings).toEqual([
    expect.objectContaining({ before: 'https://cp.example.com', baseUrl: 'https://pc.example.com' }),
  ]);
});
