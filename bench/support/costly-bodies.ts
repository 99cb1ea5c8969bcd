import { envelope, message } from '../../test/e2e/support/protobuf.ts';
import { times } from './demo-paths.ts';

/** Bodies that are costly to parse, sent as token requests. Every kind of object is parsed by the same code. */
interface CostlyBody {
  readonly name: string;
  readonly body: string | Buffer<ArrayBuffer>;
  readonly type?: string;
  readonly codes: readonly number[];
}

/** The largest body that the server accepts. */
const LIMIT = 3_145_728;
const YAML = 'application/yaml';
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

const audience = (inside: string): string => `{"spec":{"audiences":["${inside}"]}}`;
const filled = (piece: string, room = LIMIT - 64): string => piece.repeat(Math.floor(room / piece.length));

const json: readonly CostlyBody[] = [
  { name: 'A19: 3 MiB of one string in escapes', body: audience(filled('\\u0041')), codes: [400] },
  { name: 'A19: 3 MiB of one string in quotes', body: audience(filled('\\"')), codes: [400] },
  { name: 'A19: 1 MiB of one string in quotes', body: audience(filled('\\"', 1_048_576)), codes: [422] },
  { name: 'A19: 3 MiB of half pairs', body: audience(filled('\\ud800')), codes: [400] },
  { name: 'A19: 3 MiB of one plain string', body: audience(filled('a')), codes: [422] },
  {
    name: 'A19: 3 MiB of one string beyond ASCII',
    body: audience('\u{1f600}'.repeat(Math.floor((LIMIT - 64) / 4))),
    codes: [422],
  },
  {
    name: 'A19: 3 MiB of bytes that are no UTF-8',
    body: Buffer.concat([Buffer.from('{"spec":{"audiences":["'), Buffer.alloc(LIMIT - 64, 0xff), Buffer.from('"]}}')]),
    codes: [400],
  },
  { name: 'A19: 3 MiB of escapes with a fault at the end', body: `"${filled('\\u0041')}\\x"`, codes: [400] },
  { name: 'A19: 3 MiB of a string without an end', body: `"${filled('a')}`, codes: [400] },
  { name: 'A19: 3 MiB of white space', body: `${filled('\n ')}{}`, codes: [422] },
  { name: 'A19: 3 MiB of digits', body: `{"spec":{"expirationSeconds":${filled('1')}}}`, codes: [400] },
  { name: 'A19: 3 MiB of "[1,1,..."', body: `{"spec":{"audiences":[${filled('1,')}1]}}`, codes: [400] },
  {
    name: 'A19: 3 MiB in an unknown field',
    body: `{"x":"${filled('\\u0041')}","spec":{"audiences":[]}}`,
    codes: [400],
  },
  { name: 'A19: 3 MiB in a key', body: `{"${filled('\\u0041')}":1,"spec":{"audiences":[]}}`, codes: [400] },
  {
    name: 'A19: 4,900 audiences',
    body: JSON.stringify({ spec: { audiences: times(4_900, (i) => `a${i}`) } }),
    codes: [422],
  },
  {
    name: 'A19: 4,900 audiences of 300 quotes',
    body: JSON.stringify({ spec: { audiences: times(4_900, (i) => `${i}`.padEnd(300, '"')) } }),
    codes: [400],
  },
  { name: 'C-B: 200,000 keys', body: `{${times(200_000, (i) => `"k${i}":1`).join(',')}}`, codes: [400] },
  { name: 'C-B: 9,900 unknown fields', body: `{${times(9_900, (i) => `"k${i}":1`).join(',')}}`, codes: [422] },
  { name: 'C-B: one field 9,900 times', body: `{${times(9_900, () => '"spec":{}').join(',')}}`, codes: [422] },
  {
    name: 'C-B: 9,900 fields that differ in case',
    body: `{${times(9_900, (i) => `"${'spec'.repeat(30)}${i}":{}`).join(',')}}`,
    codes: [422],
  },
  {
    name: 'C-B: 4,900 unknown fields in 4,900 places',
    body: JSON.stringify({
      metadata: { ownerReferences: times(90, () => ({ y: {}, z: times(50, () => ({ a: 1 })) })) },
    }),
    codes: [422],
  },
  { name: 'C-B: 100,000 levels', body: '['.repeat(100_000), codes: [400] },
  { name: 'C-B: __proto__', body: '{"__proto__":{"admin":true},"constructor":{"prototype":{}}}', codes: [422] },
  { name: 'C-B: trailing garbage', body: '{} {}', codes: [400] },
  { name: 'D-10: one byte too many', body: ' '.repeat(LIMIT + 1), codes: [413] },
];

