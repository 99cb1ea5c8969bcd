import { describe, expect, test } from 'vitest';
import { namespaceKind, serviceAccountKind } from '../../api/kinds/core.ts';
import { clusterRoleKind } from '../../api/kinds/rbac.ts';
import { ApiError } from '../../api/status.ts';
import type { JsonValue } from '../../lib/json.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const onAccount = (target: JsonValue, patch: JsonValue): unknown =>
  JSON.parse(JSON.stringify(applyStrategicMergePatch(target, patch, serviceAccountKind.shape)));

const refusal = (patch: JsonValue, target: JsonValue = {}): string => {
  try {
    onAccount(target, patch);
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 400) return error.message;
    throw error;
  }
  throw new Error('not refused');
};

const names = (...list: string[]) => list.map((name) => ({ name }));

describe('objects', () => {
  test('are merged member by member, and null removes', () => {
    const target = { metadata: { labels: { a: '1', b: '2' } }, automountServiceAccountToken: true };
    const patch = { metadata: { labels: { a: null, c: '3' } }, automountServiceAccountToken: null };
    expect(onAccount(target, patch)).toEqual({ metadata: { labels: { b: '2', c: '3' } } });
  });

  test.each<[string, JsonValue, unknown]>([
    ['replace', { metadata: { labels: { $patch: 'replace', x: 'y' } } }, { metadata: { labels: { x: 'y' } } }],
    ['delete', { metadata: { labels: { $patch: 'delete' } } }, { metadata: { labels: {} } }],
    ['merge', { metadata: { labels: { $patch: 'merge', x: 'y' } } }, { metadata: { labels: { a: '1', x: 'y' } } }],
    ['$retainKeys', { metadata: { labels: { $retainKeys: ['b'], b: '2' } } }, { metadata: { labels: { b: '2' } } }],
  ])('$patch or directive: %s', (_, patch, result) => {
    expect(onAccount({ metadata: { labels: { a: '1' } } }, patch)).toEqual(result);
  });

  test('what is new carries no directives and no nulls', () => {
    const patch = {
      metadata: { $retainKeys: ['labels'], labels: { a: null, b: '1' }, annotations: { $patch: 'delete' } },
    };
    expect(() => onAccount({ metadata: {} }, patch)).toThrow('invalid patch format of retainKeys');
    expect(onAccount({}, patch)).toEqual({ metadata: { labels: { b: '1' } } });
  });

  test('a prototype is a key like any other', () => {
    const patch = JSON.parse('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}');
    const result = applyStrategicMergePatch({ metadata: { labels: {} } }, patch, serviceAccountKind.shape);
    expect(JSON.stringify(result)).toBe('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

describe('lists', () => {
  test.each<[string, JsonValue, JsonValue, unknown]>([
    [
      'with a merge key: elements are merged',
      names('a', 'b'),
      [{ name: 'b', uid: 'u' }],
      [{ name: 'a' }, { name: 'b', uid: 'u' }],
    ],
    ['with a merge key: new ones come first, as in kube-apiserver', names('a'), names('b'), names('b', 'a')],
    ['with a merge key: one is deleted', names('a', 'b'), [{ name: 'a', $patch: 'delete' }], names('b')],
    ['with a merge key: all are replaced', names('a', 'b'), [{ $patch: 'replace' }, { name: 'c' }], names('c')],
    ['a list where there was none', null, [{ name: 'c' }, { name: 'd', $patch: 'delete' }], names('c')],
  ])('%s', (_, secrets, patch, result) => {
    expect(onAccount({ secrets }, { secrets: patch })).toEqual({ secrets: result });
  });

  test('without a strategy: replaced whole', () => {
    expect(onAccount({ imagePullSecrets: names('a', 'b') }, { imagePullSecrets: names('c') })).toEqual({
      imagePullSecrets: names('c'),
    });
    const rules = [{ verbs: ['get'] }];
    const role = { rules: [{ verbs: ['list'] }, { verbs: ['watch'] }] };
    expect(applyStrategicMergePatch(role, { rules }, clusterRoleKind.shape)).toEqual({ rules });
    const namespace = { spec: { finalizers: ['a', 'b'] } };
    expect(applyStrategicMergePatch(namespace, { spec: { finalizers: ['c'] } }, namespaceKind.shape)).toEqual({
      spec: { finalizers: ['c'] },
    });
  });

  test('of texts: a set', () => {
    const target = { metadata: { finalizers: ['a', 'b'] } };
    expect(onAccount(target, { metadata: { finalizers: ['b', 'c'] } })).toEqual({
      metadata: { finalizers: ['a', 'b', 'c'] },
    });
    const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['d'] } };
    expect(onAccount(target, patch)).toEqual({ metadata: { finalizers: ['d', 'b'] } });
    expect(onAccount({}, patch)).toEqual({ metadata: { finalizers: ['d'] } });
  });

  test('an element that is mentioned twice is merged twice, and one that is there twice stays so', () => {
    const patch = [
      { name: 'a', uid: '1' },
      { name: 'a', kind: 'k' },
    ];
    expect(onAccount({ secrets: names('a', 'b', 'a') }, { secrets: patch })).toEqual({
      secrets: [{ name: 'a' }, { name: 'a', uid: '1', kind: 'k' }, { name: 'b' }],
    });
  });

  test('owners are distinguished by uid', () => {
    const target = {
      metadata: {
        ownerReferences: [
          { uid: '1', name: 'a' },
          { uid: '2', name: 'b' },
        ],
      },
    };
    const patch = { metadata: { ownerReferences: [{ uid: '2', name: 'c' }] } };
    expect(onAccount(target, patch)).toEqual({
      metadata: {
        ownerReferences: [
          { uid: '1', name: 'a' },
          { uid: '2', name: 'c' },
        ],
      },
    });
  });
});

describe('$setElementOrder', () => {
  test.each<[string, string[], string[], string[], string[]]>([
    ['puts elements into order', ['a', 'b', 'c'], [], ['c', 'a', 'b'], ['c', 'a', 'b']],
    ['orders the added', ['a', 'b'], ['c'], ['c', 'a', 'b'], ['c', 'a', 'b']],
    [
      "keeps the server's own before what they stood before",
      ['x', 'a', 'y', 'b'],
      [],
      ['a', 'b'],
      ['x', 'a', 'y', 'b'],
    ],
    ['the order of the patch wins', ['a', 'x', 'b'], [], ['b', 'a'], ['x', 'b', 'a']],
  ])('%s', (_, before, added, order, after) => {
    const patch = {
      '$setElementOrder/secrets': names(...order),
      ...(added.length > 0 ? { secrets: names(...added) } : {}),
    };
    expect(onAccount({ secrets: names(...before) }, patch)).toEqual({ secrets: names(...after) });
    const texts = {
      metadata: { '$setElementOrder/finalizers': order, ...(added.length > 0 ? { finalizers: added } : {}) },
    };
    expect(onAccount({ metadata: { finalizers: before } }, texts)).toEqual({ metadata: { finalizers: after } });
  });
});

describe('what contradicts itself is 400', () => {
  test.each<[string, JsonValue, string]>([
    ['no object', [], 'a strategic merge patch must be a JSON object'],
    ['an unknown directive', { metadata: { $patch: 'burn' } }, 'unknown patch type: burn'],
    [
      'an element without its key',
      { secrets: [{ uid: 'u' }] },
      'an element of the patch does not contain the declared merge key: name',
    ],
    ['an element that is no object', { secrets: ['a'] }, 'a list that is merged by name must hold objects'],
    [
      'a deletion that is no list',
      { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      '$deleteFromPrimitiveList/finalizers must be a list',
    ],
    [
      'an order that leaves out an addition',
      { secrets: names('z'), '$setElementOrder/secrets': names('a') },
      "the order in patch list secrets doesn't match $setElementOrder list",
    ],
  ])('%s', (_, patch, message) => {
    expect(refusal(patch, { metadata: { finalizers: [] }, secrets: names('a') })).toBe(message);
  });

  test.each<[string, JsonValue]>([
    ['elements', { secrets: names(...Array.from({ length: 1_001 }, (_, index) => `s${index}`)) }],
    ['members of a set', { metadata: { finalizers: Array.from({ length: 1_001 }, (_, index) => `a/${index}`) } }],
    ['an order', { '$setElementOrder/secrets': Array.from({ length: 1_001 }, () => ({ name: 'a' })) }],
  ])('A19: a list that no object could have: %s', (_, patch) => {
    expect(refusal(patch, { metadata: { finalizers: [] }, secrets: names('a') })).toMatch(
      /^a list of the patch has more than 10{2,3} elements$/,
    );
  });
});
