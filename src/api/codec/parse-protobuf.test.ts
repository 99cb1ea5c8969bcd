import { describe, expect, test } from 'vitest';
import { envelope, message, type Proto } from '../../../test/e2e/support/protobuf.ts';
import { createCatalog } from '../catalog.ts';
import type { BodyType } from '../kind.ts';
import { podKind, secretKind, serviceAccountKind } from '../kinds/core.ts';
import { resourceAccessReviewType } from '../kinds/grant-reviews.ts';
import { CLUSTERPASS_GROUP } from '../kinds/meta.ts';
import { clusterRoleKind } from '../kinds/rbac.ts';
import { localSubjectAccessReviewType, subjectAccessReviewType } from '../kinds/reviews.ts';
import { tokenRequestType } from '../kinds/token-request.ts';
import { ApiError } from '../status.ts';
import { decodeBody, PROTOBUF_TYPE } from './decode.ts';
import { PROTOBUF_FIELDS } from './protobuf-fields.ts';
import type { Shape } from './shape.ts';
import { MAX_FIELDS } from './tree.ts';

const decode = (bytes: Uint8Array, type: BodyType = tokenRequestType) =>
  decodeBody<Record<string, unknown>>({ bytes, mediaType: PROTOBUF_TYPE }, type, 'Strict');

const token = (fields: Proto): Uint8Array => envelope('authentication.k8s.io/v1', 'TokenRequest', message(fields));

const refusal = (bytes: Uint8Array, type?: BodyType): string => {
  try {
    decode(bytes, type);
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 400) return error.message;
    throw error;
  }
  throw new Error('not refused');
};

/** As Go writes an ObjectMeta: every string, also empty ones, and the zero time. */
const goMeta: Proto = { 1: '', 2: '', 3: '', 4: '', 5: '', 6: '', 7: 0, 8: new Uint8Array() };

describe('a token request', () => {
  test('X-01: as kubectl writes it', () => {
    const { value, violations } = decode(
      token({
        1: goMeta,
        2: { 1: ['vault', 'x'], 3: { 1: 'Pod', 2: 'v1', 3: 'p', 4: 'u' }, 4: 600 },
        3: { 1: '', 2: {} },
      }),
    );
    expect(value).toEqual({
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { generation: 0 },
      spec: {
        audiences: ['vault', 'x'],
        expirationSeconds: 600,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'u' },
      },
      status: {},
    });
    expect(violations).toEqual([]);
  });

  test.each<[string, Proto]>([
    ['no audiences', { 2: { 4: 600 } }],
    ['an empty spec', { 2: {} }],
    ['no spec', { 1: goMeta }],
  ])('with %s: they count as present and empty', (_, fields) => {
    expect(decode(token(fields)).value.spec).toMatchObject({ audiences: null });
  });

  test('S-08: unknown fields are skipped, also in Strict mode', () => {
    const { value, violations } = decode(token({ 2: { 1: ['a'], 99: 'x', 98: 7 }, 77: { 1: 'y' } }));
    expect([value.spec, violations]).toEqual([{ audiences: ['a'] }, []]);
  });

  test('D-04: the type may be left out', () => {
    expect(decode(envelope('', '', message({ 2: { 1: ['a'] } }))).value.kind).toBe('TokenRequest');
  });

  test('an integer is not rounded', () => {
    const raw = Uint8Array.of(0x12, 0x0a, 0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
    expect(() => decode(envelope('', '', raw))).not.toThrow(TypeError);
  });
});