const YAML_ROOM = 131_000;
const yaml = (name: string, body: string, ...codes: number[]): CostlyBody => ({
  name: `A19: YAML: ${name}`,
  body,
  codes,
  type: YAML,
});

const yamls: readonly CostlyBody[] = [
  yaml('131,000 newlines', '\n'.repeat(YAML_ROOM), 400),
  yaml('newlines in quotes', `"${'\n'.repeat(YAML_ROOM - 2)}"`, 400),
  yaml('a plain text over many lines', `a: b${filled('\n ', YAML_ROOM)}c`, 400),
  yaml('a block of blank lines', `a: |\n${'\n'.repeat(YAML_ROOM - 10)} x`, 400),
  yaml('a block of short lines', `a: |\n${filled(' x\n', YAML_ROOM)}`, 400),
  yaml('a folded block', `a: >\n${filled(' x\n', YAML_ROOM)}`, 400),
  yaml('a block of 3,900 lines', `a: |\n${' xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n'.repeat(3_900)}`, 422),
  yaml('3,900 blank lines', `a: b\n${'\n'.repeat(3_900)}`, 422),
  yaml('131,000 spaces', `${' '.repeat(YAML_ROOM)}a`, 400),
  yaml('a comment', `#${'#'.repeat(YAML_ROOM)}\na: b`, 422),
  yaml('comments', filled('#\n', YAML_ROOM), 400),
  yaml('a text in escapes', `a: "${filled('\\u0041', YAML_ROOM)}"`, 422),
  yaml('a text in single quotes', `a: '${filled("''", YAML_ROOM)}'`, 422),
  yaml('130,000 commas', `[${','.repeat(130_000)}]`, 400),
  yaml('1,300 empty objects', `a: [${'{},'.repeat(1_300)}]`, 422),
  yaml('1,900 numbers', `a: [${'1,'.repeat(1_900)}]`, 422, 400),
  yaml('1,000 elements', `a:\n${'- b\n'.repeat(1_000)}`, 422, 400),
  yaml('900 keys', times(900, (i) => `k${i}: v\n`).join(''), 422, 400),
  yaml('60,000 levels', '- '.repeat(60_000), 400),
  yaml('60,000 brackets', '['.repeat(60_000), 400),
  yaml('aliases', 'a: &a [x, x]\nb: [*a, *a]\n', 400),
  yaml('30,000 documents', '---\n'.repeat(30_000), 400),
];

/** The protobuf of a token request with these bytes as its spec. */
export const tokenRequestOf = (spec: Uint8Array): Buffer<ArrayBuffer> =>
  Buffer.from(envelope('authentication.k8s.io/v1', 'TokenRequest', message({ 2: spec })));

const protobufs: readonly CostlyBody[] = [
  {
    name: 'A19: protobuf: a million empty audiences',
    body: tokenRequestOf(Buffer.alloc(2_000_000, Buffer.from([0x0a, 0x00]))),
    codes: [400],
    type: PROTOBUF,
  },
  {
    name: 'A19: protobuf: 4,900 audiences',
    body: tokenRequestOf(message({ 1: times(4_900, () => 'a') })),
    codes: [422],
    type: PROTOBUF,
  },
  { name: 'A19: protobuf: 3 MB of zeros', body: tokenRequestOf(Buffer.alloc(3_000_000)), codes: [400], type: PROTOBUF },
  {
    name: 'A19: protobuf: 3 MB of text',
    body: tokenRequestOf(message({ 1: Buffer.alloc(3_000_000, 0xff) })),
    codes: [400],
    type: PROTOBUF,
  },
];

export const bodies: readonly CostlyBody[] = [...json, ...yamls, ...protobufs];
