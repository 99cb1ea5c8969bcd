import { describe, expect, test } from 'vitest';
import type { Accepted } from '../../api/request.ts';
import { ApiError } from '../../api/status.ts';
import {
  type AcceptRules,
  acceptsGzip,
  negotiateAccept,
  negotiateContentType,
  prettyByAccept,
  prettyByDefault,
  READABLE_NAMES,
} from './negotiate.ts';

const forms: readonly Accepted['as'][] = ['table', 'partial-object-metadata', 'partial-object-metadata-list'];
const custom: AcceptRules = { style: 'custom', verb: 'list', offers: new Set(forms) };
const builtin: AcceptRules = { style: 'builtin', verb: 'create', offers: new Set() };
const refusal = (run: () => unknown): { code: number; message: string } => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return { code: error.status.code, message: error.message };
    throw error;
  }
  throw new Error('accepted');
};

describe('Accept', () => {
  test.each([
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/yaml', 'application/yaml'],
    ['application/yaml;q=0.5, application/json;q=0.9', 'application/json'],
    ['*/*, application/yaml', 'application/yaml'],
    ['application/yaml;q=0', 'application/yaml'],
    ['text/html, application/yaml;q=0.1', 'application/yaml'],
    ['application/vnd.kubernetes.protobuf,application/json', 'application/json'],
    ['application/json;charset=utf-8', 'application/json'],
  ])('N-06: %j of a custom resource is %s', (accept, mediaType) => {
    expect(negotiateAccept(accept, custom)).toMatchObject({ mediaType, as: 'object' });
  });

  test.each([
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'table'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', 'table'],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', 'partial-object-metadata-list'],
    ['application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'partial-object-metadata'],
    ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', 'object'],
    ['application/json;as=Table,application/json', 'object'],
    ['application/json;v=v1,application/json', 'object'],
    ['application/json;as=constructor;v=v1;g=meta.k8s.io,application/json', 'object'],
    ['application/json;stream=watch', 'object'],
    ['application/json;stream=other,application/json;pretty=0', 'object'],
  ])('B-01, B-06, N-07: %s is %s', (accept, as) => {
    expect(negotiateAccept(accept, custom).as).toBe(as);
  });

  test('N-07: a form the endpoint does not offer is passed over', () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect(negotiateAccept(`${accept},application/json`, builtin).as).toBe('object');
    expect(refusal(() => negotiateAccept(accept, builtin)).code).toBe(406);
  });

  test('N-03: built-in endpoints know no application/*', () => {
    expect(refusal(() => negotiateAccept('application/*', builtin))).toEqual({
      code: 406,
      message: '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml',
    });
    expect(negotiateAccept('*/*;q=0.1', builtin).mediaType).toBe('application/json');
    expect(negotiateAccept('application/yaml;charset=x', builtin).mediaType).toBe('application/yaml');
  });

  test('N-04: what a custom resource cannot be', () => {
    const message = 'only the following media types are accepted: application/json, application/yaml';
    expect(refusal(() => negotiateAccept('text/html', custom))).toEqual({ code: 406, message });
    expect(refusal(() => negotiateAccept('a/b/c', custom))).toEqual({ code: 406, message });
    expect(refusal(() => negotiateAccept(',;=,', custom))).toEqual({ code: 406, message });
  });

  test('V-03: there is no YAML watch', () => {
    const watch: AcceptRules = { ...custom, verb: 'watch' };
    const message = 'only the following media types are accepted: application/json;stream=watch';
    expect(refusal(() => negotiateAccept('application/yaml', watch))).toEqual({ code: 406, message });
    expect(negotiateAccept('application/json;stream=watch', watch).mediaType).toBe('application/json');
  });
});

describe('Content-Type', () => {
  test.each([
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['Application/YAML', 'application/yaml'],
    [';', 'application/json'],
  ])('N-02: %j is %s', (contentType, mediaType) => {
    expect(negotiateContentType(contentType, READABLE_NAMES.custom, 'application/json')).toBe(mediaType);
  });

  test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/*', 'application/jsonx'])(
    'N-02: %s is 415',
    (contentType) => {
      const start = 'the body of the request was in an unknown format - accepted media types include: ';
      expect(refusal(() => negotiateContentType(contentType, READABLE_NAMES.custom))).toEqual({
        code: 415,
        message: `${start}application/json, application/yaml`,
      });
      expect(refusal(() => negotiateContentType(contentType, READABLE_NAMES.builtin))).toEqual({
        code: 415,
        message: `${start}application/json, application/yaml, application/vnd.kubernetes.protobuf`,
      });
    },
  );

  test('X-16: a patch has separate media types and no default', () => {
    const types = ['application/json-patch+json', 'application/merge-patch+json'];
    expect(negotiateContentType('application/merge-patch+json', types)).toBe('application/merge-patch+json');
    const message = `the body of the request was in an unknown format - accepted media types include: ${types.join(', ')}`;
    expect(refusal(() => negotiateContentType('application/json', types))).toEqual({ code: 415, message });
    expect(refusal(() => negotiateContentType(undefined, types))).toEqual({ code: 415, message });
  });
});

describe('Q-10: pretty', () => {
  test.each([
    ['pretty=true', 'kubectl/v1', true],
    ['pretty=1', undefined, true],
    ['pretty=T', undefined, true],
    ['pretty=false', 'curl/8', false],
    ['pretty=yes', 'curl/8', false],
    ['pretty=', 'curl/8', true],
    ['', 'curl/8', true],
    ['', 'Wget/1', true],
    ['', 'Mozilla/5.0 (X11)', true],
    ['', 'Mozilla/4.0', false],
    ['', 'xcurl', false],
    ['', undefined, false],
  ])('?%s as %s is %s', (query, userAgent, pretty) => {
    expect(prettyByDefault(new URLSearchParams(query), userAgent)).toBe(pretty);
  });

  test('in the clause that was chosen', () => {
    expect(negotiateAccept('application/json;pretty=1', custom).prettyClause).toBe(true);
    expect(negotiateAccept('application/json;pretty=true', custom).prettyClause).toBe(false);
    expect(negotiateAccept('application/json, application/yaml;pretty=1', custom).prettyClause).toBe(false);
    expect(prettyByAccept('application/json;pretty=1')).toBe(true);
    expect(prettyByAccept('text/html;pretty=1')).toBe(false);
  });
});

test.each([
  ['gzip', true],
  ['br, gzip', true],
  ['gzip;q=1.0', false],
  ['gzip;q=0', false],
  ['xgzip', false],
  [undefined, false],
])('N-09: Accept-Encoding %j means gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
