import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SelectorSyntaxError } from './label-requirement.ts';
import { type LabelOperator, parseLabelSelector } from './label-selector.ts';

const QUALIFIED_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const INTEGER_RULE = "for 'Gt', 'Lt' operators, the value must be an integer";

function messageOf(text: string): string {
  try {
    parseLabelSelector(text);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return error.message;
    throw error;
  }
  throw new Error(`${text} was accepted`);
}

const parse = (text: string) => parseLabelSelector(text).requirements;
const one = (key: string, operator: LabelOperator, ...values: string[]) => [{ key, operator, values }];

const list = (count: number): string => Array.from({ length: count }, (_, index) => `v${index}`).join();
const terms = (count: number, times = 1): string =>
  Array.from({ length: count * times }, (_, index) => `key-${index % count}=x`).join();

describe('what parseLabelSelector accepts', () => {
  it.each([
    ['a', one('a', 'exists')],
    ['!a', one('a', '!')],
    ['! a', one('a', '!')],
    ['a=b', one('a', 'in', 'b')],
    ['a==b', one('a', 'in', 'b')],
    ['a!=b', one('a', 'notin', 'b')],
    ['a=', one('a', 'in', '')],
    ['a!=', one('a', 'notin', '')],
    ['a>5', one('a', 'gt', '5')],
    ['a<007', one('a', 'lt', '007')],
    ['a in (b)', one('a', 'in', 'b')],
    ['a in(b)', one('a', 'in', 'b')],
    ['a notin (c,b,c)', one('a', 'notin', 'b', 'c')],
    ['a in ()', one('a', 'in', '')],
    ['a in (,)', one('a', 'in', '')],
    ['a in (,b)', one('a', 'in', '', 'b')],
    ['a in (b,)', one('a', 'in', '', 'b')],
    ['a in (b,,c)', one('a', 'in', '', 'b', 'c')],
    ['in', one('in', 'exists')],
    ['!notin', one('notin', '!')],
    ['in in (in,notin)', one('in', 'in', 'in', 'notin')],
    ['notin=in', one('notin', 'in', 'in')],
    ['\t a \r\n =\n b ', one('a', 'in', 'b')],
    ['example.com/tier=web', one('example.com/tier', 'in', 'web')],
    ['constructor', one('constructor', 'exists')],
  ])('5.5: %j', (text, requirements) => {
    expect(parse(text)).toEqual(requirements);
  });

  it.each(['', ' ', '\t\r\n'])('5.5: %j selects everything', (text) => {
    const selector = parseLabelSelector(text);
    expect(selector.isEmpty).toBe(true);
    expect(selector.matches(undefined)).toBe(true);
    expect(selector.matches({ a: 'b' })).toBe(true);
    expect(String(selector)).toBe('');
  });

  it.each([
    ['z,!b,a!=2,a=1,x in (q,p)', '!b,a in (1),a notin (2),x in (p,q),z'],
    ['a=1,a==1,a in (1,1),a in (1)', 'a in (1)'],
    ['a!=1,a notin (1),a=1', 'a in (1),a notin (1)'],
    ['a=1,a=2', 'a in (1),a in (2)'],
    ['a,a,!a,!a,b>1,b>1,b<1', '!a,a,b<1,b>1'],
  ])('%s is the same as %s', (text, canonical) => {
    const selector = parseLabelSelector(text);
    expect(String(selector)).toBe(canonical);
    expect(
      String(
        parseLabelSelector(
          text
            .split(/,(?![^(]*\))/)
            .toReversed()
            .join(),
        ),
      ),
    ).toBe(canonical);
    expect(selector.requirements).toHaveLength(canonical.split(/,(?![^(]*\))/).length);
  });

  it.each([
    ['64 requirements', terms(64), undefined],
    ['65 requirements', terms(65), 'a selector may have at most 64 requirements, and this one has 65'],
    ['64 requirements, each of them 30 times', terms(64, 30), undefined],
    ['256 values', `a in (${list(100)}),b notin (${list(100)}),c in (${list(56)})`, undefined],
    [
      '257 values',
      `a in (${list(100)}),b notin (${list(100)}),c in (${list(57)})`,
      'a selector may have at most 256 values, and this one has 257',
    ],
    ['256 values, each of them twice', `a in (${list(256)},${list(256)})`, undefined],
  ])('%s', (_, text, message) => {
    if (message === undefined) expect(() => parseLabelSelector(text)).not.toThrow();
    else expect(messageOf(text)).toBe(message);
  });
});