describe('other kinds', () => {
  test('maps, times, lists of objects, flags', () => {
    const meta = {
      1: 'x',
      8: { 1: 1_700_000_000 },
      11: [{ 1: 'k', 2: 'v' }, { 1: 'empty' }],
      13: [{ 1: 'K', 3: 'n', 4: 'u', 5: 'v1', 6: 1 }],
    };
    const raw = message({ 1: meta, 2: [{ 3: 's' }], 4: 0 });
    expect(decode(envelope('v1', 'ServiceAccount', raw), serviceAccountKind).value).toEqual({
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: {
        name: 'x',
        creationTimestamp: '2023-11-14T22:13:20Z',
        labels: { k: 'v', empty: '' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u', controller: true }],
      },
      secrets: [{ name: 's' }],
      automountServiceAccountToken: false,
    });
  });

  test('the core group in a rule is an empty string', () => {
    const raw = message({ 1: { 1: 'r' }, 2: [{ 1: ['get'], 2: [''], 3: ['pods'] }] });
    const { value } = decode(envelope('rbac.authorization.k8s.io/v1', 'ClusterRole', raw), clusterRoleKind);
    expect(value.rules).toEqual([{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]);
  });

  test('a key called __proto__ is a key', () => {
    const raw = message({ 1: { 1: 'x', 11: [{ 1: '__proto__', 2: 'v' }] } });
    const { value } = decode(envelope('v1', 'Pod', raw), podKind);
    expect(Object.keys((value.metadata as { labels: object }).labels)).toEqual(['__proto__']);
  });

  test('every type that a built-in type is made of has numbers for its fields', () => {
    const { kinds, virtualTypes } = createCatalog({ productName: 'orchestrator' });
    const builtin = [...kinds, ...virtualTypes, tokenRequestType].filter(
      ({ style, group }) => style === 'builtin' && group !== CLUSTERPASS_GROUP,
    );
    expect(builtin.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Secret', 'Role', 'SubjectAccessReview']));
    const without: string[] = [];
    const walk = (shape: Shape, unread: readonly string[]): void => {
      if (shape.type === 'array') walk(shape.items, []);
      if (shape.type === 'map') walk(shape.values, []);
      if (shape.type !== 'struct') return;
      for (const field of shape.fields) {
        if (shape.notKept?.has(field.name) || unread.includes(field.name)) continue;
        if (PROTOBUF_FIELDS[shape.goType]?.[field.name] === undefined) without.push(`${shape.goType}.${field.name}`);
        walk(field.shape, []);
      }
    };
    for (const type of builtin) {
      const isReview = (virtualTypes as readonly BodyType[]).includes(type);
      walk(type.shape, ['kind', 'apiVersion', ...(isReview ? ['status'] : [])]);
    }
    expect(without).toEqual([]);
  });

  test.each([
    ['SubjectAccessReview', subjectAccessReviewType],
    ['LocalSubjectAccessReview', localSubjectAccessReviewType],
  ])('a %s as client-go writes it', (kind, type) => {
    const spec = {
      1: { 1: 'ci', 2: 'create', 3: '', 4: '', 5: 'serviceaccounts', 6: 'token', 7: '' },
      3: 'jane',
      4: ['devs', 'ops'],
      5: [{ 1: 'scopes', 2: { 1: ['a', 'b'] } }, { 1: 'none', 2: {} }, { 1: 'absent' }],
      6: 'u1',
    };
    const raw = message({ 1: goMeta, 2: spec, 3: { 1: 0, 2: '', 3: '', 4: 0 } });
    expect(decode(envelope('authorization.k8s.io/v1', kind, raw), type).value.spec).toEqual({
      resourceAttributes: { namespace: 'ci', verb: 'create', resource: 'serviceaccounts', subresource: 'token' },
      user: 'jane',
      groups: ['devs', 'ops'],
      extra: { scopes: ['a', 'b'], none: [], absent: [] },
      uid: 'u1',
    });
  });

  test('the data of a secret is bytes, not text', () => {
    const raw = message({ 1: { 1: 'x' }, 2: [{ 1: 'key', 2: Uint8Array.of(0xff, 0xfe) }], 3: 'Opaque' });
    const { value, dropped } = decode(envelope('v1', 'Secret', raw), secretKind);
    expect([value.type, dropped]).toEqual(['Opaque', ['data']]);
  });

  test('a type without numbers is 415', () => {
    const body = envelope('clusterpass.dev/v1alpha1', 'ResourceAccessReview', message({ 2: { 1: { 2: 'get' } } }));
    expect(() => decode(body, resourceAccessReviewType)).toThrow(
      expect.objectContaining({ status: expect.objectContaining({ code: 415 }) }),
    );
  });
});

describe('AP-66: managedFields', () => {
  const entries = (...sent: Proto[]): unknown => {
    const raw = message({ 1: { 1: 'x', 17: sent } });
    const { value } = decode(envelope('v1', 'ServiceAccount', raw), serviceAccountKind);
    return (value.metadata as { managedFields?: unknown }).managedFields;
  };

  test('as client-go writes them', () => {
    const owned = '{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}';
    const time = { 1: 1_700_000_000, 2: 0 };
    const entry = { 1: 'm', 2: 'Apply', 3: 'v1', 4: time, 6: 'FieldsV1', 7: { 1: Buffer.from(owned) }, 8: '' };
    expect(entries(entry)).toEqual([
      {
        manager: 'm',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2023-11-14T22:13:20Z',
        fieldsType: 'FieldsV1',
        fieldsV1: JSON.parse(owned),
      },
    ]);
  });

  test('a set that is no JSON is kept as text, which no set is', () => {
    expect(entries({ 1: 'm', 7: { 1: Buffer.from('{"f:a"') } })).toEqual([{ manager: 'm', fieldsV1: '{"f:a"' }]);
    expect(entries({ 1: 'm', 7: {} })).toEqual([{ manager: 'm' }]);
  });

  test('the keys of all sets count against the limit of a body', () => {
    const keys = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`f:${index}`, {}]));
    const one = { 7: { 1: Buffer.from(JSON.stringify(keys)) } };
    expect(entries(one)).toHaveLength(1);
    expect(() => entries(one, one, one, one)).toThrow('the body of the request has more than 10000 keys');
  });
});

