import { describe, expect, it } from 'vitest';
import { accessRequestKind } from '../../api/kinds/access-request.ts';
import { refusal, refusalIfAny } from '../../api/refusal.fixture.ts';
import {
  account,
  binding,
  Fleet,
  type FleetExtras,
  fleetBinding,
  person,
  type Rules,
  role,
} from '../policy/rbac.fixture.ts';
import { checkApproval, checkRequest, decisionRefusal } from './check-access-request.ts';

const GROUP = 'clusterpass.dev';
const END = '2026-11-16T18:00:00Z';
const ASK: Rules = [{ verbs: ['create'], apiGroups: [GROUP], resources: ['accessrequests'] }];
const APPROVE: Rules = [{ verbs: ['approve'], apiGroups: [GROUP], resources: ['accessrequests'] }];
const SEE: Rules = [{ verbs: ['get'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }];
const TOKEN: Rules = [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }];
const roles = (verb: string): Rules => [
  { verbs: [verb], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'clusterroles'] },
];

function fleet(): Fleet {
  const world = new Fleet({ now: () => Date.parse(END) - 3_600_000 });
  world.clusters.set('a', { env: 'prod' }).set('b', { env: 'dev' });
  return world.put(
    ...Object.entries({ ask: ASK, approve: APPROVE, see: SEE, token: TOKEN }).map(([name, rules]) => role(name, rules)),
    role('escalate', roles('escalate')),
    role('bind', roles('bind')),
  );
}

const jane = person('jane');
const bound = (name: string, extras: FleetExtras = {}) =>
  fleetBinding(`${name}-${JSON.stringify(extras)}`, `ClusterRole/${name}`, ['User:jane'], extras);

describe('A31: who may request access', () => {
  const codes = (world: Fleet, namespace = '') =>
    ['a', 'b', 'none'].map(
      (cluster) => refusalIfAny(() => checkRequest(world.policy, jane, { cluster, namespace }))?.code,
    );

  it.each([
    [[], '', [403, 403, 403]],
    [[bound('ask')], '', [undefined, undefined, undefined]],
    [[bound('ask', { namespaces: ['n'] })], 'n', [undefined, undefined, undefined]],
    [[bound('ask', { namespaces: ['n'] })], 'm', [403, 403, 403]],
    // By labels: only where the cluster is seen, so that a hidden one is like one that does not exist.
    [[bound('ask', { clusters: 'env=prod' })], '', [403, 403, 403]],
    [[bound('ask', { clusters: 'env!=dev' }), bound('see', { clusters: 'env=dev' })], '', [403, 403, 403]],
    [[bound('ask', { clusters: 'env=prod' }), bound('see')], '', [undefined, 403, 403]],
    [[bound('ask', { clusters: 'kubernetes.io/metadata.name in (b,none)' })], '', [403, undefined, undefined]],
  ])('%#', (bindings, namespace, expected) => {
    expect(codes(fleet().put(...bindings), namespace)).toEqual(expected);
  });

  it('refusal and rules say the same of a hidden cluster and of one that does not exist', () => {
    const { policy } = fleet().put(bound('ask', { clusters: 'env=prod' }));
    const text = (cluster: string) => refusal(() => checkRequest(policy, jane, { cluster, namespace: 'n' }));
    expect(text('a')).toEqual(text('none'));
    expect(policy.rulesFor(jane, { cluster: 'a', namespace: 'n' }).resourceRules).toEqual([]);
  });
});

