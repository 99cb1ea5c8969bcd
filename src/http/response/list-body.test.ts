import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { toYaml } from '../../api/codec/to-yaml.ts';
import type { ListResponse } from '../../api/request.ts';
import { CompactList, type ListForm, listChunks } from './list-body.ts';

const listOf = (items: readonly unknown[], style: ListResponse['style'] = 'custom'): ListResponse => ({
  type: 'list',
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'ClusterList',
  metadata: { resourceVersion: '7', continue: '' },
  items: items.map((item) => Buffer.from(JSON.stringify(item))),
  style,
});
const TABLE = { kind: 'Table', apiVersion: 'meta.k8s.io/v1' };
const chunksOf = (list: ListResponse, form: ListForm): Uint8Array[] =>
  [...listChunks(list, form)].filter((chunk) => chunk !== undefined);
const textOf = (list: ListResponse, form: ListForm): string => Buffer.concat(chunksOf(list, form)).toString();

describe('compact', () => {
  test('L-10: a custom list has sorted keys, in its metadata too', () => {
    expect(textOf(listOf([{ a: 1 }, { b: 2 }]), 'compact')).toBe(
      '{"apiVersion":"clusterregistry.k8s.io/v1alpha1","items":[{"a":1},{"b":2}],"kind":"ClusterList","metadata":{"continue":"","resourceVersion":"7"}}\n',
    );
  });

  test('L-10: a built-in list has the order of its Go type', () => {
    expect(textOf(listOf([{ a: 1 }], 'builtin'), 'compact')).toBe(
      '{"kind":"ClusterList","apiVersion":"clusterregistry.k8s.io/v1alpha1","metadata":{"resourceVersion":"7","continue":""},"items":[{"a":1}]}\n',
    );
  });

  test('L-11: nothing is an empty array', () => {
    expect(textOf(listOf([]), 'compact')).toContain('"items":[]');
  });

  test('the length is known beforehand, beyond ASCII too', () => {
    for (const style of ['custom', 'builtin'] as const) {
      for (const items of [[], ['\u00fc'], ['a', '\u4f60', { b: '\u{1f600}' }]]) {
        const list = listOf(items, style);
        expect(new CompactList(list).length).toBe(Buffer.byteLength(textOf(list, 'compact')));
      }
    }
  });

  test('the same bytes, wherever a buffer ends', () => {
    for (const items of [[], ['one'], ['one', { two: 2 }, '', 'four']]) {
      const list = listOf(items);
      const whole = textOf(list, 'compact');
      for (let size = 1; size <= whole.length + 1; size++) {
        const compact = new CompactList(list);
        const parts: Buffer[] = [];
        while (!compact.done) {
          const part = Buffer.alloc(size);
          parts.push(part.subarray(0, compact.fill(part)));
        }
        expect(Buffer.concat(parts).toString()).toBe(whole);
      }
    }
  });
});

describe('pretty', () => {
  test.each(['custom', 'builtin'] as const)('F-13: %s is the compact form, indented, without a newline', (style) => {
    for (const items of [[], [{}], [{ a: [1, { b: [] }] }, { c: 'd' }]]) {
      const list = listOf(items, style);
      const value: unknown = JSON.parse(textOf(list, 'compact'));
      expect(textOf(list, 'pretty')).toBe(JSON.stringify(value, null, 2));
    }
  });
});

describe('yaml', () => {
  test('is the same list, keys sorted, items not indented', () => {
    const items = [
      { kind: 'Cluster', a: 'x' },
      { text: 'one\n\ntwo\n\n', list: [{ b: 1 }] },
    ];
    const text = textOf(listOf(items), 'yaml');
    expect(text).toMatch(/^apiVersion: clusterregistry\.k8s\.io\/v1alpha1\nitems:\n- a: x\n {2}kind: Cluster\n- list:/);
    expect(parse(text)).toEqual(JSON.parse(textOf(listOf(items), 'compact')));
  });

  test.each(['pretty', 'yaml'] as const)('A19: each step makes at most one item (%s)', (form) => {
    const items = Array.from({ length: 50 }, (_, index) => ({ index, text: 'x'.repeat(5_000) }));
    expect([...listChunks(listOf(items), form)].length).toBeGreaterThanOrEqual(items.length);
  });
});

describe('a table', () => {
  const metadata = { resourceVersion: '7', continue: 'x' };
  const columns = [{ name: 'Name', type: 'string', format: 'name', description: '', priority: 0 }, { name: 'Age' }];
  const tables = [
    [],
    [{ cells: ['a', 1] }],
    [{ cells: ['a', null], object: { kind: 'x', metadata: {} } }, { cells: [] }],
  ];

  test.each(tables.map((rows) => [rows]))('B-01: has columns, and rows in place of items: %j', (rows) => {
    const list: ListResponse = { ...listOf(rows, 'builtin'), ...TABLE, metadata, columns };
    const whole = { ...TABLE, metadata, columnDefinitions: columns, rows };
    expect(textOf(list, 'compact')).toBe(`${JSON.stringify(whole)}\n`);
    expect(new CompactList(list).length).toBe(textOf(list, 'compact').length);
    expect(textOf(list, 'pretty')).toBe(JSON.stringify(whole, null, 2));
    expect(textOf(list, 'yaml')).toBe(toYaml(whole));
  });
});
