import { expect, it } from 'vitest';
import { NOTHING_UNCHANGED } from '../kind.ts';
import { accessRequestKind } from './access-request.ts';
import { accessText, nextCommand, requestedAccess } from './access-request-spec.ts';

const OK = { cluster: 'prod-eu-1', reason: 'INC-1' };
const account = { namespace: 'ci', name: 'builder' };
const pods = { verb: 'get', resource: 'pods', namespace: 'ci' };

const fieldsOf = (spec: object, metadata: object = {}): string[] =>
  accessRequestKind
    .validate({ apiVersion: '', kind: '', metadata: { name: 'x', ...metadata }, spec }, undefined, NOTHING_UNCHANGED)
    .map(({ field }) => field);

it.each([
  [OK, []],
  [{ ...OK, serviceAccount: account, durationSeconds: 60 }, []],
  [{ ...OK, resourceAttributes: pods, reason: 'two\nlines' }, []],
  [{ reason: 'x' }, ['spec.cluster']],
  [{ ...OK, cluster: 'Prod' }, ['spec.cluster']],
  [{ ...OK, cluster: `${'a'.repeat(40)}.${'b'.repeat(40)}` }, ['spec.cluster']],
  [{ cluster: 'a' }, ['spec.reason']],
  [{ ...OK, reason: ' \n' }, ['spec.reason']],
  [{ ...OK, reason: 'read the \u202esgol' }, ['spec.reason']],
  [{ ...OK, reason: 'a\u001b[2J' }, ['spec.reason']],
  [{ ...OK, reason: 'ä'.repeat(600) }, ['spec.reason']],
  [{ ...OK, durationSeconds: 59 }, ['spec.durationSeconds']],
  [{ ...OK, durationSeconds: -1 }, ['spec.durationSeconds']],
  [{ ...OK, serviceAccount: {} }, ['spec.serviceAccount.namespace', 'spec.serviceAccount.name']],
  [
    { ...OK, serviceAccount: { namespace: 'a/b', name: '*' } },
    ['spec.serviceAccount.namespace', 'spec.serviceAccount.name'],
  ],
  [{ ...OK, userpass: true }, []],
  [{ ...OK, userpass: false, serviceAccount: account }, []],
  [{ ...OK, serviceAccount: account, resourceAttributes: pods }, ['spec.resourceAttributes']],
  [{ ...OK, userpass: true, resourceAttributes: pods }, ['spec.resourceAttributes']],
  [{ ...OK, userpass: true, serviceAccount: account }, ['spec.userpass']],
  [{ ...OK, resourceAttributes: {} }, ['spec.resourceAttributes.verb', 'spec.resourceAttributes.resource']],
  [{ ...OK, resourceAttributes: { ...pods, verb: '*' } }, ['spec.resourceAttributes.verb']],
  [{ ...OK, resourceAttributes: { ...pods, group: '*' } }, ['spec.resourceAttributes.group']],
  [{ ...OK, resourceAttributes: { ...pods, resource: 'pods/log' } }, ['spec.resourceAttributes.resource']],
  [
    {
      ...OK,
      resourceAttributes: { verb: 'get', group: 'clusterregistry.k8s.io', resource: 'clusters', name: 'other' },
    },
    ['spec.resourceAttributes.name'],
  ],
])('%j', (spec, fields) => {
  expect(fieldsOf(spec)).toEqual(fields);
});

it('the owner cannot keep a request from being removed, nor fill the store with its metadata', () => {
  expect(fieldsOf(OK, { finalizers: ['a/b'] })).toEqual(['metadata.finalizers']);
  expect(fieldsOf(OK, { ownerReferences: [{}] })).toEqual(['metadata.ownerReferences']);
  expect(fieldsOf(OK, { annotations: { a: 'x'.repeat(4_096) } })).toEqual(['metadata.annotations']);
});

const CLUSTERS = { apiGroups: ['clusterregistry.k8s.io'], resourceNames: ['prod-eu-1'] };
const see = { namespace: '', rule: { ...CLUSTERS, resources: ['clusters'], verbs: ['get', 'list', 'watch'] } };
const tokens = { apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['builder'], verbs: ['create'] };
const person = { ...CLUSTERS, resources: ['clusters/userpass'], verbs: ['create'] };

it.each([
  [OK, 'see the cluster', [see]],
  [
    { ...OK, serviceAccount: account },
    'see the cluster, passes of ci/builder',
    [see, { namespace: 'ci', rule: tokens }],
  ],
  [{ ...OK, userpass: true }, 'see the cluster, passes for the requester', [see, { namespace: '', rule: person }]],
  [
    { ...OK, resourceAttributes: pods },
    'get pods in ci',
    [{ namespace: 'ci', rule: { apiGroups: [''], resources: ['pods'], verbs: ['get'] } }],
  ],
  [
    { ...OK, resourceAttributes: { verb: 'get', group: 'g', resource: 'r', subresource: 's', name: 'n' } },
    'get r/s n',
    [{ namespace: '', rule: { apiGroups: ['g'], resources: ['r/s'], resourceNames: ['n'], verbs: ['get'] } }],
  ],
])('%j grants what it says, and no more', (spec, text, access) => {
  expect(accessText(spec)).toBe(text);
  expect(requestedAccess(spec).map(({ namespace, rule }) => ({ namespace, rule }))).toEqual(access);
});

it.each([
  [OK, 'clusterpass describe cluster prod-eu-1'],
  [{ ...OK, serviceAccount: account }, 'clusterpass kubeconfig --cluster prod-eu-1 --as ci/builder'],
  [{ ...OK, userpass: true }, 'clusterpass kubeconfig --cluster prod-eu-1 --as-me'],
  [{ ...OK, resourceAttributes: pods }, undefined],
])('the next step of %j is %s', (spec, next) => expect(nextCommand(spec)).toBe(next));
