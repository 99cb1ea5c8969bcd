import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApiObject } from '../api/kind.ts';
import { fakeTiming, json, type Responder, scriptServer, status } from '../client/script-server.fixture.ts';
import { Transport } from '../client/transport.ts';
import { Informer } from './informer.ts';
import { mirroredPart, mirroredState, mirrorOwnership, mirrorTarget } from './mirror.ts';

const source = (kind: string, name: string, deletionTimestamp?: string): ApiObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'ci', uid: `uid-${name}`, ...(deletionTimestamp && { deletionTimestamp }) },
});

it('A4: an account or a Pod that is deleted in the cluster has no copy, though a finalizer keeps it there', () => {
  const deleted = '2026-01-01T00:00:00Z';
  const { objects } = mirroredState(
    [
      source('ServiceAccount', 'builder'),
      source('ServiceAccount', 'leaving', deleted),
      // Of a Pod it is the end of the grace period, in which it needs tokens.
      source('Pod', 'web-0', deleted),
      source('Pod', 'kept-0', '2025-12-31T23:59:00Z'),
    ],
    'id',
    Date.parse(deleted) + 1,
  );
  expect([...objects.keys()]).toEqual(['serviceaccounts/ci/builder', 'pods/ci/web-0']);
});

const MARK = 'clusterpass.dev/mirrored-from';

it('keeps of a Pod its account, its node and whose copy it is', () => {
  const pod = (spec: object) => ({
    ...source('Pod', 'web-0'),
    metadata: { ...source('Pod', 'web-0').metadata, annotations: { [MARK]: 'id', other: 'x' }, labels: { a: 'b' } },
    spec: { containers: [], ...spec },
  });
  const part = (spec: object) => mirroredPart('Pod', pod(spec));
  expect(part({ serviceAccountName: 'builder', nodeName: 'n1' })).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-0', namespace: 'ci', uid: 'uid-web-0', annotations: { [MARK]: 'id' } },
    spec: { serviceAccountName: 'builder', nodeName: 'n1' },
  });
  expect([part({}).spec, part({ serviceAccountName: '', nodeName: '' }).spec]).toEqual([
    { serviceAccountName: 'default' },
    { serviceAccountName: 'default' },
  ]);
});

it('changes and removes copies of its own cluster only', () => {
  const copy = (mark?: string): ApiObject => ({
    ...source('Pod', 'a'),
    metadata: { name: 'a', ...(mark === undefined ? {} : { annotations: { [MARK]: mark } }) },
  });
  const { mayChange, mayRemove } = mirrorOwnership('id');
  const desired = { object: copy('id') };
  for (const [mark, isOurs] of [
    ['id', true],
    ['of another cluster', false],
    [undefined, false],
  ] as const) {
    expect([mayChange(copy(mark), desired), mayRemove(copy(mark))]).toEqual([isOurs, isOurs]);
  }
});

describe('the copies in Clusterpass', () => {
  const account = (uid: string, resourceVersion: string, extra: object = {}): ApiObject => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'builder', namespace: 'ci', uid, resourceVersion, ...extra },
  });

  /** A target whose server answers as the script says, and which knows one account. */
  const withAccount = async (known: ApiObject, responders: readonly Responder[]) => {
    const server = await scriptServer([...responders]);
    onTestFinished(server.close);
    const timing = fakeTiming();
    const transport = new Transport({
      ...{ server: server.url, tokenProvider: undefined, fetch: globalThis.fetch, timing },
      ...{ userAgent: undefined, onWarning: undefined },
    });
    const options = { transport, timing, path: '/', onChange: () => {}, onConnection: () => {} };
    const informers = new Map(['Namespace', 'ServiceAccount', 'Pod'].map((kind) => [kind, new Informer(options)]));
    informers.get('ServiceAccount')?.put(known);
    const target = mirrorTarget(transport, '/orchestrator/alpha/api/v1', informers);
    const sent = () => server.requests.map(({ method, path, body }) => [method, path, JSON.parse(body)]);
    return { target, sent };
  };
  const ACCOUNTS = '/orchestrator/alpha/api/v1/namespaces/ci/serviceaccounts';
  const desired = (uid: string) => ({ object: account(uid, '', { annotations: { [MARK]: 'id' } }) });
  const update = (uid: string, actual: ApiObject) => ({ desired: desired(uid), actual, object: true, status: false });
  const deleted = json(200, { kind: 'Status', status: 'Success' });

  it('have an order: namespaces first', async () => {
    const { target } = await withAccount(account('u1', '5'), []);
    const order = ['Pod', 'Namespace', 'ServiceAccount'].map((kind) => target.order?.(source(kind, 'a')));
    expect(order).toEqual([2, 0, 1]);
  });

  it('are changed only as they were read', async () => {
    const actual = account('u1', '5');
    const { target, sent } = await withAccount(actual, [json(200, account('u1', '6'))]);
    await target.update(update('u1', actual));
    const metadata = { uid: 'u1', resourceVersion: '5', annotations: { [MARK]: 'id' } };
    expect(sent()).toEqual([['PATCH', `${ACCOUNTS}/builder`, { metadata }]]);
    expect([...target.objects.values()]).toEqual([account('u1', '6')]);
  });

  it('are replaced when the cluster has another object of the name', async () => {
    const actual = account('u1', '5');
    const { target, sent } = await withAccount(actual, [deleted, json(201, account('u2', '7'))]);
    await target.update(update('u2', actual));
    const preconditions = { uid: 'u1', resourceVersion: '5' };
    expect(sent()).toEqual([
      ['DELETE', `${ACCOUNTS}/builder`, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }],
      ['POST', ACCOUNTS, desired('u2').object],
    ]);
    expect([...target.objects.values()]).toEqual([account('u2', '7')]);
  });

  it.each([
    ['is deleted', deleted, []],
    ['was deleted by others', status(404, 'NotFound'), []],
    [
      'waits for a finalizer',
      json(200, account('u1', '6', { deletionTimestamp: 't' })),
      [account('u1', '6', { deletionTimestamp: 't' })],
    ],
  ] as const)('are removed: one that %s', async (_, responder, left) => {
    const { target } = await withAccount(account('u1', '5'), [responder]);
    await target.remove(account('u1', '5'));
    expect([...target.objects.values()]).toEqual(left);
  });
});
