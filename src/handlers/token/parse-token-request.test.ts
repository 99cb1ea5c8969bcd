import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { invalid } from '../../api/status.ts';
import { anyCharacter } from '../../lib/any-character.fixture.ts';
import { parseTokenRequestAnnotations, serverErrors, validateSpec, withoutDuplicates } from './parse-token-request.ts';
import { checkMinExpiration } from './sign-token.ts';

const MIN = 'clusterpass.dev/min-expiration-seconds';
const FOR = 'clusterpass.dev/for';
const TRACKED = 'clusterpass.dev/tracked';
const read = (annotations?: Record<string, string>) =>
  parseTokenRequestAnnotations(annotations === undefined ? {} : { annotations });
const text = (errors: ReturnType<typeof serverErrors>) => invalid({ group: 'g', kind: 'K' }, '', errors).message;

describe('annotations', () => {
  test('none, and all of them', () => {
    const none = {
      annotations: {
        minExpirationSeconds: undefined,
        forCluster: false,
        forServer: undefined,
        group: undefined,
        tracked: false,
      },
      errors: [],
    };
    expect(read()).toEqual(none);
    expect(read({ other: 'x', 'example.com/for': 'x' })).toEqual(none);
    expect(read({ [MIN]: '4294967296', [FOR]: 'cluster', [TRACKED]: 'true' }).annotations).toEqual({
      minExpirationSeconds: 2 ** 32,
      forCluster: true,
      forServer: undefined,
      tracked: true,
    });
    expect(read({ [TRACKED]: 'false' })).toEqual(none);
  });

  test.each(['', '0', '-1', '+1', '1.5', '1e3', ' 600', '600s', '0600', '4294967297', '9'.repeat(400), '٣'])(
    'a minimum lifetime of %j is an error that names the field',
    (value) => {
      const { errors } = read({ [MIN]: value });
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatchObject({ field: `metadata.annotations[${MIN}]`, value });
    },
  );

  test.each(['', 'Cluster', 'cluster ', 'true'])('a purpose of %j is an error', (value) => {
    expect(read({ [FOR]: value }).errors).toMatchObject([{ field: `metadata.annotations[${FOR}]` }]);
  });

  test.each(['', 'True', 'yes', '1'])('tracked %j is an error', (value) => {
    expect(read({ [TRACKED]: value }).errors).toMatchObject([{ field: `metadata.annotations[${TRACKED}]` }]);
  });

  test('an unknown annotation is an error that names those that there are, and cuts a long name', () => {
    const { errors } = read({
      'clusterpass.dev/min-expiration': '1',
      [`clusterpass.dev/${'x'.repeat(500)}`]: '',
    });
    expect(errors[0]).toMatchObject({
      field: 'metadata.annotations[clusterpass.dev/min-expiration]',
      detail: 'is not an annotation of a TokenRequest',
    });
    expect(errors[1]?.field.length).toBeLessThan(300);
  });

  test('names of the prototype are not annotations', () => {
    expect(read(Object.create({ [FOR]: 'nonsense' })).errors).toEqual([]);
  });
});

describe('CP-98: the server that a token is for', () => {
  const errors = (forServer: string | undefined) =>
    serverErrors(
      { minExpirationSeconds: undefined, forCluster: false, forServer, group: undefined, tracked: false },
      () => ({
        serverEndpoints: [{ serverAddress: 'https://a:6443' }, { serverAddress: 'https://b/' }],
      }),
    );

  test('is an address of the cluster', () => {
    for (const address of [undefined, 'https://a:6443', 'https://a:6443/', 'https://b']) {
      expect(errors(address)).toEqual([]);
    }
    for (const address of ['', 'https://a', 'https://a:6443/path', 'https://attacker', 'https://A:6443']) {
      expect(text(errors(address))).toContain('must be an address of the cluster');
    }
    expect(text(errors('x'.repeat(5_000))).length).toBeLessThan(500);
  });
});

describe('the minimum lifetime', () => {
  const check = (minExpirationSeconds: number | undefined, requested: number, granted: number) => () =>
    checkMinExpiration(
      { minExpirationSeconds, forCluster: false, forServer: undefined, group: undefined, tracked: false },
      { requested, granted },
    );

  test('is met, or the error says why not', () => {
    check(undefined, 7200, 600)();
    check(600, 7200, 600)();
    expect(check(601, 7200, 600)).toThrow('Invalid value: 601: the longest lifetime that is granted here is 10m');
    expect(check(2, 600, 1)).toThrow(/ is 1s$/);
    expect(check(601, 600, 600)).toThrow('must not be more than spec.expirationSeconds, which is 10m');
  });
});

const fieldsOf = (spec: Parameters<typeof validateSpec>[0]): string[] =>
  validateSpec(spec, () => undefined).map(({ field }) => field);

describe('decision 2, T-29: audiences', () => {
  test('must be there, but may be null or empty', () => {
    expect(fieldsOf(undefined)).toEqual(['spec.audiences']);
    expect(fieldsOf({})).toEqual(['spec.audiences']);
    expect(fieldsOf({ audiences: null })).toEqual([]);
    expect(fieldsOf({ audiences: [] })).toEqual([]);
  });

  test('are counted after copies are folded', () => {
    const many = Array.from({ length: 32 }, (_, index) => String(index));
    expect(fieldsOf({ audiences: [...many, ...many] })).toEqual([]);
    expect(fieldsOf({ audiences: [...many, 'one more'] })).toEqual(['spec.audiences']);
    expect(withoutDuplicates(['b', 'a', 'b'])).toEqual(['b', 'a']);
  });

  test('are named by their index in the request', () => {
    expect(fieldsOf({ audiences: ['a', 'a', '', 'b\n'] })).toEqual(['spec.audiences[2]', 'spec.audiences[3]']);
  });

  test.each([
    ['x'.repeat(1024), true],
    ['x'.repeat(1025), false],
    ['\u{1f600}'.repeat(1024), true],
    ['\u{1f600}'.repeat(1025), false],
    ['x'.repeat(3_000_000), false],
  ])('1,024 characters are the limit, however many bytes they are (%#)', (audience, fits) => {
    expect(fieldsOf({ audiences: [audience] })).toEqual(fits ? [] : ['spec.audiences[0]']);
  });

  test('whatever is wrong, the value shown is short and never cuts a character in half', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
        const [error] = validateSpec({ audiences: [`${text}\0`] }, () => undefined);
        const shown = String(error?.value);
        expect(shown.isWellFormed()).toBe(text.isWellFormed());
        expect([...shown].length).toBeLessThanOrEqual(67);
        expect(`${text}\0`.startsWith(shown.replace(/\.\.\.$/, ''))).toBe(true);
      }),
    );
  });
});

describe('lifetime', () => {
  test.each([
    [undefined, true],
    [599, false],
    [600, true],
    [2 ** 32, true],
    [2 ** 32 + 1, false],
    [0, false],
    [-600, false],
  ])('T-14, T-15, T-26: %s', (expirationSeconds, fits) => {
    const spec = { audiences: [], ...(expirationSeconds === undefined ? {} : { expirationSeconds }) };
    expect(fieldsOf(spec)).toEqual(fits ? [] : ['spec.expirationSeconds']);
  });
});
