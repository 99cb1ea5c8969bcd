import { describe, expect, it } from 'vitest';
import { asUser, createCluster } from './support/objects.ts';
import { RBAC, RBAC_GROUP } from './support/paths.ts';
import { grant, may, REGISTRY_GROUP, user } from './support/rbac.ts';
import type { Answer, Server } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

/** Labels that clusters have already are not checked when a binding is written: its writer is told where it holds. */

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) await createCluster(server, name, { zone: 'a' });
  await createCluster(server, 'b1', { zone: 'b', 'protected.clusterpass.dev/zone': 'b' });
  await grant(server, {
    to: 'binder',
    rules: [{ verbs: ['create', 'bind'], apiGroups: [RBAC_GROUP], resources: ['clusterrolebindings', 'clusterroles'] }],
  });
  await grant(server, { to: 'binder', rules: [may('list', 'clusters', REGISTRY_GROUP)], clusters: 'zone=b' });
});

const BINDINGS = `${RBAC}/clusterrolebindings`;
let counter = 0;

const bindingBody = (clusters: string | undefined, role = 'clusterpass:viewer') => ({
  metadata: {
    name: `w${++counter}`,
    ...(clusters !== undefined && { annotations: { 'clusterpass.dev/clusters': clusters } }),
  },
  subjects: [user('mia')],
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
});

async function warningsOf(clusters: string | undefined, role?: string, who?: string): Promise<string[]> {
  const body = bindingBody(clusters, role);
  const answer = await server.call('POST', BINDINGS, { body, ...(who && asUser(who)) });
  expect(answer.code, answer.text).toBe(201);
  return answer.warnings.map((text) => text.replaceAll(/ClusterRoleBinding \\?"w\d+\\?"/g, 'IT'));
}

const BY_OTHERS =
  '; callers who may patch a cluster can set the labels that it selects: to prevent that, select labels below ' +
  'protected.clusterpass.dev/';

describe('A30: a binding that selects clusters', () => {
  it.each([
    ['zone=b', [`IT holds in 1 cluster now: b1${BY_OTHERS}`]],
    ['zone in (a,b)', [`IT holds in 7 clusters now: e.g. a1, a2, a3, a4, a5${BY_OTHERS}`]],
    ['zone!=a', [`IT holds in 1 cluster now: b1${BY_OTHERS}`]],
    ['protected.clusterpass.dev/zone=b', []],
    ['kubernetes.io/metadata.name in (a1,b1)', []],
    [undefined, []],
    ['zone=c', ['IT holds in no cluster now']],
    ['kubernetes.io/metadata.name=c', ['IT holds in no cluster now']],
    ['a1', ['IT holds in no cluster now; did you mean kubernetes.io/metadata.name=a1?']],
  ])('%s', async (clusters, warnings) => {
    expect(await warningsOf(clusters)).toEqual(warnings);
  });

  it('is reported if an annotation of another domain looks like one of ours', async () => {
    const told = async (annotations: object, path = BINDINGS, method = 'POST') => {
      const { metadata, ...rest } = bindingBody(undefined);
      const body =
        method === 'POST' ? { metadata: { ...metadata, annotations }, ...rest } : { metadata: { annotations } };
      const headers = { 'Content-Type': method === 'POST' ? 'application/json' : 'application/merge-patch+json' };
      const answer = await server.call(method, path, { body, headers });
      expect(answer.code, answer.text).toBeLessThan(300);
      return answer;
    };
    const { warnings, json } = await told({ 'fleet.example.com/clusters': 'zone=b', 'example.com/note': 'x' });
    const text =
      'the annotation "fleet.example.com/clusters" is of another program and does not limit the binding; did you mean ' +
      '"clusterpass.dev/clusters"?';
    expect(warnings).toEqual([text]);
    const path = `${BINDINGS}/${json.metadata.name}`;
    expect((await told({ 'example.com/note': 'y' }, path, 'PATCH')).warnings).toEqual([]);
  });

  it('counts the clusters that its writer may list', async () => {
    expect(await warningsOf('zone in (a,b)', undefined, 'binder')).toEqual([
      `IT holds in 1 cluster that you may list now: b1${BY_OTHERS}`,
    ]);
    expect(await warningsOf('zone=a', undefined, 'binder')).toEqual(['IT holds in no cluster that you may list now']);
    expect(await warningsOf('a1', undefined, 'binder')).toEqual(['IT holds in no cluster that you may list now']);
  });

  it('is reported when its selector changes, by every kind of write and by dry runs, and not otherwise', async () => {
    const body = bindingBody('zone=b');
    const path = `${BINDINGS}/${body.metadata.name}`;
    const put = (clusters: string, labels: object = {}) => ({
      ...body,
      metadata: { ...body.metadata, labels, annotations: { 'clusterpass.dev/clusters': clusters } },
    });
    const patch = (metadata: object, type: string, query = ''): Promise<Answer> =>
      server.call('PATCH', `${path}${query}`, { body: { metadata }, headers: { 'Content-Type': type } });
    const apply = (clusters: string): Promise<Answer> =>
      server.call('PATCH', `${path}?fieldManager=me&force=true`, {
        body: { apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRoleBinding', ...put(clusters) },
        headers: { 'Content-Type': 'application/apply-patch+yaml' },
      });
    const selecting = (clusters: string) => ({ annotations: { 'clusterpass.dev/clusters': clusters } });
    const answers = [
      await server.call('POST', `${BINDINGS}?dryRun=All`, { body }),
      await apply('zone=b'),
      await apply('zone=a'),
      await server.call('PUT', path, { body: put('zone=b') }),
      await patch(selecting('zone=a'), 'application/merge-patch+json', '?dryRun=All'),
      await patch(selecting('zone=a'), 'application/strategic-merge-patch+json'),
      await patch({ labels: { x: 'y' } }, 'application/merge-patch+json'),
      await server.call('PUT', path, { body: put('zone=a', { x: 'z' }) }),
    ];
    const told = answers.map(({ code, text, warnings }) => {
      expect(code, text).toBeLessThan(300);
      return /holds in \d/.exec(warnings.join())?.[0];
    });
    const [one, six] = ['holds in 1', 'holds in 6'];
    expect(told).toEqual([one, one, six, one, six, six, undefined, undefined]);
  });

  it('grants nothing if its role is about objects of the fleet', async () => {
    const nothing = [
      'IT grants nothing: its role is about objects of the fleet, and the annotation clusterpass.dev/clusters limits it ' +
        'to requests about clusters',
    ];
    expect(await warningsOf('zone=b', 'clusterpass:token-revoker')).toEqual(nothing);
    for (const role of ['clusterpass:access-approver', 'clusterpass:pass-approver', 'clusterpass:token-creator']) {
      expect(await warningsOf('protected.clusterpass.dev/zone=b', role)).toEqual([]);
    }
  });
});
