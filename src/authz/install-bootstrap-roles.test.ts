import { expect, it } from 'vitest';
import { BOOTSTRAP_CLUSTER_ROLE_BINDINGS, BOOTSTRAP_CLUSTER_ROLES } from './install-bootstrap-roles.ts';
import { ask, askCluster, binding, Fleet, person } from './policy/rbac.fixture.ts';

const fresh = (): Fleet => new Fleet().put(...BOOTSTRAP_CLUSTER_ROLES, ...BOOTSTRAP_CLUSTER_ROLE_BINDINGS);

it('P-19: an authenticated caller may read discovery paths, and nothing else', () => {
  const { policy } = fresh();
  const jane = person('jane', 'system:authenticated');
  for (const path of [
    '/api',
    '/api/v1',
    '/apis',
    '/apis/x/y',
    '/openapi/v3',
    '/version',
    '/healthz',
    '/livez',
    '/readyz',
  ]) {
    expect(policy.decidePath(jane, { verb: 'get', path }).allowed, path).toBe(true);
    expect(policy.decidePath(person('unauthenticated'), { verb: 'get', path }).allowed, path).toBe(false);
  }
  expect(policy.decidePath(jane, { verb: 'post', path: '/api' }).allowed).toBe(false);
  expect(policy.decidePath(jane, { verb: 'get', path: '/metrics' }).allowed).toBe(false);
  expect(policy.ruleFor(jane, 'list').none).toBe(true);
});

it('an authenticated caller may create reviews about itself, in any cluster, and none about others', () => {
  const { policy } = fresh();
  const ours = { group: 'authorization.k8s.io', verb: 'create' };
  for (const cluster of [undefined, 'c']) {
    const mayCreate = (group: string, resource: string, who = person('jane', 'system:authenticated')): boolean =>
      policy.decide(who, ask({ ...ours, group, resource, cluster })).allowed;
    expect(mayCreate('authentication.k8s.io', 'selfsubjectreviews')).toBe(true);
    expect(mayCreate('authorization.k8s.io', 'selfsubjectaccessreviews')).toBe(true);
    expect(mayCreate('authorization.k8s.io', 'selfsubjectrulesreviews')).toBe(true);
    expect(mayCreate('authorization.k8s.io', 'selfsubjectreviews')).toBe(false);
    expect(mayCreate('authorization.k8s.io', 'subjectaccessreviews')).toBe(false);
    expect(mayCreate('authentication.k8s.io', 'tokenreviews')).toBe(false);
    expect(mayCreate('authentication.k8s.io', 'selfsubjectreviews', person('unauthenticated'))).toBe(false);
  }
});

it('every binding finds its role, and every role can be bound', () => {
  const { policy } = fresh().put(
    binding('v', 'ClusterRole/clusterpass:viewer', ['User:viewer']),
    binding('t', 'ClusterRole/clusterpass:token-creator', ['User:issuer']),
    binding('a', 'ClusterRole/cluster-admin', ['User:admin']),
  );
  const token = ask({
    verb: 'create',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace: 'n',
    name: 'x',
    cluster: 'c',
  });
  expect(policy.ruleFor(person('viewer'), 'watch').all).toBe(true);
  expect(policy.ruleFor(person('viewer'), 'update').none).toBe(true);
  expect(policy.decide(person('viewer'), token).allowed).toBe(false);
  expect(policy.decide(person('issuer'), token).allowed).toBe(true);
  expect(policy.decide(person('issuer'), askCluster('get', 'c')).allowed).toBe(false);
  expect(policy.decide(person('admin'), token).allowed).toBe(true);
  expect(policy.decidePath(person('admin'), { verb: 'delete', path: '/x' }).allowed).toBe(true);
  expect(policy.decidePath(person('x', 'system:authenticated'), { verb: 'get', path: '/no' }).reason).toBe('');
});

it('every object has the label and the autoupdate annotation of Kubernetes defaults', () => {
  for (const { metadata } of [...BOOTSTRAP_CLUSTER_ROLES, ...BOOTSTRAP_CLUSTER_ROLE_BINDINGS]) {
    expect(metadata.labels).toEqual({ 'kubernetes.io/bootstrapping': 'rbac-defaults' });
    expect(metadata.annotations).toEqual({ 'rbac.authorization.kubernetes.io/autoupdate': 'true' });
  }
});
