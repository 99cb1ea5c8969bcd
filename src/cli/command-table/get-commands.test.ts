import { expect, test } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import { LISTED_KINDS } from './get-commands.ts';

test('every kind has a get command, with the names and the scope of the catalog', () => {
  const { kinds, clusters } = createCatalog({ productName: 'orchestrator' });
  const expected = kinds
    .filter((kind) => kind !== clusters)
    .map(({ resource, singular, shortNames, inCluster, namespaced }) => ({
      ...{ resource, singular, shortNames, inCluster, namespaced },
    }));
  const byName = (a: { resource: string }, b: { resource: string }): number => (a.resource < b.resource ? -1 : 1);
  expect([...LISTED_KINDS].sort(byName)).toEqual(expected.sort(byName));
});
