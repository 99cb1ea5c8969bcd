import { expect, test } from 'vitest';
import { StillCurrent } from './still-current.ts';

test('what was found is good for as long as all of it is current', () => {
  const known = new StillCurrent<object, readonly { isCurrent: boolean }[]>();
  const [asker, another] = [{}, {}];
  const found = [{ isCurrent: true }, { isCurrent: true }];
  expect(known.get(asker)).toBeUndefined();
  known.set(asker, found);
  expect(known.get(asker)).toBe(found);
  expect(known.get(another)).toBeUndefined();
  for (const each of found) {
    each.isCurrent = false;
    expect(known.get(asker)).toBeUndefined();
    each.isCurrent = true;
  }
  const later = [{ isCurrent: true }];
  known.set(asker, later);
  expect(known.get(asker)).toBe(later);
});
