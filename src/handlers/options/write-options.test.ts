import { describe, expect, test } from 'vitest';
import { refusal } from '../../api/refusal.fixture.ts';
import {
  parseApplyOptions,
  parseCreateOptions,
  parsePatchOptions,
  parseTokenRequestOptions,
  parseUpdateOptions,
} from './write-options.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);

const VERBS = [
  ['CreateOptions', parseCreateOptions],
  ['UpdateOptions', parseUpdateOptions],
  ['PatchOptions', parsePatchOptions],
] as const;

const TOO_LONG = [
  { reason: 'FieldValueTooLong', message: 'Too long: may not be more than 127 bytes', field: 'fieldManager' },
];

describe.each(VERBS)('%s', (kind, parse) => {
  test.each([
    ['', { dryRun: false, fieldManager: '', fieldValidation: 'Warn' }],
    ['fieldValidation=', { dryRun: false, fieldManager: '', fieldValidation: 'Warn' }],
    ['fieldValidation=Strict&fieldValidation=bad', { dryRun: false, fieldManager: '', fieldValidation: 'Strict' }],
    ['fieldValidation=Ignore&dryRun=All&dryRun=All', { dryRun: true, fieldManager: '', fieldValidation: 'Ignore' }],
    [
      'fieldManager=kubectl%20x&unknown=1&DryRun=x',
      { dryRun: false, fieldManager: 'kubectl x', fieldValidation: 'Warn' },
    ],
  ])('Q-01, Q-07: %j', (text, options) => {
    expect(parse(query(text))).toEqual(options);
  });

  test.each([
    ['Q-03', 'dryRun=foo', 'dryRun: Unsupported value: ["foo"]: supported values: "All"'],
    ['Q-03', 'dryRun=', 'dryRun: Unsupported value: [""]: supported values: "All"'],
    ['Q-03', 'dryRun=All&dryRun=all', 'dryRun: Unsupported value: ["All","all"]: supported values: "All"'],
    ['Q-04', `fieldManager=${'x'.repeat(128)}`, 'fieldManager: Too long: may not be more than 127 bytes'],
    ['Q-05', 'fieldManager=a%0Ab', 'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)'],
    [
      'Q-05',
      'fieldManager=%C3%A9%C2%A0',
      'fieldManager: Invalid value: "\u00e9\\u00a0": invalid character U+00A0 (at position 2)',
    ],
    [
      'Q-06',
      'fieldValidation=strict',
      'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    [
      'Q-02',
      'fieldValidation=x&dryRun=y&fieldManager=%00%01',
      '[fieldManager: Invalid value: "\\x00\\x01": invalid character U+0000 (at position 0), ' +
        'fieldManager: Invalid value: "\\x00\\x01": invalid character U+0001 (at position 1), ' +
        'dryRun: Unsupported value: ["y"]: supported values: "All", ' +
        'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"]',
    ],
  ])('%s: %s', (_, text, errors) => {
    const status = refusal(() => parse(query(text)));
    expect(status).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: `${kind}.meta.k8s.io "" is invalid: ${errors}`,
      details: { group: 'meta.k8s.io', kind },
    });
    expect(status.details?.name).toBeUndefined();
  });

  test.each([
    ['of one byte', 'x'.repeat(127)],
    ['of three bytes', `${'\u9375'.repeat(42)}x`],
    ['of four bytes', `${'\u{1f600}'.repeat(31)}xyz`],
  ])('AP-05: fieldManager has at most 127 bytes, in characters %s', (_, name) => {
    expect(parse(new URLSearchParams({ fieldManager: name })).fieldManager).toBe(name);
    expect(refusal(() => parse(new URLSearchParams({ fieldManager: `${name}x` }))).details?.causes).toEqual(TOO_LONG);
  });
});

test.each([
  ['127 characters', 'x'.repeat(127)],
  ['127 characters of two bytes each', '\u00e9'.repeat(127)],
  ['127 characters outside the basic plane', '\u{1f600}'.repeat(127)],
])('decision 4: fieldManager of a token request, which is not stored: %s are fewer than 128', (_, name) => {
  const parse = (fieldManager: string) => parseTokenRequestOptions(new URLSearchParams({ fieldManager }));
  expect(parse(name).fieldManager).toBe(name);
  expect(refusal(() => parse(`${name}x`)).details?.causes).toEqual(TOO_LONG);
});

test.each(['force', 'force=', 'force=maybe'])('AP-06: %s is neither true nor false', (text) => {
  expect(refusal(() => parseApplyOptions(query(`fieldManager=me&${text}`)))).toMatchObject({
    code: 400,
    message: `force: Invalid value: "${text.split('=')[1] ?? ''}": must be "true" or "false"`,
  });
});
