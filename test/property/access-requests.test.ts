import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ResourceQuestion } from '../../src/api/authorization.ts';
import type { Actor, Caller } from '../../src/api/caller.ts';
import { createCatalog } from '../../src/api/catalog.ts';
import type { ApiObject } from '../../src/api/kind.ts';
import { accessRequestKind } from '../../src/api/kinds/access-request.ts';
import {
  type AccessRequestSpec,
  type RequestedAccess,
  requestedAccess,
  requestScope,
} from '../../src/api/kinds/access-request-spec.ts';
import { refusalIfAny } from '../../src/api/refusal.fixture.ts';
import { checkApproval, decisionRefusal } from '../../src/authz/admission/check-access-request.ts';
import { account, ask, binding, Fleet, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { grantName, grantObjects } from '../../src/handlers/access-requests/grant-objects.ts';
import { isSamePerson, userOf } from '../../src/handlers/approvals/people.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import { toTimestamp } from '../../src/lib/utc-second.ts';

/**
 * Random fleets, requests and approvers. What an approval grants is compared with what the approver may do itself, by
 * asking every question of a small universe before, during and after the access.
 */

const START = Date.UTC(2026, 10, 16, 12);
const MINUTE = 60_000;
const CLUSTERS = { a: { env: 'prod' }, b: { env: 'dev' } };
const NAMESPACES = ['', 'n1', 'n2'];
const TYPES = [
  { group: '', resource: 'pods', subresource: '' },
  { group: '', resource: 'serviceaccounts', subresource: 'token' },
  { group: 'clusterregistry.k8s.io', resource: 'clusters', subresource: '' },
  { group: 'clusterregistry.k8s.io', resource: 'clusters', subresource: 'userpass' },
  { group: 'clusterpass.dev', resource: 'accessrequests', subresource: '' },
];
const VERBS = ['get', 'create', 'approve'];
const NAMES = ['', 'a', 's1'];

const QUESTIONS: readonly ResourceQuestion[] = [undefined, ...Object.keys(CLUSTERS)].flatMap((cluster) =>
  NAMESPACES.flatMap((namespace) =>
    TYPES.flatMap((type) =>
      VERBS.flatMap((verb) => NAMES.map((name) => ask({ ...type, verb, namespace, name, cluster }))),
    ),
  ),
);

const APPROVERS: readonly Caller[] = [person('u1'), person('u2', 'g1'), account('a', 'n1', 's1')];
const REQUESTERS: readonly Caller[] = [person('jane'), account('a', 'n2', 's2')];

const some = <T>(items: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...items], { minLength: 1 });

const clusterRole = fc
  .record({
    name: fc.constantFrom('r1', 'r2', 'r3'),
    verbs: some([...VERBS, 'escalate', 'bind', '*']),
    apiGroups: some(['', 'clusterregistry.k8s.io', 'clusterpass.dev', 'rbac.authorization.k8s.io', '*']),
    resources: some(['pods', 'clusters', 'accessrequests', 'serviceaccounts/token', 'roles', 'clusterroles', '*']),
    resourceNames: fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: some(['a', 's1']) },
    ),
  })
  .map(({ name, ...rule }) => role(name, [rule]));

const extras = fc
  .record({
    namespace: fc.constantFrom(undefined, 'n1', 'n2'),
    clusters: fc.constantFrom(undefined, 'env=prod', 'env!=prod', 'kubernetes.io/metadata.name=a', 'no (selector'),
    minutes: fc.constantFrom(undefined, 5, 10, 60),
  })
  .map(({ namespace, clusters, minutes }) => ({
    ...(namespace && { namespace }),
    ...(clusters && { clusters }),
    ...(minutes && { expires: toTimestamp(START + minutes * MINUTE) }),
  }));

const SUBJECTS = ['User:u1', 'User:u2', 'Group:g1', 'ServiceAccount:n1/s1', 'User:jane', 'Group:g2'];

const roleBinding = fc
  .tuple(
    fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5'),
    fc.constantFrom('r1', 'r2', 'r3'),
    fc.subarray(SUBJECTS),
    extras,
  )
  .map(([name, target, subjects, more]) => binding(name, `ClusterRole/${target}`, subjects, more));

