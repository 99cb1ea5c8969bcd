import fc from 'fast-check';
import { expect, it } from 'vitest';
import { slabCopy, slabText } from './slab.ts';

it('keeps every text as it was, whatever comes after it', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.nat(9_000).map((length) => 'x'.repeat(length)),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 60 }), (texts) => {
      const kept = texts.map((each) => slabText(each));
      const copies = texts.map((each) => slabCopy(Buffer.from(each)));
      texts.forEach((each, index) => {
        expect(kept[index]?.equals(Buffer.from(each))).toBe(true);
        expect(copies[index]?.equals(Buffer.from(each))).toBe(true);
      });
    }),
  );
});

it('copies: whoever gave the bytes may use them again', () => {
  const given = Buffer.from('before');
  const kept = slabCopy(given);
  given.write('behind');
  expect(kept.toString()).toBe('before');
});

it('holds little more memory than it was given, whatever else is made in between', () => {
  const kept = Array.from({ length: 1_000 }, (_, index) => {
    Buffer.from('an answer that nobody keeps'.repeat(40));
    return slabText(`${index} `.padEnd(1_200, 'x'));
  });
  const memory = new Set(kept.map(({ buffer }) => buffer));
  const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(held).toBeLessThan(1_000 * 1_200 * 1.2);
});
