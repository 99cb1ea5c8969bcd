import { describe, expect, it } from 'vitest';
import { parseGoBool, parseGoDuration, parseGoInt64, parseGoUint64, toGoInt64 } from './go-parse.ts';

const failed = (message: string) => ({ ok: false, message });
const parsed = (exact: bigint, value = Number(exact)) => ({ ok: true, value });
const SAFE = Number.MAX_SAFE_INTEGER;

describe('parseGoInt64', () => {
  it.each([
    ['0', parsed(0n)],
    ['500', parsed(500n)],
    ['+5', parsed(5n)],
    ['-1', parsed(-1n)],
    ['-0', parsed(0n)],
    ['007', parsed(7n)],
    [`${'0'.repeat(100)}9`, parsed(9n)],
    ['9007199254740991', parsed(9007199254740991n)],
    ['9007199254740993', parsed(9007199254740993n, SAFE)],
    ['9223372036854775807', parsed(9223372036854775807n, SAFE)],
    ['-9223372036854775808', parsed(-9223372036854775808n, -SAFE)],
  ])('L-20: accepts %j', (text, result) => {
    expect(parseGoInt64(text)).toEqual(result);
  });

  it.each(['', 'abc', '+', '-', '--1', '+-1', '1.5', '1e3', '1_000', '0x10', ' 1', '1 ', '٣', '1\n'])(
    'L-20: %j has no valid syntax',
    (text) => {
      expect(parseGoInt64(text)).toMatchObject({ ok: false, message: expect.stringMatching(/: invalid syntax$/) });
      expect(toGoInt64(text)).toBeUndefined();
    },
  );

  it('L-20: quotes the text in the message', () => {
    expect(parseGoInt64('abc')).toEqual(failed('strconv.ParseInt: parsing "abc": invalid syntax'));
    expect(parseGoInt64('')).toEqual(failed('strconv.ParseInt: parsing "": invalid syntax'));
    expect(parseGoInt64('a"\n')).toEqual(failed('strconv.ParseInt: parsing "a\\"\\n": invalid syntax'));
  });

  it.each(['9223372036854775808', '-9223372036854775809', '18446744073709551616', '99999999999999999999999x'])(
    'L-20: %j is out of range',
    (text) => {
      expect(parseGoInt64(text)).toEqual(failed(`strconv.ParseInt: parsing "${text}": value out of range`));
    },
  );

  it('reports the first error', () => {
    expect(parseGoInt64('9223372036854775808x')).toEqual(
      failed('strconv.ParseInt: parsing "9223372036854775808x": invalid syntax'),
    );
  });
});

describe('parseGoUint64', () => {
  it('L-25: accepts digits up to 2^64 - 1', () => {
    expect(parseGoUint64('0')).toEqual(parsed(0n));
    expect(parseGoUint64('18446744073709551615')).toEqual(parsed(18446744073709551615n, SAFE));
  });

  it.each([
    ['abc', 'invalid syntax'],
    ['', 'invalid syntax'],
    ['+5', 'invalid syntax'],
    ['-1', 'invalid syntax'],
    ['18446744073709551616', 'value out of range'],
  ])('L-25: refuses %j: %s', (text, fault) => {
    expect(parseGoUint64(text)).toEqual(failed(`strconv.ParseUint: parsing "${text}": ${fault}`));
  });
});

describe('parseGoBool', () => {
  it.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('%s is true', (text) => {
    expect(parseGoBool(text)).toEqual({ ok: true, value: true });
  });
  it.each(['0', 'f', 'F', 'FALSE', 'false', 'False'])('%s is false', (text) => {
    expect(parseGoBool(text)).toEqual({ ok: true, value: false });
  });
  it.each(['', 'yes', 'tRUE', ' true', 'constructor'])('refuses %j', (text) => {
    expect(parseGoBool(text)).toEqual(failed(`strconv.ParseBool: parsing "${text}": invalid syntax`));
  });
});

describe('parseGoDuration', () => {
  it.each([
    ['0', 0],
    ['+0', 0],
    ['-0s', 0],
    ['5s', 5_000],
    ['1m30s', 90_000],
    ['-1.5h', -5_400_000],
    ['2h45m', 9_900_000],
    ['300ms', 300],
    ['.5s', 500],
    ['5.s', 5_000],
    ['1us', 0.001],
    ['1\u00b5s', 0.001],
    ['1\u03bcs', 0.001],
    ['1000000ns', 1],
    ['39h9m14.425s', 140_954_425],
    ['0.100000000000000000000h', 360_000],
    ['0.9223372036854775807h', 3_320_413.933267],
    [`${'0'.repeat(1000)}1s`, 1_000],
  ])('C-07: %s', (text, milliseconds) => {
    expect(parseGoDuration(text)).toEqual({ ok: true, milliseconds });
  });

  it.each([
    ['abc', 'time: invalid duration "abc"'],
    ['', 'time: invalid duration ""'],
    ['-', 'time: invalid duration "-"'],
    ['.', 'time: invalid duration "."'],
    ['.s', 'time: invalid duration ".s"'],
    ['-.', 'time: invalid duration "-."'],
    ['1s-', 'time: unknown unit "s-" in duration "1s-"'],
    [' 1s', 'time: invalid duration " 1s"'],
    ['5', 'time: missing unit in duration "5"'],
    ['1h5', 'time: missing unit in duration "1h5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
    ['1d', 'time: unknown unit "d" in duration "1d"'],
    ['1S', 'time: unknown unit "S" in duration "1S"'],
    ['1constructor', 'time: unknown unit "constructor" in duration "1constructor"'],
    ['1\n', 'time: unknown unit "\\x0a" in duration "1\\x0a"'],
    ['1é"\\', 'time: unknown unit "\\xc3\\xa9\\"\\\\" in duration "1\\xc3\\xa9\\"\\\\"'],
    ['9223372036854775808ns', 'time: invalid duration "9223372036854775808ns"'],
    ['9223372036854775809', 'time: invalid duration "9223372036854775809"'],
    ['2562048h', 'time: invalid duration "2562048h"'],
    ['9223372036s1000000000ns', 'time: invalid duration "9223372036s1000000000ns"'],
  ])('C-07: refuses %j', (text, message) => {
    expect(parseGoDuration(text)).toEqual(failed(message));
  });
});
