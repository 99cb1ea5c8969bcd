import type { JsonValue } from '../../../src/lib/json.ts';

/** `fieldsV1` of `metadata.managedFields` as hostile clients write it. */
export interface HostileFields {
  readonly name: string;
  readonly fieldsV1: JsonValue;
  /** `ignored`: cannot be read, so the stored entries stay. `dropped`: too large, so no entry is stored. */
  readonly outcome: 'ignored' | 'dropped';
}

const nested = (levels: number, key: string): JsonValue => {
  let fields: JsonValue = {};
  for (let level = 0; level < levels; level++) fields = { [key]: fields };
  return fields;
};
const wide = (count: number, keyOf: (index: number) => string): JsonValue => ({
  'f:metadata': { 'f:labels': Object.fromEntries(Array.from({ length: count }, (_, index) => [keyOf(index), {}])) },
});

export const HOSTILE_FIELDS: readonly HostileFields[] = [
  { name: '60 levels, the deepest that a body can have', fieldsV1: nested(58, 'f:a'), outcome: 'ignored' },
  { name: '60 levels of list items', fieldsV1: nested(58, 'k:{"a":"b"}'), outcome: 'ignored' },
  { name: '9,000 fields', fieldsV1: wide(9_000, (index) => `f:${index}`), outcome: 'dropped' },
  { name: '9,000 list items', fieldsV1: wide(9_000, (index) => `k:{"name":"${index}"}`), outcome: 'dropped' },
  { name: '9,000 values', fieldsV1: wide(9_000, (index) => `v:"${index}"`), outcome: 'dropped' },
  { name: 'a field name of 1 MB', fieldsV1: { [`f:${'x'.repeat(1_000_000)}`]: {} }, outcome: 'dropped' },
  {
    name: '3,000 field names of 200 bytes',
    fieldsV1: wide(3_000, (i) => `f:${i}${'x'.repeat(200)}`),
    outcome: 'dropped',
  },
  { name: 'a list item of 1 MB', fieldsV1: { [`k:{"name":"${'x'.repeat(1_000_000)}"}`]: {} }, outcome: 'ignored' },
  { name: 'a value of 1 MB', fieldsV1: { [`v:"${'x'.repeat(1_000_000)}"`]: {} }, outcome: 'ignored' },
  {
    name: 'a list item that nests a million lists',
    fieldsV1: { [`k:${'['.repeat(1_000_000)}`]: {} },
    outcome: 'ignored',
  },
  { name: 'a value that nests a million lists', fieldsV1: { [`v:${'['.repeat(1_000_000)}`]: {} }, outcome: 'ignored' },
  { name: 'a number', fieldsV1: 1, outcome: 'ignored' },
  { name: 'a text', fieldsV1: '{"f:metadata":{}}', outcome: 'ignored' },
  { name: 'a list', fieldsV1: [{}], outcome: 'ignored' },
  { name: 'a number at a path', fieldsV1: { 'f:metadata': 1 }, outcome: 'ignored' },
  { name: 'null at a path', fieldsV1: { 'f:metadata': null }, outcome: 'ignored' },
  { name: 'a list at a path', fieldsV1: { 'f:metadata': { 'f:labels': [] } }, outcome: 'ignored' },
  { name: 'an index that is no number', fieldsV1: { 'i:x': {} }, outcome: 'ignored' },
  { name: 'an index of 1 MB', fieldsV1: { [`i:${'9'.repeat(1_000_000)}`]: {} }, outcome: 'ignored' },
  { name: 'a list item that is a list', fieldsV1: { 'k:[]': {} }, outcome: 'ignored' },
  { name: 'a list item with an object as key', fieldsV1: { 'k:{"a":{}}': {} }, outcome: 'ignored' },
  { name: 'a value that is an object', fieldsV1: { 'v:{}': {} }, outcome: 'ignored' },
  { name: 'a key without a colon', fieldsV1: { metadata: {} }, outcome: 'ignored' },
  { name: 'an empty key', fieldsV1: { '': {} }, outcome: 'ignored' },
];
