import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokenQuestion } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import { clusterRoleBindingKind, clusterRoleKind } from '../../api/kinds/rbac.ts';
import { refusal, refusalIfAny } from '../../api/refusal.fixture.ts';
import { checkApproval } from '../admission/check-access-request.ts';
import { checkLabels } from '../admission/check-labels.ts';
import { checkGrant } from '../admission/escalation.ts';
import { ask, binding, Fleet, type FleetExtras, fleetBinding, person, type Rules, role } from './rbac.fixture.ts';

const TOKEN: Rules = [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }];
const jane = person('jane');
const question = tokenQuestion({ cluster: 'a', namespace: 'ci', name: 'builder' });

let count = 0;
const bound = (extras: FleetExtras = {}, to = 'User:jane') =>
  fleetBinding(`b${++count}`, 'ClusterRole/token', [to], extras);

function fleet(...bindings: ReturnType<typeof bound>[]): Fleet {
  const world = new Fleet();
  world.clusters.set('a', { env: 'prod' }).set('b', { env: 'dev' });
  return world.put(role('token', TOKEN), ...bindings);
}

/** What a person needs, and an agent; undefined when it is refused. */
function needs({ policy }: Fleet, caller = jane) {
  return (['person', 'agent'] as const).map((holder) => {
    const { allowed, approval } = policy.decidePass(caller, question, holder);
    return allowed ? approval : undefined;
  });
}

const agents = 'Allow';

describe('A48, MC-90: what a pass needs', () => {
  it.each<[FleetExtras[], (string | undefined)[]]>([
    [[], [undefined, undefined]],
    [[{}], ['none', undefined]],
    [[{ agents }], ['none', 'none']],
    [[{ agents, approval: 'Requester' }], ['none', 'confirm']],
    [[{ agents, approval: 'Approver' }], ['none', 'review']],
    [[{ agents, approval: 'ApproverAlways' }], ['review', 'review']],
    [[{ approval: 'ApproverAlways' }], ['review', undefined]],
    // Rights add up: a binding that asks for less decides.
    [
      [{ agents, approval: 'Approver' }, {}],
      ['none', 'review'],
    ],
    [
      [
        { agents, approval: 'Approver' },
        { agents, approval: 'Requester' },
      ],
      ['none', 'confirm'],
    ],
    [
      [{ agents, approval: 'ApproverAlways' }, { agents }],
      ['none', 'none'],
    ],
    [
      [{ approval: 'ApproverAlways' }, { agents, approval: 'Requester' }],
      ['none', 'confirm'],
    ],
    // A mistake in a value, or in what belongs together, closes the door.
    [[{ agents: 'allow' }], [undefined, undefined]],
    [[{ agents: '' }], [undefined, undefined]],
    [[{ approval: 'Requester' }], [undefined, undefined]],
    [[{ agents, approval: 'approver' }], [undefined, undefined]],
    [[{ agents, approval: '' }], [undefined, undefined]],
    // Where it holds is a matter of its other fields.
    [[{ agents, clusters: 'env=dev' }], [undefined, undefined]],
    [[{ agents, approval: 'Approver', clusters: 'env=prod' }], ['none', 'review']],
    [[{ agents, namespaces: ['shop'] }], [undefined, undefined]],
    [[{ agents, namespaces: ['ci'] }], ['none', 'none']],
  ])('%j: %j', (bindings, expected) => {
    expect(needs(fleet(...bindings.map((extras) => bound(extras))))).toEqual(expected);
  });

  it.each<FleetExtras>([{}, { approval: 'ApproverAlways' }])(
    'an agent is refused with the field that is missing: %j',
    (extras) => {
      const { reason } = fleet(bound(extras)).policy.decidePass(jane, question, 'agent');
      expect(reason).toContain('spec.agents: Allow');
    },
  );

  it('system:masters is no binding that is marked for agents', () => {
    const root = person('root', 'system:masters');
    expect(needs(fleet(), root)).toEqual(['none', undefined]);
    expect(needs(fleet(bound({ agents, approval: 'Approver' }, 'User:root')), root)).toEqual(['none', 'review']);
  });

  it('is the least of what the bindings ask for, in any order', () => {
    const byAgents = ['Requester', 'Approver', 'ApproverAlways'].map((approval) => ({ agents, approval }));
    const extras = fc.constantFrom<FleetExtras[]>({}, { approval: 'ApproverAlways' }, { agents }, ...byAgents);
    const levels = ['none', 'confirm', 'review'];
    const least = (found: readonly string[]) => levels.find((level) => found.includes(level));
    fc.assert(
      fc.property(fc.array(extras, { maxLength: 4 }), (all) => {
        const needed = { Requester: 'confirm', Approver: 'review', ApproverAlways: 'review' } as const;
        const forPeople = all.map(({ approval }) => (approval === 'ApproverAlways' ? 'review' : 'none'));
        const forAgents = all
          .filter((each) => each.agents === 'Allow')
          .map(({ approval }) => (approval === undefined ? 'none' : needed[approval as keyof typeof needed]));
        expect(needs(fleet(...all.map((each) => bound(each))))).toEqual([least(forPeople), least(forAgents)]);
      }),
      { numRuns: 100 },
    );
  });

  it('says what is missing', () => {
    const reason = (...bindings: FleetExtras[]) =>
      fleet(...bindings.map((extras) => bound(extras))).policy.decidePass(jane, question, 'agent').reason;
    expect(reason({})).toContain('spec.agents: Allow');
    expect(reason()).toBe('');
    expect(fleet(bound({ approval: 'approver' })).policy.decide(jane, question).reason).toContain(
      'spec.approval.by: Unsupported value',
    );
  });
});

