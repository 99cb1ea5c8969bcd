import { goQuote } from './go-quote.ts';

/**
 * Go's text-to-value conversions, with the messages clients read when they fail (C-07, L-20, L-25).
 * Every parser is one pass over the text and stops at the first error.
 */

interface ParseFailure {
  readonly ok: false;
  /** The text of Go's error. */
  readonly message: string;
}

/** The value is clamped to the safe integers (2^53 - 1 either way), so that arithmetic on it is exact. */
export type IntegerResult = { readonly ok: true; readonly value: number } | ParseFailure;

const MAX_UINT64 = 2n ** 64n - 1n;
/** 2^63: one more than the largest 64-bit integer with a sign, and the size of the smallest. */
const HALF_RANGE = 2n ** 63n;

/** Go's `strconv.ParseInt(text, 10, 64)`: an optional sign, then digits. */
export function parseGoInt64(text: string): IntegerResult {
  return integerResult('ParseInt', text, scanInt64(text));
}

/** Go's `strconv.ParseUint(text, 10, 64)`: digits only, not even a plus sign. */
export function parseGoUint64(text: string): IntegerResult {
  return integerResult('ParseUint', text, scanDigits(text, 0));
}

/** The value of `strconv.ParseInt`; undefined instead of an error message. */
export function toGoInt64(text: string): bigint | undefined {
  const scanned = scanInt64(text);
  return typeof scanned === 'string' ? undefined : BigInt(scanned);
}

type Fault = 'invalid syntax' | 'value out of range';
/** A number for few digits, which is nearly every integer; a bigint is several times slower. */
type Integer = number | bigint;

function integerResult(goFunction: string, text: string, scanned: Integer | Fault): IntegerResult {
  if (typeof scanned === 'number') return { ok: true, value: scanned };
  if (typeof scanned === 'string') return failure(goFunction, text, scanned);
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  const clamped = scanned > limit ? limit : scanned < -limit ? -limit : scanned;
  return { ok: true, value: Number(clamped) };
}

function failure(goFunction: string, text: string, fault: Fault): ParseFailure {
  return { ok: false, message: `strconv.${goFunction}: parsing ${goQuote(text)}: ${fault}` };
}

function scanInt64(text: string): Integer | Fault {
  const negative = text.startsWith('-');
  const magnitude = scanDigits(text, negative || text.startsWith('+') ? 1 : 0);
  if (typeof magnitude === 'number') return negative && magnitude > 0 ? -magnitude : magnitude;
  if (typeof magnitude === 'string') return magnitude;
  const value = negative ? -magnitude : magnitude;
  return value >= HALF_RANGE || value < -HALF_RANGE ? 'value out of range' : value;
}

/** Every integer of so many digits is exact as a number, and most have fewer. */
const EXACT_DIGITS = 15;
const MAX_UINT64_DIGITS = 20;

/** The first error counts: a number is out of range even if a letter follows the digit that makes it so. */
function scanDigits(text: string, start: number): Integer | Fault {
  const [digits = ''] = /^[0-9]*/.exec(text.slice(start)) ?? [];
  const significant = digits.replace(/^0+(?=.)/, '');
  const isLong = significant.length > EXACT_DIGITS;
  if (isLong && BigInt(significant.slice(0, MAX_UINT64_DIGITS + 1)) > MAX_UINT64) return 'value out of range';
  if (digits === '' || start + digits.length < text.length) return 'invalid syntax';
  return isLong ? BigInt(significant) : Number(significant);
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

type BoolResult = { readonly ok: true; readonly value: boolean } | ParseFailure;

/** Go's `strconv.ParseBool`. Query parameters follow the looser rule of L-21 instead. */
export function parseGoBool(text: string): BoolResult {
  const value = BOOLEANS.get(text);
  return value === undefined ? failure('ParseBool', text, 'invalid syntax') : { ok: true, value };
}

type DurationResult = { readonly ok: true; readonly milliseconds: number } | ParseFailure;

const NANOSECONDS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

/** A whole number, a fraction, and what comes before the next digit or point: the unit. */
const DURATION_PART = /([0-9]*)(?:\.([0-9]*))?([^.0-9]*)/y;

/** Go's `time.ParseDuration`: `300ms`, `-1.5h`, `2h45m`. Go counts nanoseconds, we give milliseconds. */
export function parseGoDuration(text: string): DurationResult {
  const fault = (what: string): ParseFailure => ({
    ok: false,
    message: `time: ${what} duration ${quoteForTime(text)}`,
  });
  const negative = text.startsWith('-');
  let at = negative || text.startsWith('+') ? 1 : 0;
  if (text.slice(at) === '0') return { ok: true, milliseconds: 0 };
  if (at === text.length) return fault('invalid');

  let total = 0n;
  while (at < text.length) {
    DURATION_PART.lastIndex = at;
    const [part = '', whole = '', fraction = '', unit = ''] = DURATION_PART.exec(text) ?? [];
    const { value, used } = leadingDigits(whole);
    if (`${whole}${fraction}` === '' || used < whole.length) return fault('invalid');
    if (unit === '') return fault('missing unit in');
    const nanoseconds = NANOSECONDS.get(unit);
    if (nanoseconds === undefined) return fault(`unknown unit ${quoteForTime(unit)} in`);

    const rest = leadingDigits(fraction);
    // Floating point on purpose: Go computes the fraction so, and truncates it to a whole nanosecond.
    const ofFraction = Math.trunc(Number(rest.value) * (Number(nanoseconds) / 10 ** rest.used));
    total += value * nanoseconds + BigInt(ofFraction);
    if (total > HALF_RANGE) return fault('invalid');
    at += part.length;
  }
  // The most negative duration has no positive twin.
  if (!negative && total === HALF_RANGE) return fault('invalid');
  return { ok: true, milliseconds: Number(negative ? -total : total) / 1e6 };
}

/**
 * As many digits as do not overflow: text of any length costs one step per character. A whole number must not overflow;
 * a fraction that does is truncated.
 */
function leadingDigits(digits: string): { readonly value: bigint; readonly used: number } {
  let value = 0n;
  for (let used = 0; used < digits.length; used++) {
    const next = value * 10n + BigInt(digits[used] ?? '');
    if (next > HALF_RANGE) return { value, used };
    value = next;
  }
  return { value, used: digits.length };
}

/** The quoting of package `time`, simpler than `strconv`'s: every byte outside ASCII as `\xNN`. */
function quoteForTime(text: string): string {
  let quoted = '"';
  for (const byte of Buffer.from(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) quoted += `\\x${byte.toString(16).padStart(2, '0')}`;
    else quoted += char === '"' || char === '\\' ? `\\${char}` : char;
  }
  return `${quoted}"`;
}
