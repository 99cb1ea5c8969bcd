import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertSupported, parseFieldSelector } from './field-selector.ts';
import { SelectorSyntaxError } from './label-requirement.ts';

const term = (field: string, operator: '=' | '!=', value: string) => ({ field, operator, value });

describe('parseFieldSelector', () => {
  it.each([
    ['', []],
    [',,', []],
    ['a=b', [term('a', '=', 'b')]],
    ['a==b', [term('a', '=', 'b')]],
    ['a!=b', [term('a', '!=', 'b')]],
    ['a=', [term('a', '=', '')]],
    ['=b', [term('', '=', 'b')]],
    ['a!b=c', [term('a!b', '=', 'c')]],
    [' a = b ', [term(' a ', '=', ' b ')]],
    ['b=2,,a=1,', [term('a', '=', '1'), term('b', '=', '2')]],
    ['a=x\\,y', [term('a', '=', 'x,y')]],
    ['a=x\\=y\\\\', [term('a', '=', 'x=y\\')]],
    ['a in (b)=c', [term('a in (b)', '=', 'c')]],
  ])('L-40: %j', (text, requirements) => {
    expect(parseFieldSelector(text).requirements).toEqual(requirements);
  });

  it.each([
    ['a', "invalid selector: 'a'; can't understand 'a'"],
    ['b=1,a!', "invalid selector: 'b=1,a!'; can't understand 'a!'"],
    ['a in (b,c)', "invalid selector: 'a in (b,c)'; can't understand 'a in (b'"],
    ['z=\\x,y', "invalid selector: 'z=\\x,y'; can't understand 'y'"],
    ['a=\\x', 'invalid field selector: invalid escape sequence: \\x'],
    ['a=\\😀', 'invalid field selector: invalid escape sequence: \\😀'],
    ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    ['a===b', 'invalid field selector: unescaped character in value: 61'],
    ['a!==b', 'invalid field selector: unescaped character in value: 61'],
    ['a\\=b=c', 'invalid field selector: unescaped character in value: 61'],
  ])('L-41: %j', (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new SelectorSyntaxError(message));
  });

  const field = fc.stringMatching(/^[a-z.]{1,10}$/);
  // A requirement that is repeated counts once.
  const selector = fc.uniqueArray(fc.tuple(field, fc.constantFrom('=', '!='), fc.string({ unit: 'grapheme' })), {
    selector: (requirement) => JSON.stringify(requirement),
  });

  it('reads back any value it has escaped', () => {
    fc.assert(
      fc.property(selector, (terms) => {
        const text = terms.map(([name, operator, value]) => `${name}${operator}${value.replaceAll(/[\\,=]/g, '\\$&')}`);
        const parsed = parseFieldSelector(text.join(','));
        const written = terms.map(([name, operator, value]) => ({ field: name, operator, value }));
        expect(parsed.requirements).toHaveLength(written.length);
        expect(parsed.requirements).toEqual(expect.arrayContaining(written));
        expect(parseFieldSelector(String(parsed)).requirements).toEqual(parsed.requirements);
      }),
    );
  });
});

describe('FieldSelector', () => {
  it('L-28: knows the one value a field must have', () => {
    const parsed = parseFieldSelector('metadata.name=x,metadata.namespace!=y');
    expect(parsed.exactValue('metadata.name')).toBe('x');
    expect(parsed.exactValue('metadata.namespace')).toBeUndefined();
    expect(parsed.exactValue('constructor')).toBeUndefined();
    expect(parsed.isEmpty).toBe(false);
    expect(parseFieldSelector('').isEmpty).toBe(true);
  });

  it.each([
    ['metadata.name=x', true],
    ['metadata.name=y', false],
    ['metadata.name!=y', true],
    ['metadata.name!=x', false],
    ['metadata.namespace=', true],
    ['metadata.namespace!=', false],
    ['metadata.name=x,metadata.name=y', false],
    ['constructor=', true],
    ['', true],
  ])('L-40: %s matches: %j', (text, expected) => {
    expect(parseFieldSelector(text).matches((name) => (name === 'metadata.name' ? 'x' : ''))).toBe(expected);
  });

  it.each([64, 65])('may have 64 requirements: %i', (count) => {
    const text = Array.from({ length: count }, (_, index) => `metadata.name!=n${index}`).join();
    const message = 'a selector may have at most 64 requirements, and this one has 65';
    if (count > 64) expect(() => parseFieldSelector(text)).toThrow(new SelectorSyntaxError(message));
    else expect(parseFieldSelector(text).requirements).toHaveLength(64);
  });

  it('L-42: refuses fields that are not offered', () => {
    const supported = ['metadata.name', 'metadata.namespace'];
    expect(() => assertSupported(parseFieldSelector('metadata.name=a,spec.foo!=b'), supported)).toThrow(
      new SelectorSyntaxError('field label not supported: spec.foo'),
    );
    expect(() => assertSupported(parseFieldSelector('metadata.name=a'), supported)).not.toThrow();
    expect(() => assertSupported(parseFieldSelector(''), [])).not.toThrow();
  });
});
