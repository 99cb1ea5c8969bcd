import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ApiError, type Status } from '../../api/status.ts';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { parseListOptions, parseResourceVersion } from './list-options.ts';

const parse = (text: string) => parseListOptions(new URLSearchParams(text));

function refusal(text: string): Status {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error('it was accepted');
}

const plain = {
  watch: false,
  allowWatchBookmarks: false,
  resourceVersion: undefined,
  resourceVersionMatch: '',
  timeoutSeconds: 0,
  limit: 0,
  continue: '',
  sendInitialEvents: undefined,
};

describe('what is read', () => {
  test.each([
    ['', plain],
    ['limit=5&timeoutSeconds=30&continue=abc&unknown=1', { ...plain, limit: 5, timeoutSeconds: 30, continue: 'abc' }],
    ['resourceVersion=0&continue=abc', { ...plain, resourceVersion: 0, continue: 'abc' }],
    ['resourceVersion=17&resourceVersionMatch=Exact', { ...plain, resourceVersion: 17, resourceVersionMatch: 'Exact' }],
    [
      'resourceVersion=0&resourceVersionMatch=NotOlderThan',
      { ...plain, resourceVersion: 0, resourceVersionMatch: 'NotOlderThan' },
    ],
    ['resourceVersion=18446744073709551615', { ...plain, resourceVersion: Number.MAX_SAFE_INTEGER }],
    ['limit=9223372036854775807', { ...plain, limit: Number.MAX_SAFE_INTEGER }],
    [
      'watch=1&resourceVersion=5&allowWatchBookmarks=true',
      { ...plain, watch: true, resourceVersion: 5, allowWatchBookmarks: true },
    ],
    [
      'watch=1&sendInitialEvents=0&resourceVersionMatch=NotOlderThan',
      { ...plain, watch: true, sendInitialEvents: false, resourceVersionMatch: 'NotOlderThan' },
    ],
  ])('L-20: %j', (text, options) => {
    const { labelSelector, fieldSelector, ...others } = parse(text);
    expect(others).toEqual(options);
    expect([labelSelector.requirements, fieldSelector.requirements]).toEqual([[], []]);
  });

  test('selectors are parsed', () => {
    const { labelSelector, fieldSelector } = parse(
      'labelSelector=a%3Db,c&fieldSelector=metadata.name%3Dx,spec.foo!%3Dy',
    );
    expect(labelSelector.toString()).toBe('a in (b),c');
    expect(fieldSelector.requirements).toEqual([
      { field: 'metadata.name', operator: '=', value: 'x' },
      { field: 'spec.foo', operator: '!=', value: 'y' },
    ]);
  });

  test.each([
    ['watch=0', false],
    ['watch=false', false],
    ['watch=FALSE', false],
    ['watch', true],
    ['watch=', true],
    ['watch=1', true],
    ['watch=True', true],
  ])('L-21: %s', (text, watch) => {
    expect(parse(text).watch).toBe(watch);
  });

  test.each([
    ['watch=1', true],
    ['watch=1&resourceVersion=', true],
    ['watch=1&resourceVersion=0', true],
    ['watch=1&resourceVersion=7', undefined],
    ['resourceVersion=0', undefined],
  ])('L-24: %s', (text, sendInitialEvents) => {
    const options = parse(text);
    expect(options.sendInitialEvents).toBe(sendInitialEvents);
    expect(options.resourceVersionMatch).toBe(sendInitialEvents ? 'NotOlderThan' : '');
  });
});

