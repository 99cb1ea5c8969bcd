import { expect, it } from 'vitest';
import type { CompiledBinding } from './compiled-rbac.ts';
import { ExpiringBindings } from './expiring-bindings.ts';

/** A binding that expires at this time, and counts how often that is read. */
function expiringAt(expiresAt: number, reads: { count: number }): CompiledBinding {
  const facts = {
    namespace: '',
    name: `at-${expiresAt}`,
    get expiresAt() {
      reads.count += 1;
      return expiresAt;
    },
  };
  return { id: `at-${expiresAt}`, facts } as unknown as CompiledBinding;
}

it('takes out what has expired, also after the binding that would expire first was removed', () => {
  const reads = { count: 0 };
  const expiring = new ExpiringBindings();
  const [first, second, third] = [10, 20, 30].map((time) => expiringAt(time, reads));
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are three');
  for (const binding of [first, second, third]) expiring.add(binding);
  expiring.remove(first);
  expect(expiring.takeExpired(() => 15)).toEqual([]);
  // Nothing is due before 20, so no binding is looked at.
  const { count } = reads;
  expect(expiring.takeExpired(() => 19)).toEqual([]);
  expect(reads.count).toBe(count);
  expect(expiring.takeExpired(() => 20)).toEqual([second]);
  expiring.remove(third);
  expect(expiring.takeExpired(() => 100)).toEqual([]);
  expect([...expiring.expired()]).toEqual([second.facts]);
});

it('a replacement of every binding costs the same for each of them', () => {
  const reads = { count: 0 };
  const expiring = new ExpiringBindings();
  const bindings = Array.from({ length: 1_000 }, (_, i) => expiringAt(1_000 + i, reads));
  for (const binding of bindings) expiring.add(binding);
  for (const binding of bindings) {
    expiring.remove(binding);
    expiring.add(binding);
    expect(expiring.takeExpired(() => 0)).toEqual([]);
  }
  expect(reads.count).toBeLessThanOrEqual(4 * bindings.length);
});
