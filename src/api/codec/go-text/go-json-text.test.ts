import { expect, test } from 'vitest';
import { goEscape } from './go-json-text.ts';

/** F-12, as Go describes it: one character after the other. */
const oneByOne = (json: string): string =>
  [...json]
    .map((char) => (/[<>&\u2028\u2029]/.test(char) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char))
    .join('');

test.each([
  '"plain"',
  '"<b>&amp;</b>"',
  '"\u2028a\u2029"',
  '"\u2027\u202a€â"',
  '"日本<語😀>"',
  '"\u00e2\u0080\u00a8"',
  `"${'<>&'.repeat(1_000)}"`,
])('F-12: %j is escaped', (json) => {
  expect(goEscape(json)).toBe(oneByOne(json));
});
