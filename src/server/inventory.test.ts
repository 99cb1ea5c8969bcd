import { expect, it } from 'vitest';
import { inventoryOf } from './inventory.ts';

const namespaceFor = (selector: string) => {
  const inventory = { manager: 'm', provider: 'p', properties: [], namespaces: [{ name: 'team', selector }] };
  return inventoryOf({ inventory }).namespaces[0];
};

it.each([
  'kubernetes.io/metadata.name=one',
  'kubernetes.io/metadata.name in (one)',
  'kubernetes.io/metadata.name=one,!a',
])('%s shows the cluster of that name, and none that has only the label', (selector) => {
  const namespace = namespaceFor(selector);
  expect(namespace?.matches(undefined, 'one')).toBe(true);
  expect(namespace?.matches({ 'kubernetes.io/metadata.name': 'two' }, 'one')).toBe(true);
  expect(namespace?.matches({ 'kubernetes.io/metadata.name': 'one' }, 'two')).toBe(false);
  // The index of labels does not know the names.
  expect(namespace?.requiredLabel).toBeUndefined();
});