describe('what parseLabelSelector refuses', () => {
  const inRequirement = (message: string) => `unable to parse requirement: ${message}`;
  it.each([
    ['a b', inRequirement("found 'b', expected: in, notin, =, ==, !=, gt, lt")],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    [',', "found ',', expected: !, identifier, or 'end of string'"],
    ['=a', "found '=', expected: !, identifier, or 'end of string'"],
    ['(a)', "found '(', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a,,b', "found ',', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['!a=b', "found '=', expected: ',' or 'end of string'"],
    ['!a in (b)', "found 'in', expected: ',' or 'end of string'"],
    ['a in (b) c', "found 'c', expected: ',' or 'end of string'"],
    ['a in b', inRequirement("found 'b' expected: '('")],
    ['a in', inRequirement("found '' expected: '('")],
    ['a in (b', inRequirement("found '', expected: ',' or ')'")],
    ['a in (b c)', inRequirement("found 'c', expected: ',' or ')'")],
    ['a in (', inRequirement("found '', expected: ',', ')' or identifier")],
    ['a in (=)', inRequirement("found '=', expected: ',', ')' or identifier")],
    ['a in (,', inRequirement("found '', expected: ',', or identifier")],
    ['a in (b,', inRequirement("found '', expected: ',', or identifier")],
    ['a in (b,!c)', inRequirement("found '!', expected: ',', or identifier")],
    ['!', inRequirement("found '', expected: identifier")],
    ['!!a', inRequirement("found '!', expected: identifier")],
    ['a=(', inRequirement("found '(', expected: identifier")],
    ['a===b', inRequirement("found '=', expected: identifier")],
    ['a!b', inRequirement("found '!', expected: in, notin, =, ==, !=, gt, lt")],
    ['-a', inRequirement(`<nil>: Invalid value: "-a": name part ${QUALIFIED_RULE}`)],
    ['__proto__', inRequirement(`<nil>: Invalid value: "__proto__": name part ${QUALIFIED_RULE}`)],
    [
      '/=b',
      inRequirement(
        `<nil>: Invalid value: "/": prefix part must be non-empty; name part must be non-empty; name part ${QUALIFIED_RULE}`,
      ),
    ],
    ['a=$', inRequirement(`values[0][a]: Invalid value: "$": ${VALUE_RULE}`)],
    [
      'a in ($,b,%)',
      inRequirement(
        `[values[0][a]: Invalid value: "$": ${VALUE_RULE}, values[1][a]: Invalid value: "%": ${VALUE_RULE}]`,
      ),
    ],
    ['a>x', inRequirement(`values[0]: Invalid value: "x": ${INTEGER_RULE}`)],
    ['a>', inRequirement(`values[0]: Invalid value: "": ${INTEGER_RULE}`)],
    ['a<1.5', inRequirement(`values[0]: Invalid value: "1.5": ${INTEGER_RULE}`)],
    ['a>-5', inRequirement(`values[0][a]: Invalid value: "-5": ${VALUE_RULE}`)],
    [
      'a<$',
      inRequirement(
        `[values[0]: Invalid value: "$": ${INTEGER_RULE}, values[0][a]: Invalid value: "$": ${VALUE_RULE}]`,
      ),
    ],
    [
      `a=${'x'.repeat(64)}`,
      inRequirement(`values[0][a]: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`),
    ],
  ])('5.5: %j', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  it('does not take a NUL for the end, which would make everything match', () => {
    expect(messageOf('\0')).toContain('Invalid value: "\\x00"');
    expect(messageOf('\0env=prod')).toContain('Invalid value: "\\x00env"');
    expect(messageOf('env=prod\0')).toContain('Invalid value: "prod\\x00"');
  });
});

describe('LabelSelector.matches', () => {
  it.each([
    ['a', { a: '' }, true],
    ['a', { b: 'x' }, false],
    ['!a', { b: 'x' }, true],
    ['!a', { a: '' }, false],
    ['a=x', { a: 'x' }, true],
    ['a==x', { a: 'y' }, false],
    ['a=', { a: '' }, true],
    ['a=', {}, false],
    ['a!=x', { a: 'x' }, false],
    ['a!=x', { a: 'y' }, true],
    ['a!=x', {}, true],
    ['a!=', {}, true],
    ['a in (x,y)', { a: 'y' }, true],
    ['a in (x,y)', { a: 'z' }, false],
    ['a in (x,y)', {}, false],
    ['a in ()', { a: '' }, true],
    ['a notin (x,y)', { a: 'y' }, false],
    ['a notin (x,y)', { a: 'z' }, true],
    ['a notin (x,y)', {}, true],
    ['a>5', { a: '6' }, true],
    ['a>5', { a: '5' }, false],
    ['a>5', { a: 'six' }, false],
    ['a>5', {}, false],
    ['a<5', { a: '4' }, true],
    ['a<5', { a: '05' }, false],
    ['a<5', { a: '' }, false],
    ['a>9007199254740992', { a: '9007199254740993' }, true],
    ['a>1', { a: '9223372036854775808' }, false],
    ['a=x,b', { a: 'x' }, false],
    ['a=x,b', { a: 'x', b: '' }, true],
  ])('5.5: %s on %j is %j', (text, labels, expected) => {
    const selector = parseLabelSelector(text);
    expect(selector.matches(labels as Record<string, string>)).toBe(expected);
  });

  it('an object without labels lacks every key', () => {
    expect(parseLabelSelector('a').matches(undefined)).toBe(false);
    expect(parseLabelSelector('!a,b!=c').matches(undefined)).toBe(true);
  });

  it.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf'])('%s is not inherited from Object', (key) => {
    expect(parseLabelSelector(key).matches({})).toBe(false);
    expect(parseLabelSelector(`!${key}`).matches({})).toBe(true);
    expect(parseLabelSelector(key).matches({ [key]: 'x' })).toBe(true);
  });
});