/** Approvers of everything, who hold much: in some clusters or namespaces, and until some time. */
const BASE: readonly ApiObject[] = [
  role('approve', [{ verbs: ['approve'], apiGroups: ['clusterpass.dev'], resources: ['accessrequests'] }]),
  binding('approve', 'ClusterRole/approve', ['User:u1', 'Group:g1', 'ServiceAccount:n1/s1']),
  role('wide', [{ verbs: [...VERBS, 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }]),
];
const wide = fc
  .tuple(fc.constantFrom('w1', 'w2'), extras)
  .map(([name, more]) => binding(name, 'ClusterRole/wide', ['User:u1', 'Group:g1', 'ServiceAccount:n1/s1'], more));

const spec: fc.Arbitrary<AccessRequestSpec> = fc
  .tuple(
    fc.constantFrom('a', 'b'),
    fc.oneof(
      fc.constant({}),
      fc.constant({ userpass: true }),
      fc.record({ serviceAccount: fc.record({ namespace: fc.constantFrom('n1', 'n2'), name: fc.constant('s1') }) }),
      fc.record({
        resourceAttributes: fc
          .tuple(
            fc.constantFrom(...TYPES),
            fc.constantFrom(...VERBS),
            fc.constantFrom(...NAMESPACES),
            fc.constantFrom(...NAMES),
          )
          .map(([type, verb, namespace, name]) => ({ ...type, verb, namespace, name })),
      }),
    ),
  )
  .map(([cluster, access]) => ({ cluster, ...access }));

const world = fc.record({
  objects: fc
    .tuple(
      fc.array(wide, { minLength: 1, maxLength: 2 }),
      fc.array(fc.oneof(clusterRole, roleBinding), { maxLength: 5 }),
    )
    .map((lists) => [...BASE, ...lists.flat()]),
  spec,
  requester: fc.constantFrom(...REQUESTERS),
  approver: fc.constantFrom(...APPROVERS),
  minutes: fc.constantFrom(1, 5, 10, 30),
});

describe('A31: an approval', () => {
  it('grants what was asked for and the approver has, to the requester, until its end', () => {
    fc.assert(
      fc.property(world, ({ objects: stored, spec: asked, requester, approver, minutes }) => {
        const clock = { now: START };
        const fleet = new Fleet({ now: () => clock.now }).put(...stored);
        for (const [name, labels] of Object.entries(CLUSTERS)) fleet.clusters.set(name, labels);
        const { policy } = fleet;
        const scope = requestScope(asked);
        const until = START + minutes * MINUTE;
        const access = requestedAccess(asked);
        const labels = fleet.clusters.get(scope.cluster) ?? {};
        const mayGrant = access.every(({ namespace, rule }) => {
          const role = grantName('x', namespace);
          const grant = { cluster: scope.cluster, namespace, name: 'x', rules: [rule], role, labels, until };
          return refusalIfAny(() => checkApproval(policy, approver, grant)) === undefined;
        });
        const mayDecide = decisionRefusal(policy, accessRequestKind, approver, 'x', scope) === undefined;
        if (!mayDecide || !mayGrant) return;

        const answers = (caller: Caller): boolean[] =>
          QUESTIONS.map((question) => policy.decide(caller, question).allowed);
        const everyone = [...REQUESTERS, ...APPROVERS];
        const before = everyone.map(answers);
        const held = answers(approver);
        const mayWriteRolesIn = (namespace: string): boolean => {
          const roles = { group: 'rbac.authorization.k8s.io', resource: namespace === '' ? 'clusterroles' : 'roles' };
          const names = { escalate: '', bind: grantName('x', namespace) };
          return Object.entries(names).every(
            ([verb, name]) => policy.decide(approver, ask({ ...roles, verb, namespace, name })).allowed,
          );
        };
        const writable = new Map(NAMESPACES.map((namespace) => [namespace, mayWriteRolesIn(namespace)]));
        const username = requester.as(scope.cluster).name;
        const request = { metadata: { name: 'x', uid: 'u' }, spec: { ...asked, requestedBy: { username } } };
        const granted = grantObjects(request as unknown as ApiObject, until, 'uid');
        const objects = granted.flatMap(({ role, binding }) => [role, binding]);
        fleet.put(...objects);

        const askedFor = (question: ResourceQuestion): RequestedAccess | undefined => {
          const { verb, group, resource, subresource, namespace, name, cluster } = question;
          return access.find(
            ({ namespace: scoped, rule }) =>
              cluster === scope.cluster &&
              (scoped === '' || namespace === scoped) &&
              rule.verbs?.includes(verb) === true &&
              rule.apiGroups?.[0] === group &&
              rule.resources?.[0] === (subresource === '' ? resource : `${resource}/${subresource}`) &&
              (rule.resourceNames?.includes(name) ?? true),
          );
        };
        // One assertion for each list: a hundred thousand of them take seconds.
        const wrong = everyone.flatMap((caller, who) =>
          QUESTIONS.filter((question, index) => {
            const wanted = askedFor(question);
            const isGranted = caller.as(scope.cluster).name === username && wanted !== undefined;
            const isCovered = held[index] === true || writable.get(wanted?.namespace ?? '') === true;
            const isAllowed = policy.decide(caller, question).allowed;
            return isAllowed !== (before[who]?.[index] === true || isGranted) || (isGranted && !isCovered);
          }),
        );
        expect(wrong).toEqual([]);
        // Until the last moment the approver could do it itself.
        clock.now = until - 1;
        const may = (caller: Caller, question: ResourceQuestion) => policy.decide(caller, question).allowed;
        const asks = QUESTIONS.filter(askedFor);
        expect(asks.filter((question) => !may(requester, question))).toEqual([]);
        const unwritable = asks.filter((question) => writable.get(askedFor(question)?.namespace ?? '') !== true);
        expect(unwritable.filter((question) => !may(approver, question))).toEqual([]);
        clock.now = until;
        const after = everyone.map(answers);
        fleet.remove(...objects);
        expect(everyone.map(answers)).toEqual(after);
      }),
      propertyRuns(50, 1_000),
    );
  });

  it('can be listed by those who may decide it, and follows labels', () => {
    const any = fc.array(fc.oneof(clusterRole, roleBinding), { maxLength: 12 });
    fc.assert(
      fc.property(
        any,
        fc.constantFrom(...APPROVERS),
        fc.constantFrom(undefined, {}, { env: 'dev' }),
        (objects, caller, after) => {
          const fleet = new Fleet({ now: () => START }).put(...objects);
          for (const [name, labels] of Object.entries(CLUSTERS)) fleet.clusters.set(name, labels);
          const rule = fleet.policy.approvalRule(caller, accessRequestKind);
          const type = { verb: 'approve', group: 'clusterpass.dev', resource: 'accessrequests' };
          for (const cluster of ['a', 'b']) {
            for (const namespace of NAMESPACES) {
              const { allowed } = fleet.policy.decide(caller, ask({ ...type, cluster, namespace }));
              expect(rule.admits(cluster, namespace)).toBe(allowed);
            }
          }
          const admitted = () => NAMESPACES.map((namespace) => rule.admits('a', namespace));
          const before = admitted();
          const changes = rule.changesWith('a', CLUSTERS.a, after);
          fleet.relabel('a', after);
          if (!changes) expect(admitted()).toEqual(before);
        },
      ),
      propertyRuns(75, 1_500),
    );
  });
});

/** Callers that impersonate others or use passes that others asked for. */
const names = fc.constantFrom('jane', 'joe', 'lea', 'max');
const actor = fc
  .array(names, { maxLength: 2 })
  .map((chain) =>
    chain.reduce<Actor | undefined>((act, sub) => ({ ...(act && { act }), iss: 'https://x', sub }), undefined),
  );
const plain = fc.tuple(names, actor).map(([name, act]): Caller => ({ ...person(name), actor: act }));
const anyone = fc
  .tuple(plain, fc.option(plain, { nil: undefined }))
  .map(([caller, impersonator]): Caller => (impersonator === undefined ? caller : { ...caller, impersonator }));

function allNames(caller: Caller | undefined): string[] {
  if (caller === undefined) return [];
  const chain: string[] = [];
  for (let at = caller.actor; at !== undefined; at = at.act) chain.push(at.sub);
  return [caller.as(undefined).name, ...chain, ...allNames(caller.impersonator)];
}

it('A31: two callers are one person if any name stands behind both', () => {
  const parts = { catalog: createCatalog({ productName: 'orchestrator' }), reader: { find: () => undefined } };
  fc.assert(
    fc.property(anyone, anyone, (one, other) => {
      const isSame = allNames(one).some((name) => allNames(other).includes(name));
      expect(isSamePerson(userOf(parts, one, 'a'), userOf(parts, other, 'a'))).toBe(isSame);
    }),
  );
});
