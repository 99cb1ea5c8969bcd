import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../lib/json.ts';
import { NOTHING_UNCHANGED } from '../kind.ts';
import { namespaceKind, podKind, secretKind, serviceAccountKind } from '../kinds/core.ts';
import { clusterRoleKind } from '../kinds/rbac.ts';
import { refusal } from '../refusal.fixture.ts';
import { decode } from './decode.fixture.ts';
import { decodeValue } from './decode.ts';
import { droppedText } from './keep-part.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const strict = (object: object, kind = podKind) => decodeValue(object as JsonValue, kind, 'Strict');

describe('S-10: fields that a kind does not keep', () => {
  test('of a pod', () => {
    const spec = { nodeName: 'n', containers: [{ name: 'c' }], tolerations: [{}], workloadRef: { name: 'w' } };
    const { value, dropped } = strict({ spec, status: { phase: 'Running' } });
    expect(value).toMatchObject({ kind: 'Pod', spec: { nodeName: 'n' } });
    expect(value.spec).toEqual({ nodeName: 'n' });
    expect(dropped).toEqual(['spec.containers', 'spec.tolerations', 'spec.workloadRef', 'status']);
  });

  test('of the other kinds, in lists too', () => {
    expect(strict({ status: { phase: 'Active', conditions: [{}] } }, namespaceKind).dropped).toEqual([
      'status.conditions',
    ]);
    const secrets = [{ name: 'a' }, { name: 'b', fieldPath: 'x', resourceVersion: '1' }];
    const account = strict({ secrets, imagePullSecrets: [{ name: 'c' }] }, serviceAccountKind);
    expect(account.dropped).toEqual(['secrets[1].fieldPath', 'secrets[1].resourceVersion']);
    expect(account.value).toMatchObject({ secrets: [{ name: 'a' }, { name: 'b' }], imagePullSecrets: [{ name: 'c' }] });
    const secret = strict({ type: 't', data: { a: 'YQ==' }, stringData: { b: 'c' } }, secretKind);
    expect(secret.dropped).toEqual(['data', 'stringData']);
    expect(secret.value).toEqual({ apiVersion: 'v1', kind: 'Secret', metadata: {}, type: 't' });
  });

  test('without a value they are not mentioned', () => {
    const empty = { spec: { containers: [], volumes: null, affinity: {} }, status: {} };
    expect(strict(empty)).toMatchObject({ value: { spec: {} }, dropped: [] });
  });

  test.each<[string, object, typeof podKind, string]>([
    ['a field of a pod that Kubernetes does not have', { spec: { tolerationss: [] } }, podKind, 'spec.tolerationss'],
    ['a misspelled field that is kept', { spec: { serviceAcountName: 'a' } }, podKind, 'spec.serviceAcountName'],
    ['a kept field in another case', { spec: { nodename: 'a' } }, podKind, 'spec.nodename'],
    ['a field of the object itself', { surprise: 1 }, podKind, 'surprise'],
    ['a field of the metadata', { metadata: { lables: {} } }, podKind, 'metadata.lables'],
    ['a field of a secret', { stringdata: {} }, secretKind, 'stringdata'],
    ['a field of a role', { data: {}, rules: [] }, clusterRoleKind, 'data'],
  ])('%s stays an error', (_, object, kind, path) => {
    expect(refusal(() => strict(object, kind)).message).toContain(`strict decoding error: unknown field "${path}"`);
    const warned = decodeValue(object as JsonValue, kind, 'Warn');
    expect(warned).toMatchObject({ violations: [`unknown field "${path}"`], dropped: [] });
  });

  test('are named in every mode, and in JSON, YAML and protobuf', () => {
    for (const mode of ['Ignore', 'Warn', 'Strict'] as const) {
      expect(decode('{"data":{"a":"YQ=="}}', secretKind, mode)).toMatchObject({ dropped: ['data'], violations: [] });
      expect(decode('data: {a: YQ==}', secretKind, mode, 'application/yaml').dropped).toEqual(['data']);
    }
    // Envelope: type (1) with kind (2) and apiVersion (1); raw (2) with data (2), one entry.
    const field = (number: number, bytes: Uint8Array) => Buffer.from([number * 8 + 2, bytes.length, ...bytes]);
    const text = (number: number, value: string) => field(number, Buffer.from(value));
    const type = field(1, Buffer.concat([text(1, 'v1'), text(2, 'Secret')]));
    const raw = field(2, field(2, Buffer.concat([text(1, 'a'), text(2, 'b')])));
    const body = Buffer.concat([Buffer.from('k8s\0'), type, raw]);
    const read = decode(body, secretKind, 'Strict', 'application/vnd.kubernetes.protobuf');
    expect(read).toMatchObject({ dropped: ['data'] });
    expect(read.value).not.toHaveProperty('data');
  });

  test('duplicate keys of YAML are an error in them too', () => {
    const body = 'spec:\n  containers:\n  - name: a\n    name: b\n';
    expect(refusal(() => decode(body, podKind, 'Strict', 'application/yaml')).message).toContain('already set in map');
  });

  test('the manifest that kubectl stores in an annotation has no more than the object', () => {
    const manifest = { kind: 'Secret', metadata: { name: 's' }, data: { p: 'aHVudGVyMg==' }, type: 't' };
    const annotated = (text: string) => ({ metadata: { annotations: { [LAST_APPLIED]: text, other: 'x' } } });
    const stored = (text: string) => {
      const { value, dropped } = strict(annotated(text), secretKind);
      return [value.metadata.annotations, dropped] as const;
    };
    expect(stored(`${JSON.stringify(manifest)}\n`)).toEqual([
      { [LAST_APPLIED]: '{"kind":"Secret","metadata":{"name":"s"},"type":"t"}\n', other: 'x' },
      [],
    ]);
    const kept = ' {"type" : "t"} ';
    expect(stored(kept)).toEqual([{ [LAST_APPLIED]: kept, other: 'x' }, []]);
    for (const text of ['data: aHVudGVyMg==', '["aHVudGVyMg=="]', `${'['.repeat(100)}`]) {
      expect(stored(text)).toEqual([{ other: 'x' }, [`metadata.annotations[${LAST_APPLIED}]`]]);
    }
  });

  test('one warning names them, however many', () => {
    expect(droppedText('Pod', ['spec.containers', 'status'])).toBe(
      'Clusterpass keeps only a part of a Pod; dropped: spec.containers, status',
    );
    const { dropped } = strict({ secrets: Array(500).fill({ fieldPath: 'x' }) }, serviceAccountKind);
    expect(dropped).toHaveLength(100);
    expect(droppedText('ServiceAccount', dropped)).toMatch(/secrets\[19\]\.fieldPath and more$/);
  });
});

test('the deprecated name of the account of a pod is read, and its data never reaches the store', () => {
  const accountOf = (spec: object): unknown => {
    const { value } = strict({ spec });
    podKind.applyDefaults?.(value);
    return value.spec;
  };
  expect(accountOf({ serviceAccount: 'a' })).toEqual({ serviceAccountName: 'a' });
  expect(accountOf({ serviceAccount: 'a', serviceAccountName: 'b' })).toEqual({ serviceAccountName: 'b' });
  expect(accountOf({})).toEqual({ serviceAccountName: 'default' });
  const undecoded = { apiVersion: 'v1', kind: 'Secret', metadata: {}, stringData: { a: 'b' } };
  expect(secretKind.validate(undecoded, undefined, NOTHING_UNCHANGED)).toMatchObject([
    { field: 'stringData', type: 'forbidden' },
  ]);
});