const nameArbitrary = fc.oneof(
  fc.constantFrom('in', 'notin', 'a', 'constructor'),
  fc.stringMatching(/^[a-z0-9]([-a-z0-9_.]{0,5}[a-z0-9])?$/),
);
const keyArbitrary = fc.oneof(
  nameArbitrary,
  nameArbitrary.map((name) => `example.com/${name}`),
);
const valueArbitrary = fc.oneof(fc.constant(''), nameArbitrary);
const blank = fc.constantFrom('', ' ', '\t', '\r\n');
const gap = fc.constantFrom(' ', '\t\n');
const requirementText = fc.oneof(
  keyArbitrary,
  fc.tuple(blank, keyArbitrary).map(([space, key]) => `!${space}${key}`),
  fc.tuple(keyArbitrary, blank, fc.constantFrom('=', '==', '!='), blank, valueArbitrary).map((parts) => parts.join('')),
  fc.tuple(keyArbitrary, fc.constantFrom('>', '<'), fc.nat()).map((parts) => parts.join('')),
  fc
    .tuple(keyArbitrary, gap, fc.constantFrom('in', 'notin'), blank, fc.array(valueArbitrary, { maxLength: 5 }))
    .map(([key, space, operator, blanks, values]) => `${key}${space}${operator}${blanks}(${values.join(',')})`),
);
const selectorText = fc.array(requirementText, { maxLength: 6 }).map((parts) => parts.join(','));
const hostileText = fc.string({
  unit: fc.constantFrom(...'ab=!<>(), \t', 'in', 'notin', '\0', 'é', '/'),
  maxLength: 30,
});

describe('properties', () => {
  it('every well-formed selector can be printed and parsed again', () => {
    fc.assert(
      fc.property(selectorText, (text) => {
        const selector = parseLabelSelector(text);
        const again = parseLabelSelector(String(selector));
        expect(again.requirements).toEqual(selector.requirements);
        expect(String(again)).toBe(String(selector));
      }),
    );
  });

  it('whatever parses at all can be printed and parsed again, and nothing else than a syntax error is thrown', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        try {
          const selector = parseLabelSelector(text);
          expect(parseLabelSelector(String(selector)).requirements).toEqual(selector.requirements);
        } catch (error) {
          expect(error).toBeInstanceOf(SelectorSyntaxError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
