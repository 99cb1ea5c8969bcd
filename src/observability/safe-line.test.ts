import { expect, test } from 'vitest';
import { safeLine } from './safe-line.ts';

test.each([
  ['bearer abcdefgh12', 'bearer <redacted>'],
  ['a BEARER\tabcdefgh12 b', 'a BEARER\t<redacted> b'],
  ['{"bEaReR  abcdefgh12":1}', '{"bEaReR  <redacted>":1}'],
  ['eyJhbGciOi.eyJzdWIi.c2ln rest', '<redacted> rest'],
  ['your turn\u2028', 'your turn\\u2028'],
  ['plain but for\u007f', 'plain but for\\u007f'],
  ['\u009b31m', '\\u009b31m'],
  ['bearer short, order reader', 'bearer short, order reader'],
])('A9: %j is written as %j', (line, expected) => {
  expect(safeLine(line)).toBe(expected);
});
