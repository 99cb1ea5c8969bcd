import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { decodeBody, PROTOBUF_TYPE } from '../../src/api/codec/decode.ts';
import type { BodyType } from '../../src/api/kind.ts';
import { clusterKind } from '../../src/api/kinds/cluster.ts';
import { podKind } from '../../src/api/kinds/core.ts';
import { clusterRoleKind } from '../../src/api/kinds/rbac.ts';
import { tokenRequestType } from '../../src/api/kinds/token-request.ts';
import { deleteOptionsType } from '../../src/handlers/options/delete-options.ts';
import { envelope, message, type Proto, type ProtoValue } from '../e2e/support/protobuf.ts';
import { fuzz, mutated, readsOrRefuses } from './support/fuzz.ts';

const TYPES: readonly BodyType[] = [
  tokenRequestType,
  deleteOptionsType,
  podKind,
  clusterRoleKind,
  clusterKind('orchestrator'),
];
const MODES = ['Ignore', 'Warn', 'Strict'] as const;

/** Names of fields of the API, and names that are special in JavaScript. */
const names = fc.oneof(
  fc.constantFrom('apiVersion', 'kind', 'metadata', 'name', 'labels', 'annotations', 'spec', 'audiences', 'rules'),
  fc.constantFrom('expirationSeconds', 'boundObjectRef', 'uid', 'status', 'token', 'verbs', 'preconditions', 'dryRun'),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'prototype',
    'polluted',
    'toString',
    'hasOwnProperty',
    '',
    '\u0000',
    '\u2028',
  ),
  fc.string({ maxLength: 5 }),
);
const numbers = fc.constantFrom(
  '0',
  '-0',
  '1e400',
  '-1',
  '600',
  '9223372036854775808',
  '1.5',
  '01',
  '+1',
  '0x10',
  '1e',
  'NaN',
);
const strings = fc.oneof(
  fc.constantFrom(
    'v1',
    'TokenRequest',
    'Pod',
    'Cluster',
    'authentication.k8s.io/v1',
    '2026-01-01T00:00:00Z',
    '../x',
    '\r\nX: y',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
);

/** JSON as text, so that keys can repeat and numbers can have any form. */
const { json } = fc.letrec<{ json: string; object: string; list: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false', '""', '{}', '[]'),
    numbers,
    strings.map((text) => JSON.stringify(text)),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .array(fc.tuple(names, tie('json')), { maxLength: 5 })
    .map((pairs) => `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  list: fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
}));
const SPICE = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u',
  '\\ud800',
  '\u0000',
  ' ',
  '/',
  '1',
  '-',
  'e',
  '\ufeff',
  '&a ',
  '*a',
  '!!js ',
  '- ',
  '\n',
];

const read = (bytes: Uint8Array, mediaType: string): void => {
  for (const type of TYPES) {
    for (const mode of MODES) {
      const decoded = readsOrRefuses(() => decodeBody({ bytes, mediaType }, type, mode));
      if (decoded !== undefined) expect(Object.getPrototypeOf(decoded.value)).not.toHaveProperty('polluted');
    }
  }
};

describe('C-B: any body is read or refused', () => {
  fuzz('JSON', mutated(json, SPICE), (text) => read(Buffer.from(text), 'application/json'), {
    found: [
      '{"__proto__":{"polluted":1}}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '[[[[',
      '{"metadata":{"labels":{"__proto__":"x"}}}',
    ],
  });

  const yaml = fc.oneof(
    json,
    fc
      .array(
        fc.tuple(
          fc.nat({ max: 3 }),
          names,
          fc.oneof(strings, numbers, json, fc.constantFrom('', '|', '>', '~', '*a', '&a')),
        ),
        { maxLength: 8 },
      )
      .map((lines) => lines.map(([depth, key, value]) => `${'  '.repeat(depth)}${key}: ${value}`).join('\n')),
  );
  fuzz('YAML', mutated(yaml, SPICE), (text) => read(Buffer.from(text), 'application/yaml'), {
    found: ['a: &a [*a]', '__proto__: {polluted: 1}', '<<: {polluted: 1}', '? [a]\n: b', '%YAML 9.9\n---\na'],
  });

  const { proto } = fc.letrec<{ proto: Proto; value: ProtoValue }>((tie) => ({
    proto: fc.dictionary(fc.integer({ min: 1, max: 20 }).map(String), tie('value'), {
      maxKeys: 5,
    }) as fc.Arbitrary<Proto>,
    value: fc.oneof({ maxDepth: 4 }, strings, fc.maxSafeInteger(), fc.uint8Array({ maxLength: 12 }), tie('proto')),
  }));
  const kinds = fc.constantFrom('TokenRequest', 'Pod', 'ClusterRole', 'DeleteOptions', '', 'Nothing');
  const bytes = fc
    .tuple(fc.constantFrom('authentication.k8s.io/v1', 'v1', 'rbac.authorization.k8s.io/v1', ''), kinds, proto)
    .map(([apiVersion, kind, fields]) => Buffer.from(envelope(apiVersion, kind, message(fields))));
  const damaged = fc
    .tuple(bytes, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 }))
    .map(([whole, changes]) => {
      const copy = Buffer.from(whole);
      for (const [at, value] of changes) copy[at % copy.length] = value;
      return copy;
    });
  fuzz('protobuf', fc.oneof(bytes, damaged, fc.uint8Array({ maxLength: 40 })), (body) => read(body, PROTOBUF_TYPE));
});
