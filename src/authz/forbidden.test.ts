import { expect, it } from 'vitest';
import { forbiddenFor } from './forbidden.ts';
import { ask, askCluster, user } from './policy/rbac.fixture.ts';

const no = { allowed: false, reason: '' };
const jane = user('jane');
const clusters = { group: 'clusterregistry.k8s.io', resource: 'clusters' };

it('P-30: in a namespace, with a name', () => {
  const question = ask({
    verb: 'create',
    resource: 'serviceaccounts',
    subresource: 'token',
    namespace: 'ns1',
    name: 'sa1',
    cluster: 'c',
  });
  expect(forbiddenFor(jane, question, no).status).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message:
      'serviceaccounts "sa1" is forbidden: User "jane" cannot create resource "serviceaccounts/token" in API group "" in the namespace "ns1"',
    reason: 'Forbidden',
    details: { name: 'sa1', kind: 'serviceaccounts' },
    code: 403,
  });
});

it('P-31: a collection in a namespace', () => {
  const { status } = forbiddenFor(jane, ask({ verb: 'list', ...clusters, namespace: 'ns1' }), no);
  expect(status.message).toBe(
    'clusters.clusterregistry.k8s.io is forbidden: User "jane" cannot list resource "clusters" in API group "clusterregistry.k8s.io" in the namespace "ns1"',
  );
  expect(status.details).toEqual({ group: 'clusterregistry.k8s.io', kind: 'clusters' });
});

it('P-32, P-33: at the cluster scope, with the name if there is one', () => {
  const what =
    'is forbidden: User "jane" cannot list resource "clusters" in API group "clusterregistry.k8s.io" at the cluster scope';
  const all = forbiddenFor(jane, ask({ verb: 'list', ...clusters }), no);
  expect(all.message).toBe(`clusters.clusterregistry.k8s.io ${what}`);
  expect(forbiddenFor(jane, askCluster('list', 'x'), no).message).toBe(`clusters.clusterregistry.k8s.io "x" ${what}`);
});

it('P-34: a path', () => {
  const { status } = forbiddenFor(user('system:anonymous'), { verb: 'get', path: '/apis' }, no);
  expect(status.message).toBe('forbidden: User "system:anonymous" cannot get path "/apis"');
  expect(status.details).toEqual({});
});

it('P-35: the reason follows, if there is one', () => {
  const reason = 'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found';
  const { message } = forbiddenFor(jane, { verb: 'get', path: '/' }, { allowed: false, reason });
  expect(message).toBe(`forbidden: User "jane" cannot get path "/": ${reason}`);
});

it('P-36: markup is escaped in the question, and not in the reason', () => {
  const { message } = forbiddenFor(
    user('<b>&"'),
    { verb: 'get', path: '/<script>' },
    { allowed: false, reason: 'RBAC: <x>' },
  );
  expect(message).toBe('forbidden: User "&lt;b&gt;&amp;\\"" cannot get path "/&lt;script&gt;": RBAC: <x>');
});

it('a name from the URL cannot leave its quotation', () => {
  const { message } = forbiddenFor(jane, ask({ verb: 'get', name: 'a" is fine\n' }), no);
  expect(message.startsWith('pods "a\\" is fine\\n" is forbidden: ')).toBe(true);
});
