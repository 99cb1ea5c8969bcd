import { describe, expect, it, test } from 'vitest';
import {
  clip,
  hasControl,
  isPrint,
  looksLikeToken,
  oneLine,
  safeLine,
  terminalSafe,
  terminalSafeLines,
  truncate,
  visibleName,
  withoutTokenWords,
} from './text.ts';

test('truncated text has at most as many code units, whole characters, and a mark when it is clipped', () => {
  expect(truncate('abc', 2)).toBe('ab');
  expect(truncate('a😀', 2)).toBe('a\ufffd');
  expect(clip('x'.repeat(256))).toBe('x'.repeat(256));
  expect(clip('x'.repeat(257))).toBe(`${'x'.repeat(253)}...`);
  expect(clip('abcdefgh', 6)).toBe('abc...');
});

test.each(['\0', '\n', '\x7f', '\u0085'])('%j is a control character', (text) => {
  expect(hasControl(`a${text}b`)).toBe(true);
  expect(hasControl('a é\u200b')).toBe(false);
});

test('what looks like a new line or hides text becomes one space', () => {
  expect(oneLine(' a\r\n\u2028b\u202ec\t')).toBe('a b c');
  expect(oneLine('\ud800')).toBe('\ufffd');
});

test('a terminal gets printable characters, and further lines are indented', () => {
  expect(terminalSafe('\u001b[31mred\u202e é😀')).toBe('?[31mred? é😀');
  expect(terminalSafeLines('a\nerror: b\r')).toBe('a\n  error: b?');
});

describe('isPrint', () => {
  it.each(['a', 'Z', '0', ' ', '~', 'é', 'ß', '中', '€', '😀', '\u0301', '\ufffd'])('Q-05: %j is printable', (rune) => {
    expect(isPrint(rune)).toBe(true);
  });

  it.each([
    '\n',
    '\t',
    '\0',
    '\x7f',
    '\u0085',
    '\u00a0',
    '\u00ad',
    '\u2003',
    '\u200b',
    '\u2028',
    '\u3000',
    '\ufeff',
    '\ue000',
    '\u{e0001}',
    '\ud800',
  ])('Q-05: %j is not', (rune) => {
    expect(isPrint(rune)).toBe(false);
  });
});

const RANDOM = 'aB3'.repeat(10);

describe('text of another server', () => {
  test.each([
    ['a JWT', `eyJ${'a'.repeat(29)}`],
    ['random characters', `${RANDOM}xy`],
    ['a JWT behind a prefix', `prefix-eyJ${'a'.repeat(30)}`],
  ])('%s of 32 characters or more is redacted, and the words around it stay', (_, token) => {
    expect(withoutTokenWords(`cannot read "${token}", nor ${token}`)).toBe('cannot read "<redacted>", nor <redacted>');
  });

  test.each([
    ['31 characters', `${RANDOM}x`],
    ['a name without capitals', `${'pod-7f9c'.repeat(5)}`],
    ['a UUID', '0f3a5a3e-2d4b-4c62-9c1c-6f1f6a0f7a11'],
    ['capitals only', 'A1'.repeat(20)],
    ['no digits', 'MutatingAdmissionWebhookConfigurationList'],
  ])('%s is no token', (_, word) => {
    expect(looksLikeToken(word)).toBe(false);
    expect(withoutTokenWords(`about ${word}`)).toBe(`about ${word}`);
  });
});

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

it.each([
  ['jane@example.com', 'jane@example.com'],
  ['Zoë Müller 李雷', 'Zoë Müller 李雷'],
  // Two people with one name, to the eye.
  ['jane\u200b', 'jane[U+200B]'],
  ['ja\u200dne', 'ja[U+200D]ne'],
  ['eve\u202emoc.elpmaxe@enaj', 'eve[U+202E]moc.elpmaxe@enaj'],
  ['a\u2028b\u{e0041}', 'a[U+2028]b[U+E0041]'],
])('marks characters that cannot be seen: %j', (name, shown) => {
  expect(visibleName(name)).toBe(shown);
});
