import { expect, test } from 'vitest';
import { remembering } from './remember.ts';

function counting(limits = {}) {
  const reads: string[] = [];
  const read = remembering((text) => {
    reads.push(text);
    if (text === 'bad') throw new SyntaxError(text);
    return { text };
  }, limits);
  return { reads, read };
}

test('reads a text once', () => {
  const { reads, read } = counting();
  expect(read('a')).toBe(read('a'));
  expect(read('b')).toEqual({ text: 'b' });
  expect(reads).toEqual(['a', 'b']);
});

test('does not remember what can not be read', () => {
  const { reads, read } = counting();
  expect(() => read('bad')).toThrow(SyntaxError);
  expect(() => read('bad')).toThrow(SyntaxError);
  expect(reads).toEqual(['bad', 'bad']);
});

test('keeps neither long texts nor many', () => {
  const { reads, read } = counting();
  const long = 'x'.repeat(257);
  read(long);
  read(long);
  expect(reads).toEqual([long, long]);
  for (let index = 0; index < 65; index++) read(`${index}`);
  read('0');
  read('64');
  expect(reads.slice(-1)).toEqual(['0']);
});

test('keeps only what it is to keep', () => {
  const { reads, read } = counting({ keep: ({ text }: { text: string }) => text !== 'secret' });
  for (const text of ['secret', 'secret', 'a', 'a']) expect(read(text)).toEqual({ text });
  expect(reads).toEqual(['secret', 'secret', 'a']);
});
