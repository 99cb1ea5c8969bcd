import { expect, it } from 'vitest';
import { openTestStore } from '../storage/sqlite/test-store.fixture.ts';
import { recordBaseUrl } from './inventory.ts';

it('K-09: a start with another --base-url than the last one is warned of once, also by several processes', async () => {
  const store = await openTestStore();
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
