import {
  bindingWith,
  clusterWith,
  type Faults,
  FIELD_SELECTOR_FAULTS,
  FORM_FAULTS,
  filled,
  JSON_FAULTS,
  LABEL_SELECTOR_FAULTS,
  PEM_FAULTS,
  YAML_FAULTS,
} from '../../test/fuzz/support/faults.ts';
import { HOSTILE_FIELDS } from '../../test/fuzz/support/field-sets.ts';
import type { CostlyRequest, Row } from './costly-requests.ts';
import { CLUSTERS, RBAC, TOKEN } from './demo-paths.ts';

/** Requests that are wrong in many places. The fuzzers combine the same faults (`test/fuzz/faults.test.ts`). */

/** The largest body that the server accepts. */
const BODY = 3_145_728;
const YAML = 131_000;
/** As many characters as tokens are accepted: with more, a document is refused before it is composed. */
const YAML_TOKENS = 3_900;
const SELECTOR = 64 * 1024;
/** What fits into a request line after percent-encoding. */
const QUERY = 4_000;
const PEM = 256 * 1024;
const FORM = 64 * 1024;
/** Of a list of passes. */
const ITEMS = 500;

/** Of each frame the faults that come first: a row takes more than a second. */
const PIECES = 4;

const REFUSED = [400, 413, 422] as const;

function rowsOf(
  format: string,
  faults: readonly Faults[],
  roomFor: (frame: Faults) => number,
  requestFor: (text: string) => CostlyRequest,
): Row[] {
  return faults.flatMap((frame) =>
    frame.pieces.slice(0, PIECES).map((piece) => ({
      name: `A19: faults: ${format}: ${frame.name} of ${JSON.stringify(piece).slice(0, 40)}`,
      request: requestFor(filled(frame, piece, roomFor(frame))),
      // Some faults are none where they are repeated, and are answered.
      codes: [200, 201, ...REFUSED],
    })),
  );
}

const post = (path: string, body: string, type = 'application/json'): CostlyRequest => ({
  method: 'POST',
  path,
  body,
  type,
});

const select = (parameter: string, text: string): CostlyRequest => ({
  method: 'GET',
  path: `${CLUSTERS}?${parameter}=${encodeURIComponent(text).slice(0, 15_000).replace(/%.?$/, '')}`,
});

/** A form of a token exchange has no Authorization header; the others need one. */
const form = (text: string): CostlyRequest => ({
  ...post(
    text.startsWith('grant_type') ? '/oauth/token' : '/oauth/introspect',
    text,
    'application/x-www-form-urlencoded',
  ),
  ...(text.startsWith('grant_type') ? { token: null } : {}),
});

/** Varints, texts that are not UTF-8, and fields of the wrong type, repeated in the spec of a token request. */
const PROTOBUF_FAULTS: readonly [name: string, hex: string][] = [
  ['unknown fields', '7801'],
  ['wrong types', '0801'],
  ['texts that are not UTF-8', '0a01ff'],
  ['groups', '0b'],
  ['varints without an end', 'ff'],
];

function protobufOf(hex: string): Buffer<ArrayBuffer> {
  const piece = Buffer.from(hex, 'hex');
  const spec = Buffer.alloc(Math.floor(3_000_000 / piece.length) * piece.length, piece);
  return Buffer.concat([Buffer.from([0x6b, 0x38, 0x73, 0x00]), field(2, field(2, spec))]);
}

function field(number: number, bytes: Buffer): Buffer {
  const length: number[] = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left >= 128 ? (left & 0x7f) | 0x80 : left);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const MERGE = 'application/merge-patch+json';

/** `managedFields` of a hostile client: ignored or dropped, and the label is written; or the body is refused. */
const managedFieldsOf = (fieldsV1: unknown): CostlyRequest => ({
  method: 'PATCH',
  path: `${CLUSTERS}/prod-eu-1?dryRun=All`,
  type: MERGE,
  body: JSON.stringify({
    metadata: {
      labels: { changed: 'yes' },
      managedFields: [
        {
          ...{ manager: 'hostile', operation: 'Apply', apiVersion: 'clusterregistry.k8s.io/v1alpha1' },
          ...{ fieldsType: 'FieldsV1', fieldsV1 },
        },
      ],
    },
  }),
});

const perScalar = (frame: Faults): boolean => frame.name.includes('scalar');

export const faultyRows: readonly Row[] = [
  ...rowsOf(
    'YAML',
    YAML_FAULTS,
    (frame) => (perScalar(frame) ? YAML : YAML_TOKENS),
    (text) => post(TOKEN, text, 'application/yaml'),
  ),
  ...rowsOf(
    'JSON',
    JSON_FAULTS,
    () => BODY,
    (text) => post(text.includes('"Cluster"') ? CLUSTERS : TOKEN, text),
  ),
  ...PROTOBUF_FAULTS.map(([name, hex]) => ({
    name: `A19: faults: protobuf: ${name}`,
    request: { method: 'POST', path: TOKEN, body: protobufOf(hex), type: 'application/vnd.kubernetes.protobuf' },
    codes: REFUSED,
  })),
  ...rowsOf('form', FORM_FAULTS, () => FORM, form),
  {
    name: `A19: faults: a list of ${ITEMS} passes with wrong names`,
    request: post(
      '/auth/v1/passes',
      JSON.stringify({ items: Array(ITEMS).fill({ cluster: '!'.repeat(1_000), namespace: '"'.repeat(1_000) }) }),
    ),
    codes: [200, ...REFUSED],
  },
  ...rowsOf(
    'PEM',
    PEM_FAULTS,
    () => PEM,
    (pem) => post(`${CLUSTERS}?dryRun=All`, clusterWith(pem)),
  ),
  ...rowsOf(
    'selector of a binding',
    LABEL_SELECTOR_FAULTS,
    () => SELECTOR,
    (selector) => post(`${RBAC}/clusterrolebindings?dryRun=All`, bindingWith(selector)),
  ),
  ...HOSTILE_FIELDS.map(({ name, fieldsV1 }) => ({
    name: `A19: faults: managedFields: ${name}`,
    request: managedFieldsOf(fieldsV1),
    // 400: a key that is too long for any body.
    codes: [200, 400],
  })),
  ...rowsOf(
    'label selector',
    LABEL_SELECTOR_FAULTS,
    () => QUERY,
    (text) => select('labelSelector', text),
  ),
  ...rowsOf(
    'field selector',
    FIELD_SELECTOR_FAULTS,
    () => QUERY,
    (text) => select('fieldSelector', text),
  ),
];
