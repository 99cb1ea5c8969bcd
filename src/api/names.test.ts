import { describe, expect, it } from 'vitest';
import {
  isDns1123Label,
  isDns1123Subdomain,
  isPathSegmentName,
  isQualifiedName,
  isValidLabelValue,
  MAX_ANNOTATIONS_BYTES,
  validateAnnotations,
  validateLabels,
} from './names.ts';
import { invalid } from './status.ts';

const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
describe('isDns1123Label', () => {
  it.each(['a', '0', 'my-name', '123-abc', 'a--b', 'a'.repeat(63)])('M-02: accepts %s', (name) => {
    expect(isDns1123Label(name)).toEqual([]);
  });

  it.each(['', '-', '-a', 'a-', 'A', 'a_b', 'a b', 'é', 'a\n', '.a', 'a.', 'a..b'])('M-02: refuses %j', (name) => {
    expect(isDns1123Label(name)).toEqual([LABEL_RULE]);
  });

  it('M-02, M-04: at most 63 bytes', () => {
    expect(isDns1123Label('a'.repeat(64))).toEqual(['must be no more than 63 bytes']);
    expect(isDns1123Label('é'.repeat(32))).toEqual(['must be no more than 63 bytes', LABEL_RULE]);
    expect(isDns1123Label('é'.repeat(31))).toEqual([LABEL_RULE]);
  });
});

describe('isDns1123Subdomain', () => {
  it.each(['a', 'example.com', 'a-b.c-d', '1.2.3', `${'a'.repeat(100)}.b`, 'a'.repeat(253)])(
    'M-03, M-04: accepts %s',
    (name) => {
      expect(isDns1123Subdomain(name)).toEqual([]);
    },
  );

  it.each(['', '.', 'Foo', 'a..b', 'a.-b', 'a-.b', '.a', 'a.', 'a/b', 'a%b', '..'])('M-03: refuses %j', (name) => {
    expect(isDns1123Subdomain(name)).toEqual([SUBDOMAIN_RULE]);
  });

  it('M-03: at most 253 bytes', () => {
    expect(isDns1123Subdomain('a'.repeat(254))).toEqual(['must be no more than 253 bytes']);
    expect(isDns1123Subdomain('A'.repeat(254))).toEqual(['must be no more than 253 bytes', SUBDOMAIN_RULE]);
  });

  it('M-01: gives the message of an object with a bad name', () => {
    const [detail = ''] = isDns1123Subdomain('Foo');
    const error = invalid({ group: 'clusterregistry.k8s.io', kind: 'Cluster' }, 'Foo', [
      { type: 'invalid', field: 'metadata.name', value: 'Foo', detail },
    ]);
    expect(error.message).toBe(
      `Cluster.clusterregistry.k8s.io "Foo" is invalid: metadata.name: Invalid value: "Foo": ${SUBDOMAIN_RULE}`,
    );
  });
});

describe('isPathSegmentName', () => {
  it.each([
    ['.', ["may not be '.'"]],
    ['..', ["may not be '..'"]],
    ['a/b', ["may not contain '/'"]],
    ['a%b', ["may not contain '%'"]],
    ['%2F/', ["may not contain '/'", "may not contain '%'"]],
    ['...', []],
    ['system:node', []],
    ['', []],
  ])('M-06, M-07: %j', (name, errors) => {
    expect(isPathSegmentName(name)).toEqual(errors);
  });
});

describe('isQualifiedName', () => {
  it.each(['a', 'MyName', 'my.name', 'a_b', 'example.com/MyName', 'in', `e.com/${'x'.repeat(63)}`, 'constructor'])(
    'accepts %s',
    (key) => {
      expect(isQualifiedName(key)).toEqual([]);
    },
  );

  it.each([
    ['', ['name part must be non-empty', `name part ${QUALIFIED_RULE}`]],
    ['-a', [`name part ${QUALIFIED_RULE}`]],
    ['a-', [`name part ${QUALIFIED_RULE}`]],
    ['__proto__', [`name part ${QUALIFIED_RULE}`]],
    ['x'.repeat(64), ['name part must be no more than 63 bytes']],
    ['é'.repeat(32), ['name part must be no more than 63 bytes', `name part ${QUALIFIED_RULE}`]],
    ['/a', ['prefix part must be non-empty']],
    ['a/', ['name part must be non-empty', `name part ${QUALIFIED_RULE}`]],
    ['Upper.com/a', [`prefix part ${SUBDOMAIN_RULE}`]],
    [`${'p'.repeat(254)}/a`, ['prefix part must be no more than 253 bytes']],
    [
      'a/b/c',
      [`a valid label key ${QUALIFIED_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
    ],
  ])('refuses %j', (key, errors) => {
    expect(isQualifiedName(key)).toEqual(errors);
  });
});

describe('isValidLabelValue', () => {
  it.each(['', 'a', 'MyValue', 'my_value', '12345', 'a.b-c', 'v'.repeat(63)])('accepts %j', (value) => {
    expect(isValidLabelValue(value)).toEqual([]);
  });

  it('refuses with the message of Kubernetes', () => {
    expect(isValidLabelValue('$')).toEqual([VALUE_RULE]);
    expect(isValidLabelValue('v'.repeat(64))).toEqual(['must be no more than 63 bytes']);
    expect(isValidLabelValue('$'.repeat(64))).toEqual(['must be no more than 63 bytes', VALUE_RULE]);
  });
});

describe('validateLabels', () => {
  it('accepts valid labels', () => {
    expect(validateLabels({ app: 'web', 'example.com/tier': '' }, 'metadata.labels')).toEqual([]);
  });

  it('reports keys and values at the same path', () => {
    expect(validateLabels({ '-k': '$' }, 'metadata.labels')).toEqual([
      { type: 'invalid', field: 'metadata.labels', value: '-k', detail: `name part ${QUALIFIED_RULE}` },
      { type: 'invalid', field: 'metadata.labels', value: '$', detail: VALUE_RULE },
    ]);
  });

  it('sees a key called __proto__', () => {
    const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    expect(validateLabels(labels, 'metadata.labels')).toHaveLength(1);
  });
});

describe('validateAnnotations', () => {
  it('checks keys in lower case and leaves values alone', () => {
    expect(validateAnnotations({ 'Example.COM/Key': '\n any $ text' }, 'metadata.annotations')).toEqual([]);
  });

  it('reports the key as it was written', () => {
    expect(validateAnnotations({ 'A b': '' }, 'metadata.annotations')).toEqual([
      { type: 'invalid', field: 'metadata.annotations', value: 'A b', detail: `name part ${QUALIFIED_RULE}` },
    ]);
  });

  it('limits keys and values together, in bytes', () => {
    const fits = { k: 'é'.repeat((MAX_ANNOTATIONS_BYTES - 2) / 2), l: '' };
    expect(validateAnnotations(fits, 'metadata.annotations')).toEqual([]);
    expect(validateAnnotations({ ...fits, l: 'x' }, 'metadata.annotations')).toEqual([
      { type: 'tooLong', field: 'metadata.annotations', detail: 'may not be more than 262144 bytes' },
    ]);
  });
});
