import { describe, expect, test } from 'vitest';
import { envelope, message } from '../../../test/e2e/support/protobuf.ts';
import { PROTOBUF_TYPE } from '../../api/codec/decode.ts';
import { refusal } from '../../api/refusal.fixture.ts';
import type { RequestBody } from '../../api/request.ts';
import { parseDeleteOptions } from './delete-options.ts';

const body = (text: string): RequestBody => ({ bytes: new TextEncoder().encode(text), mediaType: 'application/json' });
const none = { dryRun: false, preconditions: {} };

/** Audit annotations of the last request. */
const noted: string[] = [];

function parse(query: string, text?: string) {
  noted.length = 0;
  return parseDeleteOptions({
    query: new URLSearchParams(query),
    body: text === undefined ? undefined : body(text),
    annotate: (key, value) => noted.push(`${key}=${value}`),
  });
}

test('protobuf has every option', () => {
  const sent = (raw: Uint8Array) =>
    parseDeleteOptions({
      query: new URLSearchParams(),
      body: { bytes: envelope('v1', 'DeleteOptions', raw), mediaType: PROTOBUF_TYPE },
      annotate: () => {},
    });
  expect(sent(message({ 1: 30, 2: { 1: 'u', 2: '7' }, 4: 'Background', 5: ['All'] }))).toEqual({
    dryRun: true,
    preconditions: { uid: 'u', resourceVersion: '7' },
  });
});

describe('where options come from', () => {
  test.each<[string, string | undefined, object]>([
    ['', undefined, none],
    ['', '', none],
    ['', '{}', none],
    ['dryRun=All&gracePeriodSeconds=0&propagationPolicy=Orphan', undefined, { ...none, dryRun: true }],
    ['', '{"propagationPolicy":"Background"}', none],
    ['', '{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}', { ...none, dryRun: true }],
    ['', '{"kind":"DeleteOptions","apiVersion":"clusterregistry.k8s.io/v1alpha1","gracePeriodSeconds":30}', none],
    [
      '',
      '{"preconditions":{"uid":"u","resourceVersion":"7"},"orphanDependents":true}',
      { ...none, preconditions: { uid: 'u', resourceVersion: '7' } },
    ],
    ['', '{"unknown":1,"preconditions":null}', none],
    ['gracePeriodSeconds=5&propagationPolicy=Orphan', '{}', none],
    ['dryRun=All', '{}', { ...none, dryRun: true }],
  ])('query %j, body %j', (query, text, options) => {
    expect(parse(query, text)).toEqual(options);
  });
});

describe('what is refused', () => {
  const invalid = (errors: string): string => `DeleteOptions.meta.k8s.io "" is invalid: ${errors}`;

  test.each<[string, string | undefined, number, string]>([
    ['dryRun=x', undefined, 422, invalid('dryRun: Unsupported value: ["x"]: supported values: "All"')],
    ['', '{"dryRun":["x"]}', 422, invalid('dryRun: Unsupported value: ["x"]: supported values: "All"')],
    ['dryRun=x', '{"dryRun":["All"]}', 422, invalid('dryRun: Unsupported value: ["All","x"]: supported values: "All"')],
    [
      'propagationPolicy=x',
      undefined,
      422,
      invalid(
        'propagationPolicy: Unsupported value: "x": supported values: "Foreground", "Background", "Orphan", "nil"',
      ),
    ],
    [
      '',
      '{"propagationPolicy":"Orphan","orphanDependents":false}',
      422,
      invalid(
        'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
      ),
    ],
    ['gracePeriodSeconds=x', undefined, 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      '',
      '{"kind":"Pod"}',
      400,
      'Pod in version "v1" cannot be handled as a DeleteOptions: no kind "Pod" is registered for version "meta.k8s.io/v1"',
    ],
    [
      '',
      '{"preconditions":5}',
      400,
      'DeleteOptions in version "v1" cannot be handled as a DeleteOptions: json: cannot unmarshal number into Go struct field DeleteOptions.preconditions of type v1.Preconditions',
    ],
  ])('query %j, body %j', (query, text, code, message) => {
    expect(refusal(() => parse(query, text))).toMatchObject({ code, message });
  });
});