describe('a malformed message is 400', () => {
  const unrecognized = 'the object provided is unrecognized (must be of type TokenRequest): ';
  const cannot = 'TokenRequest in version "v1" cannot be handled as a TokenRequest: ';

  test.each<[string, Uint8Array, string]>([
    ['D-11: nothing', new Uint8Array(), `${unrecognized}empty data (<empty>)`],
    [
      'D-11: JSON',
      Buffer.from('{"a":1}'),
      `${unrecognized}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"a":1})`,
    ],
    [
      'D-11: other bytes',
      Uint8Array.of(1, 2, 3, 4, 5),
      `${unrecognized}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (0102030405)`,
    ],
    ['the prefix alone', Uint8Array.of(0x6b, 0x38, 0x73, 0), `${unrecognized}empty body (6b387300)`],
    [
      'a broken envelope',
      Uint8Array.of(0x6b, 0x38, 0x73, 0, 0x0a, 0x7f),
      `${unrecognized}proto: premature EOF (6b3873000a7f)`,
    ],
    [
      'a broken message',
      envelope('authentication.k8s.io/v1', 'TokenRequest', Uint8Array.of(0x12, 0x7f)),
      `${cannot}proto: premature EOF`,
    ],
    ['a field of another type', token({ 2: 5 }), `${cannot}proto: wrong wireType = 0 for field spec`],
    ['a group', envelope('', '', Uint8Array.of(0x0b, 0x0b, 0x0b)), `${cannot}proto: illegal wireType 3`],
    [
      'D-08: another kind',
      envelope('v1', 'Pod', message({ 1: 5 })),
      'Pod in version "v1" cannot be handled as a TokenRequest: no kind "Pod" is registered for version "v1"',
    ],
  ])('%s', (_, bytes, message) => {
    expect(refusal(bytes)).toBe(message);
  });

  test('a list that is far too long', () => {
    const raw = Buffer.alloc(400_000);
    for (let at = 0; at < raw.length; at += 2) raw[at] = 0x0a;
    expect(refusal(envelope('', '', message({ 2: raw })))).toBe(
      'the body of the request has more than 5000 list elements',
    );
  });

  test('unknown fields are skipped, up to a limit', () => {
    const unknown = (count: number) => Uint8Array.from({ length: 2 * count }, (_, at) => (at % 2 === 0 ? 0x7a : 0));
    const body = (bytes: Uint8Array) => envelope('authentication.k8s.io/v1', 'TokenRequest', bytes);
    const tooMany = `the body of the request has more than ${MAX_FIELDS} fields`;
    expect(refusal(body(unknown(MAX_FIELDS + 1)))).toBe(tooMany);
    expect(refusal(Buffer.concat([Uint8Array.of(0x6b, 0x38, 0x73, 0), unknown(MAX_FIELDS + 1)]))).toBe(tooMany);
    // The limit counts over all messages.
    const half = unknown(MAX_FIELDS / 2);
    expect(refusal(token({ 1: half, 2: half }))).toBe(tooMany);
    expect(() => decode(token({ 1: half, 2: { 1: ['vault'] } }))).not.toThrow();
  });

  test('any bytes: a result or a 400', () => {
    const valid = token({ 1: goMeta, 2: { 1: ['vault'], 3: { 1: 'Pod', 3: 'p' }, 4: 600 }, 3: { 2: { 1: 5 } } });
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      return seed % below;
    };
    for (let round = 0; round < 5_000; round++) {
      const bytes = Uint8Array.from(valid);
      for (let flips = 0; flips <= random(3); flips++) bytes[4 + random(bytes.length - 4)] = random(256);
      try {
        decode(bytes.subarray(0, bytes.length - random(4)));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
      }
    }
  });
});
