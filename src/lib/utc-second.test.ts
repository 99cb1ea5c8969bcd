import fc from 'fast-check';
import { expect, it } from 'vitest';
import { utcSecond } from './utc-second.ts';

it('says the same as a date, however often and in whatever order it is asked', () => {
  const second = fc.integer({ min: 0, max: 253_402_300_799 });
  fc.assert(
    fc.property(fc.array(second, { maxLength: 200 }), (seconds) => {
      for (const each of [...seconds, ...seconds]) {
        expect(`${utcSecond(each)}.000Z`).toBe(new Date(each * 1000).toISOString());
      }
    }),
  );
});
