import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../lib/cpu-time.fixture.ts';
import { ApiError } from '../status.ts';
import { MAX_YAML_BYTES, MAX_YAML_LINES, parseYaml, parseYamlDocuments } from './parse-yaml.ts';
import { NumberNode, toPlain } from './tree.ts';
import { MAX_YAML_TOKENS, YamlSyntaxError } from './yaml-tokens.ts';

const read = (text: string): unknown => JSON.parse(JSON.stringify(toPlain(parseYaml(text).root)));

describe('values', () => {
  test.each([
    ['', null],
    ['# only a comment\n', null],
    ['---\na: 1\n', { a: 1 }],
    ['a: true\nb: no\nc: ~\nd: "1"\ne:\n', { a: true, b: 'no', c: null, d: '1', e: null }],
    ['- 0x1F\n- 0o17\n- 007\n- +5\n- -3\n- 1.5\n- 1e3\n', [31, 15, 7, 5, -3, 1.5, 1000]],
    ['1: a\ntrue: b\n1.5: c\n', { 1: 'a', true: 'b', 1.5: 'c' }],
    ['a: !!str 1\nb: !!int "2"\n', { a: '1', b: 2 }],
    ['t: 2020-01-01T00:00:00Z\n', { t: '2020-01-01T00:00:00Z' }],
    ['a: |\n  &x *y !z\n  %d\n', { a: '&x *y !z\n%d\n' }],
    ['{"kind": "Cluster", "list": [1, {}]}', { kind: 'Cluster', list: [1, {}] }],
  ])('%j', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  test('integers keep every digit, fractions are written as Go writes them', () => {
    expect(parseYaml('[9223372036854775808, 3600.0, -0x1]').root).toEqual([
      new NumberNode('9223372036854775808'),
      new NumberNode('3600'),
      '-0x1',
    ]);
  });

  test('__proto__ is a key like any other', () => {
    const plain = toPlain(parseYaml('__proto__:\n  polluted: true\n').root);
    expect(Object.getPrototypeOf(plain)).toBeNull();
    expect(Object.keys(plain as object)).toEqual(['__proto__']);
  });

  test('S-07: duplicate keys are reported by line, the last value counts', () => {
    const { root, duplicates } = parseYaml(
      'a: 1\nb:\n  name: x\n  other: 1\n  name: y\na: 2\n"na\\"me": 1\n"na\\"me": 2\n',
    );
    expect(duplicates).toEqual([
      'line 5: key "name" already set in map',
      'line 6: key "a" already set in map',
      'line 8: key "na\\"me" already set in map',
    ]);
    expect(JSON.stringify(toPlain(root))).toBe('{"a":2,"b":{"name":"y","other":1},"na\\"me":2}');
  });

  test('a stream of documents, for files of manifests', () => {
    const documents = [...parseYamlDocuments('a: 1\n---\nb: 2\n---\n', MAX_YAML_TOKENS)];
    expect(documents.map(({ root }) => JSON.stringify(toPlain(root)))).toEqual(['{"a":1}', '{"b":2}', 'null']);
  });
});

describe('refused YAML', () => {
  test.each([
    ['an anchor', 'a: &x 1\n', 'yaml: line 1: anchors and aliases are not accepted'],
    ['an alias', 'a: 1\nb: *x\n', 'yaml: line 2: anchors and aliases are not accepted'],
    ['a merge of an alias', 'a: &x {}\nb:\n  <<: *x\n', 'yaml: line 1: anchors and aliases are not accepted'],
    ['a custom tag', 'a: !secret x\n', 'yaml: line 1: tags beyond the core schema are not accepted'],
    ['a verbatim tag', 'a: !<tag:x> x\n', 'yaml: line 1: tags beyond the core schema are not accepted'],
    ['a tag that makes bytes', 'a: !!binary aGk=\n', 'yaml: line 1: tags beyond the core schema are not accepted'],
    ['a directive', '%TAG ! tag:x,2000:\n---\na: 1\n', 'yaml: line 1: directives are not accepted'],
    ['two documents', 'a: 1\n---\nb: 1\n', 'yaml: expected a single document in the stream'],
    ['a list as a key', '? [a]\n: 1\n', 'yaml: line 1: a map key must be a string, a number or a boolean'],
    ['a null key', '~: 1\n', 'yaml: line 1: a map key must be a string, a number or a boolean'],
    ['a number that JSON lacks', 'a: .inf\n', 'yaml: line 1: JSON has no such number'],
    ['an open bracket', 'a: [1\n', /^yaml: line [12]: /],
    ['a tab for indentation', 'a:\n\tb: 1\n', /^yaml: line 2: /],
    ['brackets that close nothing', '}}', /^yaml: line 1: /],
    ['an unknown escape', 'a: 1\nb: "\\q"\n', 'yaml: line 2: Invalid escape sequence \\q'],
    ['the first of two faults', 'a: "\\q"\nb: [,]\n', 'yaml: line 1: Invalid escape sequence \\q'],
    ['a missing element', 'a:\n- [,]\n', 'yaml: line 2: Unexpected , in flow sequence'],
    ['a text as a number', 'a: !!float "x"\n', 'yaml: line 1: Unresolved tag: tag:yaml.org,2002:float'],
    ['a map as a list', 'a: !!seq {b: 1}\n', 'yaml: line 1: Unresolved tag: tag:yaml.org,2002:seq'],
  ])('C-B: %s', (_, text, message) => {
    expect(() => parseYaml(text)).toThrow(YamlSyntaxError);
    expect(() => parseYaml(text)).toThrow(message);
  });

  test.each([
    ['per scalar', `a: "${'\\q'.repeat(65_000)}"`],
    ['per escape of a character', `a: "${'\\xzz'.repeat(32_000)}"`],
    ['per flow token', `a: [${','.repeat(3_900)}]`],
    ['per tag', '- !!float "x"\n'.repeat(600)],
    ['per document', '--- "\\q"\n'.repeat(900)],
  ])('A19: parsing stops at the first fault: faults %s', (_, text) => {
    expect(cpuTimeOf(() => expect(() => parseYaml(text)).toThrow(/yaml: line 1: /))).toBeLessThan(TEST_LIMIT_MS);
  });

  test.each(['"\\ud800"', 'a: {b: [x, "\\udc00"]}'])('C-B: half a surrogate pair in %s', (text) => {
    expect(() => parseYaml(text)).toThrow('half of a surrogate pair');
  });

  test('C-B: the billion laughs', () => {
    const laughs = ['a: &a [lol]', ...'bcdefghi'.split('').map((name, at) => `${name}: &${name} [*${'abcdefgh'[at]}]`)];
    expect(() => parseYaml(laughs.join('\n'))).toThrow(YamlSyntaxError);
  });

  test.each([
    ['depth of lists in one line', '- '.repeat(65)],
    ['depth of brackets', '['.repeat(100)],
    ['depth of maps', Array.from({ length: 70 }, (_, at) => `${' '.repeat(at)}a:\n`).join('')],
    ['nesting without end', '['.repeat(100_000)],
    ['tokens', `[${'1,'.repeat(MAX_YAML_TOKENS)}]`],
    ['blank lines', '\n'.repeat(MAX_YAML_LINES + 1)],
    ['lines of a text', `a: |\n${' x\n'.repeat(MAX_YAML_LINES + 1)}`],
  ])('C-B: %s', (_, text) => {
    expect(() => parseYaml(text)).toThrow(ApiError);
  });

  test('depth as in JSON', () => {
    expect(read('['.repeat(64) + ']'.repeat(64))).toBeDefined();
    expect(() => parseYaml('['.repeat(65) + ']'.repeat(65))).toThrow('nests values more than 64 levels deep');
  });

  test('A19: the maximum number of lines is accepted', () => {
    expect(read(`a: |\n${' x\n'.repeat(MAX_YAML_LINES - 1)}`)).toBeDefined();
  });

  test('size', () => {
    expect(read(`a: ${'x'.repeat(MAX_YAML_BYTES - 3)}`)).toBeDefined();
    expect(() => parseYaml(`a: ${'x'.repeat(MAX_YAML_BYTES - 2)}`)).toThrow(
      `Request entity too large: limit is ${MAX_YAML_BYTES}`,
    );
  });

  test('throws only YamlSyntaxError and ApiError', () => {
    const piece = fc.constantFrom(
      ...['a', 'b: ', '- ', '\n', '  ', ': ', '? ', '{', '}', '[', ']', ',', '"', "'", '|', '>', '#', '&a ', '*a'],
      ...['!t ', '!!str ', '---\n', '...\n', '%Y\n', '1', '0x', '~', 'true', '\t', '\r', '\u0000', '\ufeff', '\ud800'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        try {
          parseYaml(pieces.join(''));
        } catch (error) {
          if (!(error instanceof YamlSyntaxError || error instanceof ApiError)) throw error;
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
