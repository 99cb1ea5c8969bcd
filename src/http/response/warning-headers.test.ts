import { describe, expect, test } from 'vitest';
import { Warnings } from './warning-headers.ts';

const headersOf = (...texts: string[]): readonly string[] => {
  const warnings = new Warnings();
  for (const text of texts) warnings.add(text);
  return warnings.headers;
};

describe('Warning headers', () => {
  test('W-01: quoted, with quotes and backslashes escaped', () => {
    expect(headersOf('unknown field "spec.x"', 'a\\b')).toEqual([
      '299 - "unknown field \\"spec.x\\""',
      '299 - "a\\\\b"',
    ]);
  });

  test('W-02: control characters, broken text and nothing are dropped', () => {
    expect(headersOf('a\r\nSet-Cookie: x', 'a\u0085b', 'a\u007fb', '\ud800', '', 'kept')).toEqual(['299 - "kept"']);
  });

  test('W-03: once each, in order', () => {
    expect(headersOf('b', 'a', 'b')).toEqual(['299 - "b"', '299 - "a"']);
  });

  test('W-04: beyond 4096 characters everything is cut to 256, then dropped', () => {
    const long = (letter: string): string => letter.repeat(2000);
    expect(headersOf(long('a'), long('b'))).toHaveLength(2);
    const cut = headersOf(long('a'), long('b'), long('c'));
    expect(cut).toEqual(['a', 'b', 'c'].map((letter) => `299 - "${letter.repeat(256)}"`));
    const many = headersOf(...Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(300)}`));
    expect(many).toHaveLength(16);
    expect(many.every((header) => header.length === '299 - ""'.length + 256)).toBe(true);
  });

  test('text beyond Latin-1 becomes its UTF-8 bytes', () => {
    const [header = ''] = headersOf('sch\u00f6n \u4f60');
    expect([...header].every((char) => char.charCodeAt(0) < 256)).toBe(true);
    expect(Buffer.from(header, 'latin1').toString()).toBe('299 - "sch\u00f6n \u4f60"');
  });
});