describe('A48: an approval of every pass', () => {
  const reviewed = { approval: 'ApproverAlways' };

  it('bounds every token request, and says what to do', () => {
    const { policy } = fleet(bound(reviewed));
    expect(policy.decide(jane, question)).toMatchObject({
      allowed: false,
      reason: expect.stringContaining('clusterpass pass request'),
    });
    expect(policy.decide(person('joe'), question).reason).toBe('');
    expect(policy.decide(jane, { ...question, namespace: 'ci', subresource: '' }).reason).toBe('');
    expect([...policy.grantsOf(question, { isKnown: true })].filter(Boolean)).toEqual([]);
  });

  it('bounds passes for people, the verbs that grant, and nothing else of its role', () => {
    const world = new Fleet().put(
      role('all', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]),
      fleetBinding('all', 'ClusterRole/all', ['User:jane'], reviewed),
    );
    const about = { group: 'clusterregistry.k8s.io', resource: 'clusters', namespace: '', name: 'a', cluster: 'a' };
    const may = (verb: string, subresource: string) =>
      world.policy.decide(jane, { ...about, verb, subresource }).allowed;
    expect([may('create', 'userpass'), may('get', '')]).toEqual([false, true]);
    // Each of them would give tokens without an approval.
    expect(['bind', 'escalate', 'impersonate'].map((verb) => may(verb, ''))).toEqual([false, false, false]);
    const self = binding('mine', 'ClusterRole/all', ['User:jane']);
    expect(refusal(() => checkGrant(world.policy, jane, clusterRoleBindingKind, self, undefined)).code).toBe(403);
  });

  it('cannot be passed on without the approval', () => {
    const world = fleet(bound(reviewed));
    const wanted = binding('mine', 'ClusterRole/token', ['User:jane']);
    const grant = {
      ...{ name: 'x', cluster: 'a', namespace: 'ci', role: 'x', labels: {}, until: 0 },
      rules: [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }],
    };
    const refusals = () => [
      refusalIfAny(() => checkGrant(world.policy, jane, clusterRoleBindingKind, wanted, undefined))?.code,
      refusalIfAny(() => checkApproval(world.policy, jane, grant))?.code,
    ];
    expect(refusals()).toEqual([403, 403]);
    world.put(bound());
    expect(refusals()).toEqual([undefined, undefined]);
  });
});

describe('A48: an agent grants only what it may do without asking', () => {
  const iss = 'https://pass.example';
  const forKim = { iss, sub: 'kim' };
  const before = bound({ agents, approval: 'Approver' }, 'Group:editors');
  const attempts: Readonly<Record<string, readonly [ReturnType<typeof bound>, old?: ReturnType<typeof bound>]>> = {
    'create a binding for agents': [bound({ agents }, 'Group:editors')],
    'create a binding for people': [bound({}, 'Group:editors')],
    'drop the approval': [bound({ agents }, 'Group:editors'), before],
  };
  /** jane holds the role and these verbs, through a binding with these fields. */
  const answers = (extras: FleetExtras, actor: Caller['actor'], caller = jane) => {
    const verbs = ['bind', 'escalate', 'impersonate'];
    const rules: Rules = [...TOKEN, { verbs, apiGroups: ['*'], resources: ['other'] }];
    const { policy } = fleet(bound(extras)).put(role('token', rules));
    const asked = { ...caller, actor };
    const codes = Object.values(attempts).map(
      ([object, old]) => refusalIfAny(() => checkGrant(policy, asked, fleetRoleBindingKind, object, old))?.code,
    );
    const written = refusalIfAny(() => checkGrant(policy, asked, clusterRoleKind, role('new', TOKEN), undefined))?.code;
    const may = verbs.map((verb) => policy.decide(asked, ask({ verb, group: 'x', resource: 'other' })).allowed);
    const labels = (env: string) => ({ kind: 'Cluster', apiVersion: '', metadata: { name: 'b', labels: { env } } });
    const clusters = { group: 'clusterregistry.k8s.io', resource: 'clusters' };
    const world = fleet(bound(extras), bound({ agents, clusters: 'env=prod' }, 'Group:editors')).policy;
    const labelled = refusalIfAny(() => checkLabels(world, asked, clusters, labels('prod'), labels('dev')))?.code;
    return [...codes, written, labelled, ...may];
  };
  const refused = [403, 403, 403, 403, 403, false, false, false];
  const permitted = [undefined, undefined, undefined, undefined, undefined, true, true, true];

  it.each<[string, FleetExtras, Caller['actor'], readonly unknown[]]>([
    ['a person', {}, undefined, permitted],
    ['an account for a person', {}, forKim, permitted],
    ['an agent', {}, { iss, sub: 'agent:editor', act: forKim }, refused],
    ['an account that an agent asked for', {}, { iss, sub: 'x', act: { iss, sub: 'agent:editor' } }, refused],
    ['an agent that has to ask', { agents, approval: 'Requester' }, { iss, sub: 'agent:editor' }, refused],
    ['an agent that needs not ask', { agents }, { iss, sub: 'agent:editor' }, permitted],
  ])('%s with %j', (_, extras, actor, expected) => {
    expect(answers(extras, actor)).toEqual(expected);
    const impersonated = { ...jane, impersonator: { ...person('robot'), actor } } as Caller;
    expect(answers(extras, undefined, impersonated), 'that impersonates').toEqual(expected);
  });
});
