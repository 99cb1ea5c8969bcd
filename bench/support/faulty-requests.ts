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
import { PROTOBUF, tokenRequestOf } from './costly-bodies.ts';
import type { CostlyRequest, CostlyRow } from './costly-requests.ts';
import { CLUSTERS, RBAC, TOKEN } from './demo-paths.ts';

/** Requests that are wrong in many places. The fuzzers combine the same faults (`test/fuzz/faults.test.ts`). */

/** The largest body that the server accepts. */
const BODY = 3_145_728;
const YAML = 131_000;
/** Below the limit of tokens, for pieces of one character: a document with more is refused before it is composed. */
const YAML_TOKENS = 3_900;
const SELECTOR = 64 * 1024;
/** Fits into a request line after percent-encoding. */
const QUERY = 4_000;
const PEM = 256 * 1024;
const FORM = 64 * 1024;
/** Of a list of passes. */
const ITEMS = 500;

/** The first pieces of each frame: a row takes more than a second. */
const PIECES = 4;

interface Format {
  readonly name: string;
  readonly faults: readonly Faults[];
  readonly roomFor: (frame: Faults) => number;
  readonly requestFor: (text: string) => CostlyRequest;
  /** The status code of the response, 400 by default. */
  readonly codeFor?: (frame: Faults, piece: string) => number;
}

const rowsOf = ({ name, faults, roomFor, requestFor, codeFor = () => 400 }: Format): CostlyRow[] =>
  faults.flatMap((frame) =>
    frame.pieces.slice(0, PIECES).map((piece) => ({
      name: `A19: faults: ${name}: ${frame.name} of ${JSON.stringify(piece).slice(0, 40)}`,
      request: requestFor(filled(frame, piece, roomFor(frame))),
      codes: [codeFor(frame, piece)],
    })),
  );

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
  return tokenRequestOf(Buffer.alloc(Math.floor(3_000_000 / piece.length) * piece.length, piece));
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

/** Valid: the values of a set may be empty. */
const isSetOfCommas = (frame: Faults, piece: string): boolean => frame.name === 'set' && piece === ',';

export const faultyRows: readonly CostlyRow[] = [
  ...rowsOf({
    name: 'YAML',
    faults: YAML_FAULTS,
    roomFor: (frame) => (perScalar(frame) ? YAML : YAML_TOKENS),
    requestFor: (text) => post(TOKEN, text, 'application/yaml'),
    // A control character in quotes and a comment are parsed. The object has no audience.
    codeFor: (_, piece) => (piece === '\u0001' || piece === ' #' ? 422 : 400),
  }),
  ...rowsOf({
    name: 'JSON',
    faults: JSON_FAULTS,
    roomFor: () => BODY,
    requestFor: (text) => post(text.includes('"Cluster"') ? CLUSTERS : TOKEN, text),
  }),
  ...PROTOBUF_FAULTS.map(([name, hex]) => ({
    name: `A19: faults: protobuf: ${name}`,
    request: { method: 'POST', path: TOKEN, body: protobufOf(hex), type: PROTOBUF },
    codes: [400],
  })),
  ...rowsOf({
    name: 'form',
    faults: FORM_FAULTS,
    roomFor: () => FORM,
    requestFor: form,
    // The response to an introspection says that the token is not active.
    codeFor: (frame) => (frame.name === 'token' ? 200 : 400),
  }),
  {
    name: `A19: faults: a list of ${ITEMS} passes with wrong names`,
    request: post(
      '/auth/v1/passes',
      JSON.stringify({ items: Array(ITEMS).fill({ cluster: '!'.repeat(1_000), namespace: '"'.repeat(1_000) }) }),
    ),
    // Each item of the response has its own status.
    codes: [200],
  },
  ...rowsOf({
    name: 'PEM',
    faults: PEM_FAULTS,
    roomFor: () => PEM,
    requestFor: (pem) => post(`${CLUSTERS}?dryRun=All`, clusterWith(pem)),
    codeFor: () => 422,
  }),
  ...rowsOf({
    name: 'selector of a binding',
    faults: LABEL_SELECTOR_FAULTS,
    roomFor: () => SELECTOR,
    requestFor: (selector) => post(`${RBAC}/clusterrolebindings?dryRun=All`, bindingWith(selector)),
    codeFor: (frame, piece) => (isSetOfCommas(frame, piece) ? 201 : 422),
  }),
  ...HOSTILE_FIELDS.map(({ name, fieldsV1 }) => ({
    name: `A19: faults: managedFields: ${name}`,
    request: managedFieldsOf(fieldsV1),
    // A key of 1 MB is too long for any body.
    codes: [Object.keys(Object(fieldsV1)).some((key) => key.length >= 1_000_000) ? 400 : 200],
  })),
  ...rowsOf({
    name: 'label selector',
    faults: LABEL_SELECTOR_FAULTS,
    roomFor: () => QUERY,
    requestFor: (text) => select('labelSelector', text),
    // `a,a,...,a` is a valid selector. The one of a binding above has too many requirements.
    codeFor: (frame, piece) => (isSetOfCommas(frame, piece) || piece === 'a,' ? 200 : 400),
  }),
  ...rowsOf({
    name: 'field selector',
    faults: FIELD_SELECTOR_FAULTS,
    roomFor: () => QUERY,
    requestFor: (text) => select('fieldSelector', text),
  }),
];