describe('who may approve', () => {
  it.each([
    [[], [403, 403]],
    [[bound('approve')], [undefined, undefined]],
    [[bound('approve', { clusters: 'env=prod' })], [undefined, 403]],
    [[bound('approve', { namespaces: ['ci'] })], [undefined, undefined]],
    [[bound('approve', { namespaces: ['shop'] })], [403, 403]],
    [[bound('approve', { expiresAt: '2026-11-16T16:00:00Z' })], [403, 403]],
  ])('%#', (bindings, expected) => {
    const { policy } = fleet().put(...bindings);
    const codes = ['a', 'b'].map(
      (cluster) => decisionRefusal(policy, accessRequestKind, jane, 'x', { cluster, namespace: 'ci' })?.status.code,
    );
    expect(codes).toEqual(expected);
    const rule = policy.approvalRule(jane, accessRequestKind);
    expect(['a', 'b'].map((cluster) => rule.admits(cluster, 'ci'))).toEqual(expected.map((code) => code === undefined));
    const absent = decisionRefusal(policy, accessRequestKind, jane, 'x', { cluster: 'none', namespace: 'ci' });
    expect(rule.admits('none', 'ci')).toBe(absent === undefined);
  });

  it('a rule that names requests permits to decide these, not to list them', () => {
    const named = role('named', [{ ...APPROVE[0], resourceNames: ['x'] }]);
    const { policy } = fleet().put(named, bound('named'));
    const scope = { cluster: 'a', namespace: '' };
    expect(decisionRefusal(policy, accessRequestKind, jane, 'x', scope)).toBeUndefined();
    expect(decisionRefusal(policy, accessRequestKind, jane, 'y', scope)?.status.code).toBe(403);
    expect(policy.approvalRule(jane, accessRequestKind).none).toBe(true);
  });

  it('follows the labels of clusters, and the account of a caller at home', () => {
    const world = fleet().put(
      bound('approve', { clusters: 'env=prod' }),
      binding('sa', 'ClusterRole/approve', ['ServiceAccount:n/s']),
    );
    const rule = world.policy.approvalRule(jane, accessRequestKind);
    expect(rule.changesWith('b', { env: 'dev' }, { env: 'prod' })).toBe(true);
    expect(rule.changesWith('b', undefined, { env: 'prod' })).toBe(true);
    expect(rule.changesWith('b', { env: 'dev' }, { env: 'dev', x: 'y' })).toBe(false);
    world.relabel('b', { env: 'prod' });
    expect(rule.admits('b', '')).toBe(true);
    const local = world.policy.approvalRule(account('a', 'n', 's'), accessRequestKind);
    expect(['a', 'b'].map((cluster) => local.admits(cluster, ''))).toEqual([true, false]);
  });
});

describe('A31: what an approver may grant', () => {
  const granted = { cluster: 'a', namespace: 'ci', name: 'x', role: 'clusterpass:access-request:x' };
  const rules = [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['s'] }];
  const grant = { ...granted, rules, labels: { env: 'prod' }, until: Date.parse(END) };

  it.each([
    [[], false],
    [[bound('token')], true],
    [[bound('token', { clusters: 'env=prod' })], true],
    [[bound('token', { clusters: 'env=dev' })], false],
    [[bound('token', { namespaces: ['ci'] })], true],
    [[bound('token', { namespaces: ['shop'] })], false],
    [[bound('token', { expiresAt: END })], true],
    [[bound('token', { expiresAt: '2026-11-16T17:59:59Z' })], false],
    [[bound('escalate')], false],
    [[bound('bind')], false],
    [[bound('bind'), bound('escalate')], true],
    // Roles belong to no cluster.
    [[bound('bind'), bound('escalate', { clusters: 'env=prod' })], false],
  ])('%#', (bindings, isAllowed) => {
    const { policy } = fleet().put(...bindings);
    expect(refusalIfAny(() => checkApproval(policy, jane, grant)) === undefined).toBe(isAllowed);
  });

  it('the refusal names the cluster, the time and what is missing', () => {
    expect(refusal(() => checkApproval(fleet().policy, jane, grant)).message).toBe(
      'accessrequests.clusterpass.dev "x" is forbidden: user "jane" (groups=[]) is attempting to grant RBAC permissions ' +
        'not currently held in cluster "a" until 2026-11-16T18:00:00Z:\n' +
        '{APIGroups:[""], Resources:["serviceaccounts/token"], ResourceNames:["s"], Verbs:["create"]}',
    );
    expect(refusalIfAny(() => checkApproval(fleet().policy, person('root', 'system:masters'), grant))).toBeUndefined();
  });
});