describe('400: what cannot be read', () => {
  const version = (text: string): string =>
    `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;

  test.each([
    ['L-20', 'limit=abc', 'strconv.ParseInt: parsing "abc": invalid syntax'],
    ['L-20', 'limit=', 'strconv.ParseInt: parsing "": invalid syntax'],
    ['L-20', 'timeoutSeconds=1.5', 'strconv.ParseInt: parsing "1.5": invalid syntax'],
    ['L-20', 'limit=9223372036854775808', 'strconv.ParseInt: parsing "9223372036854775808": value out of range'],
    ['L-22', 'labelSelector=a+in+(&limit=x&timeoutSeconds=y', 'strconv.ParseInt: parsing "y": invalid syntax'],
    ['L-22', 'fieldSelector=x&labelSelector=,a', "found ',', expected: !, identifier, or 'end of string'"],
    ['L-22', 'sendInitialEvents=1&fieldSelector=x', "invalid selector: 'x'; can't understand 'x'"],
    ['L-21', 'watch=maybe', 'watch: Invalid value: "maybe": must be "true" or "false"'],
    ['L-21', 'watch=no', 'watch: Invalid value: "no": must be "true" or "false"'],
    ['L-21', 'watch=f', 'watch: Invalid value: "f": must be "true" or "false"'],
    ['L-21', 'watch=00', 'watch: Invalid value: "00": must be "true" or "false"'],
    ['L-21', 'watch=1&allowWatchBookmarks=yes', 'allowWatchBookmarks: Invalid value: "yes": must be "true" or "false"'],
    ['L-21', 'watch=1&sendInitialEvents=on', 'sendInitialEvents: Invalid value: "on": must be "true" or "false"'],
    ['C-G', 'limit=-1', 'limit: Invalid value: -1: must be greater than or equal to 0'],
    ['C-G', 'timeoutSeconds=-1', 'timeoutSeconds: Invalid value: -1: must be greater than or equal to 0'],
    ['L-25', 'resourceVersion=abc', version('abc')],
    ['L-25', 'resourceVersion=-1', version('-1')],
    ['C-G', 'watch=1&resourceVersion=abc', version('abc')],
    ['L-32', 'continue=x&resourceVersion=5', 'specifying resource version is not allowed when using continue'],
  ])('%s: %s', (_, text, message) => {
    expect(refusal(text)).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });
});

describe('422: what cannot be combined', () => {
  const match = 'resourceVersionMatch: ';
  test.each([
    [
      'resourceVersionMatch=Exact',
      `${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=5&continue=x',
      `${match}Forbidden: resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'resourceVersionMatch=X&resourceVersion=5',
      `${match}Unsupported value: "X": supported values: "Exact", "NotOlderThan", ""`,
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=0',
      `${match}Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=00',
      `${match}Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
    ],
    ['sendInitialEvents=false', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    [
      'resourceVersionMatch=X',
      `[${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, ${match}Unsupported value: "X": supported values: "Exact", "NotOlderThan", ""]`,
    ],
    [
      'watch=1&sendInitialEvents=1',
      `${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
    ],
    [
      'watch=1&resourceVersionMatch=NotOlderThan',
      `${match}Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    ],
    [
      'watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&continue=x',
      `${match}Forbidden: resourceVersionMatch is forbidden when continue is provided`,
    ],
    [
      'watch=1&sendInitialEvents=1&resourceVersionMatch=Exact',
      `[${match}Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, ${match}Unsupported value: "Exact": supported values: "NotOlderThan"]`,
    ],
    [
      'resourceVersionMatch=Exact&resourceVersion=&continue=x&sendInitialEvents=1&resourceVersion=abc',
      `[${match}Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, ${match}Forbidden: resourceVersionMatch is forbidden when continue is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]`,
    ],
  ])('L-23: %s', (text, errors) => {
    expect(refusal(text)).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: `ListOptions.meta.k8s.io "" is invalid: ${errors}`,
      details: { group: 'meta.k8s.io', kind: 'ListOptions' },
    });
  });

  test('L-22: what cannot be combined comes before a bad version', () => {
    expect(refusal('resourceVersion=abc&sendInitialEvents=1').code).toBe(422);
  });
});

test('a version of a get is read by the same rules', () => {
  expect(['', '0', '12'].map(parseResourceVersion)).toEqual([undefined, 0, 12]);
  expect(() => parseResourceVersion('x')).toThrow(ApiError);
});

test('no query makes anything but an ApiError', () => {
  const key = fc.constantFrom(...Object.keys(plain), 'labelSelector', 'fieldSelector');
  const value = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom('', '0', '-1', 'a=b', 'a in (b)', 'Exact', 'NotOlderThan', '\\', ',', '!'),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(key, value), { maxLength: 6 }), (pairs) => {
      try {
        parseListOptions(new URLSearchParams(pairs));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a selector from the cache equals one that is parsed, whatever was parsed before', () => {
  const name = fc.constantFrom('a', 'b', 'c.d/e', 'zone');
  const value = fc.constantFrom('', 'x', 'y', '1', '=', '(');
  const term = fc.oneof(
    fc.tuple(name, fc.constantFrom('=', '==', '!=', ' in ', ' notin '), value).map((parts) => parts.join('')),
    fc.tuple(name, value, value).map(([key, one, two]) => `${key} in (${one},${two})`),
    name,
    name.map((key) => `!${key}`),
  );
  const text = fc.array(term, { maxLength: 3 }).map((terms) => terms.join(','));
  const outcomeOf = (parse: () => { toString(): string }): string => {
    try {
      return `parsed ${parse()}`;
    } catch (error) {
      return `refused ${error instanceof ApiError ? error.status.message : (error as Error).message}`;
    }
  };
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 600 }), (texts) => {
      for (const selector of texts) {
        const query = new URLSearchParams({ labelSelector: selector });
        expect(outcomeOf(() => parseListOptions(query).labelSelector)).toBe(
          outcomeOf(() => parseLabelSelector(selector)),
        );
        const byField = new URLSearchParams({ fieldSelector: selector });
        expect(outcomeOf(() => parseListOptions(byField).fieldSelector)).toBe(
          outcomeOf(() => parseFieldSelector(selector)),
        );
      }
    }),
    { numRuns: 30 },
  );
});
