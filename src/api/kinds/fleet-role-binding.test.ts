import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../lib/json.ts';
import { clustersText } from '../clusters-field.ts';
import { decodeValue } from '../codec/decode.ts';
import type { ApiObject } from '../kind.ts';
import { ApiError } from '../status.ts';
import { fleetRoleBindingKind as kind } from './fleet-role-binding.ts';

const good = {
  subjects: [{ kind: 'Group', name: 'team-shop' }],
  roleRef: { kind: 'ClusterRole', name: 'clusterpass:token-creator' },
  clusters: { selector: { matchLabels: { env: 'dev' } } },
};

const object = (spec: object, more: object = {}): JsonValue =>
  ({
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name: 'b' },
    spec,
    ...more,
  }) as never;

/** The field and the text of each error: of the decoder, or of the validation of what it returned. */
function problems(value: JsonValue, old?: ApiObject): string[] {
  try {
    const decoded = decodeValue(value, kind, 'Ignore').value;
    return kind.validate(decoded, old, new Set()).map(({ field, type }) => `${field} ${type}`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    expect(error.status.code).toBe(422);
    return (error.status.details?.causes ?? []).map(({ field = '', reason }) => `${field} ${reason}`);
  }
}

const times = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index));

describe('a FleetRoleBinding with a mistake is refused, and the field is named', () => {
  const INVALID = 'FieldValueInvalid';
  const FORBIDDEN = 'FieldValueForbidden';
  const selector = (value: unknown) => ({ ...good, clusters: { selector: value } });
  const expression = (value: unknown) => selector({ matchExpressions: [value] });
  const { clusters: _, ...withoutClusters } = good;
  test.each<readonly [string, object, string[]]>([
    ['clusters forgotten', withoutClusters, ['spec.clusters required']],
    ['clusters null', { ...good, clusters: null }, [`spec.clusters ${INVALID}`]],
    ['clusters empty', { ...good, clusters: {} }, ['spec.clusters invalid']],
    ['clusters of two kinds', { ...good, clusters: { all: true, names: ['a'] } }, ['spec.clusters invalid']],
    ['clusters of another type', { ...good, clusters: 'env=dev' }, [`spec.clusters ${INVALID}`]],
    ['clusters misspelled', { ...withoutClusters, cluster: { all: true } }, [`spec.cluster ${FORBIDDEN}`]],
    [
      '65 requirements',
      selector({ matchLabels: { a: 'b' }, matchExpressions: times(64, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
      ['spec.clusters.selector forbidden'],
    ],
    [
      '257 values',
      selector({ matchExpressions: [{ key: 'a', operator: 'In', values: times(257, String) }] }),
      ['spec.clusters.selector forbidden'],
    ],
    ['a field misspelled', { ...good, expiresat: '2026-11-20T18:00:00Z' }, [`spec.expiresat ${FORBIDDEN}`]],
    ['a field of clusters misspelled', { ...good, clusters: { name: ['a'] } }, [`spec.clusters.name ${FORBIDDEN}`]],
    ['all: false', { ...good, clusters: { all: false } }, ['spec.clusters.all invalid']],
    ['no names', { ...good, clusters: { names: [] } }, ['spec.clusters.names required']],
    ['names: null', { ...good, clusters: { names: null } }, [`spec.clusters.names ${INVALID}`]],
    ['a bad name', { ...good, clusters: { names: ['a', 'B'] } }, ['spec.clusters.names[1] invalid']],
    ['a uid of two names', { ...good, clusters: { names: ['a', 'b'], uid: 'u' } }, ['spec.clusters.uid invalid']],
    [
      'a uid with a selector',
      { ...selector({ matchLabels: { a: 'b' } }), clusters: { all: true, uid: 'u' } },
      ['spec.clusters.uid invalid'],
    ],
    ['an empty selector', selector({}), ['spec.clusters.selector required']],
    ['an empty matchLabels', selector({ matchLabels: {} }), ['spec.clusters.selector required']],
    ['a selector: null', selector(null), [`spec.clusters.selector ${INVALID}`]],
    ['a selector misspelled', selector({ matchLabel: { a: 'b' } }), [`spec.clusters.selector.matchLabel ${FORBIDDEN}`]],
    ['a label: null', selector({ matchLabels: { env: null } }), [`spec.clusters.selector.matchLabels.env ${INVALID}`]],
    ['a bad label', selector({ matchLabels: { 'a b': 'c' } }), ['spec.clusters.selector.matchLabels invalid']],
    [
      'a label that no cluster has',
      selector({ matchLabels: { 'clusterpass.dev/env': 'c' } }),
      ['spec.clusters.selector.matchLabels invalid'],
    ],
    [
      'an unknown operator',
      expression({ key: 'env', operator: 'Is', values: ['dev'] }),
      ['spec.clusters.selector.matchExpressions[0].operator unsupported'],
    ],
    [
      'In without values',
      expression({ key: 'env', operator: 'In' }),
      ['spec.clusters.selector.matchExpressions[0].values required'],
    ],
    [
      'Exists with values',
      expression({ key: 'env', operator: 'Exists', values: ['a'] }),
      ['spec.clusters.selector.matchExpressions[0].values forbidden'],
    ],
    [
      'an expression without a key',
      expression({ operator: 'Exists' }),
      [
        'spec.clusters.selector.matchExpressions[0].key invalid',
        'spec.clusters.selector.matchExpressions[0].key invalid',
      ],
    ],
    ['no role', { ...good, roleRef: undefined }, ['spec.roleRef.kind unsupported', 'spec.roleRef.name required']],
    ['a Role without a namespace', { ...good, roleRef: { kind: 'Role', name: 'r' } }, ['spec.namespaces required']],
    [
      'a Role in two namespaces',
      { ...good, roleRef: { kind: 'Role', name: 'r' }, namespaces: ['a', 'b'] },
      ['spec.namespaces invalid'],
    ],
    ['no namespaces', { ...good, namespaces: [] }, ['spec.namespaces required']],
    ['namespaces: null', { ...good, namespaces: null }, [`spec.namespaces ${INVALID}`]],
    ['a bad namespace', { ...good, namespaces: ['A'] }, ['spec.namespaces[0] invalid']],
    ['expiresAt: null', { ...good, expiresAt: null }, [`spec.expiresAt ${INVALID}`]],
    ['no time', { ...good, expiresAt: 'tomorrow' }, [`spec.expiresAt ${INVALID}`]],
    ['agents of another word', { ...good, agents: 'allow' }, ['spec.agents unsupported']],
    ['an approval by no one', { ...good, approval: {} }, ['spec.approval.by unsupported']],
    ['an approval of agents, without agents', { ...good, approval: { by: 'Requester' } }, ['spec.approval.by invalid']],
    ['a short maxPassSeconds', { ...good, maxPassSeconds: 59 }, ['spec.maxPassSeconds invalid']],
    ['a maxPassSeconds as text', { ...good, maxPassSeconds: '900' }, [`spec.maxPassSeconds ${INVALID}`]],
    [
      'a subject of another kind',
      { ...good, subjects: [{ kind: 'Team', name: 'a' }] },
      ['spec.subjects[0].kind unsupported'],
    ],
    [
      'an account without a namespace',
      { ...good, subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
      ['spec.subjects[0].namespace required'],
    ],
    [
      'a user with a namespace',
      { ...good, subjects: [{ kind: 'User', name: 'a', namespace: 'b' }] },
      ['spec.subjects[0].namespace invalid'],
    ],
    ['a subject: null', { ...good, subjects: [null] }, [`spec.subjects[0] ${INVALID}`]],
    [
      'a field of RBAC',
      { ...good, subjects: [{ kind: 'User', name: 'a', apiGroup: 'x' }] },
      [`spec.subjects[0].apiGroup ${FORBIDDEN}`],
    ],
  ])('%s', (_name, spec, expected) => {
    const found = problems(object(JSON.parse(JSON.stringify(spec))));
    expect(found).toEqual(expected);
  });

  test('a field beside the spec', () => {
    expect(problems(object(good, { expiresAt: '2026-11-20T18:00:00Z' }))).toEqual([`expiresAt ${FORBIDDEN}`]);
  });

  test('a changed roleRef', () => {
    const old = decodeValue(object(good), kind, 'Ignore').value;
    const spec = { ...good, roleRef: { kind: 'ClusterRole', name: 'cluster-admin' } };
    expect(problems(object(spec), old)).toEqual(['spec.roleRef invalid']);
  });
});

test.each([
  ['all', { all: true }, '<all>'],
  ['names of any length', { names: ['a'.repeat(250)] }, 'a'.repeat(250)],
  ['the cluster of a uid', { names: ['a'], uid: 'u' }, 'a'],
  ['labels', { selector: { matchLabels: { env: 'dev', region: 'eu' } } }, 'env=dev,region=eu'],
  [
    'every operator',
    {
      selector: {
        matchExpressions: [
          { key: 'env', operator: 'In', values: ['dev', 'test'] },
          { key: 'env', operator: 'NotIn', values: ['prod'] },
          { key: 'protected.clusterpass.dev/env', operator: 'Exists' },
          { key: 'kubernetes.io/metadata.name', operator: 'Exists' },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      },
    },
    'env in (dev,test),env notin (prod),protected.clusterpass.dev/env,kubernetes.io/metadata.name,!old',
  ],
])('a FleetRoleBinding for %s is accepted, and shown', (_name, clusters, shown) => {
  const spec = {
    ...good,
    clusters,
    namespaces: ['shop', 'ci'],
    expiresAt: '2026-11-20T18:00:00Z',
    agents: 'Allow',
    approval: { by: 'Requester' },
    maxPassSeconds: 900,
  };
  expect(problems(object(spec))).toEqual([]);
  expect(clustersText(clusters)).toBe(shown);
});
