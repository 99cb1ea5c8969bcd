import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addCluster, CLUSTERS, grant, namesIn, PUBLIC_LIST, relabel, revisionNow } from './support/fleet.ts';
import { type Answer, type Server, startServer, tokenOf } from './support/server.ts';
import { bind } from './support/token-world.ts';

/** A17, finding 5: ways around the public view, for callers who may write but not update. */

const CANARY = 'canary-credential';
const HIDDEN = {
  annotations: { 'kubectl.kubernetes.io/last-applied-configuration': CANARY, 'clusterpass.dev/note': CANARY },
  metadata: { finalizers: [`example.com/${CANARY}`] },
  spec: {
    authInfo: { user: { kind: 'Secret', name: CANARY, namespace: 'vault' } },
    orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.1:6443' }] },
  },
};
const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };
const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

let server: Server;

beforeAll(async () => {
  server = await startServer({ users: { patcher: [], reporter: [], owner: [], late: [] } });
  await addCluster(server, 'prod', { labels: { env: 'prod' }, ...HIDDEN });
  await addCluster(server, 'dev', { labels: { env: 'dev' }, ...HIDDEN });
  await grant(server, 'patcher', 'patcher', { verbs: ['patch'] });
  const status = { verbs: ['get', 'patch'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/status'] };
  await bind(server, 'reporter', { kind: 'User', name: 'reporter' }, status);
  await grant(server, 'owner', 'owner', { verbs: ['get', 'list', 'watch', 'update'], clusters: 'env=dev' });
  await grant(server, 'owner-patches', 'owner', { verbs: ['patch'] });
});
afterAll(() => server.destroy());

const patch = (user: string, path: string, body: unknown, headers = JSON_PATCH): Promise<Answer> =>
  server.call('PATCH', `${CLUSTERS}/${path}?dryRun=All`, { body, headers, token: tokenOf(user) });

const PLACES = [
  '/spec/authInfo/user/name',
  '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
  '/metadata/annotations/clusterpass.dev~1note',
  '/metadata/finalizers/0',
];

describe('A17: a JSON patch moves nothing from where the caller may not look to where it may', () => {
  it.each(PLACES)('copy %s to an annotation', async (from) => {
    const answer = await patch('patcher', 'prod', [{ op: 'copy', from, path: '/metadata/annotations/seen' }]);
    expect(answer.text).not.toContain(CANARY);
  });

  it.each(PLACES)('move %s to an annotation', async (from) => {
    const answer = await patch('patcher', 'prod', [{ op: 'move', from, path: '/metadata/annotations/seen' }]);
    expect(answer.text).not.toContain(CANARY);
  });

  it.each(PLACES)('copy %s to the status, which everybody sees', async (from) => {
    const operations = [
      { op: 'add', path: '/status', value: {} },
      { op: 'copy', from, path: '/status/version' },
    ];
    const answer = await patch('reporter', 'prod/status', operations);
    expect(answer.text).not.toContain(CANARY);
  });

  it('copy into a field that is refused with its value', async () => {
    const path = '/spec/orchestratorApiEndpoints/serverEndpoints/0/serverAddress';
    const answer = await patch('patcher', 'prod', [{ op: 'copy', from: '/spec/authInfo/user/name', path }]);
    expect(answer.text).not.toContain(CANARY);
  });

  it.each(PLACES)('test %s does not tell a right guess from a wrong one', async (path) => {
    const right = path.includes('finalizers') ? `example.com/${CANARY}` : CANARY;
    const guesses = [right, 'wrong'].map((value) => patch('patcher', 'prod', [{ op: 'test', path, value }]));
    const [hit, miss] = await Promise.all(guesses);
    expect(hit?.code).toBe(miss?.code);
  });
});

describe('the answer to a patch is the view of who sent it', () => {
  it('a merge patch shows nothing hidden', async () => {
    const answer = await patch('patcher', 'prod', { metadata: { labels: { a: 'b' } } }, MERGE_PATCH);
    expect(answer.code).toBe(200);
    expect(answer.text).not.toContain(CANARY);
  });

  it('a dry run that would bring the cluster within reach shows no more than before', async () => {
    const answer = await patch('owner', 'prod', { metadata: { labels: { env: 'dev' } } }, MERGE_PATCH);
    expect(answer.text).not.toContain(CANARY);
    const { json } = await server.call('GET', `${CLUSTERS}/prod`);
    expect(json.metadata.labels).toEqual({ env: 'prod' });
  });
});

describe('C-G: what a patch does not mention stays, seen or not', () => {
  it.each<[string, unknown, Record<string, string>]>([
    ['a merge patch', { metadata: { annotations: null } }, MERGE_PATCH],
    ['a JSON patch', [{ op: 'remove', path: '/metadata/annotations' }], JSON_PATCH],
  ])('%s that takes the annotations away leaves the finalizers', async (kind, body, headers) => {
    const name = kind.replaceAll(/[^a-z]/gi, '').toLowerCase();
    await addCluster(server, name, { labels: { env: 'prod' }, ...HIDDEN });
    const answer = await server.call('PATCH', `${CLUSTERS}/${name}`, { body, headers, token: tokenOf('patcher') });
    expect(answer.code, answer.text).toBe(200);
    const { json } = await server.call('GET', `${CLUSTERS}/${name}`);
    expect(json.metadata.finalizers).toEqual(HIDDEN.metadata.finalizers);
  });
});

describe('A18: a list of the past shows nothing that is hidden today', () => {
  it('a cluster that has left the labels of the binding', async () => {
    await addCluster(server, 'moved', { labels: { env: 'dev' }, ...HIDDEN });
    const then = await revisionNow(server);
    await relabel(server, 'moved', { env: 'prod' });
    // Never before today was there anything for this caller to see.
    await grant(server, 'late', 'late', { verbs: ['get', 'list', 'watch', 'update'], clusters: 'env=dev' });
    const token = tokenOf('late');
    const query = `?resourceVersion=${then}&resourceVersionMatch=Exact`;
    expect((await server.call('GET', `${CLUSTERS}/moved`, { token })).code).toBe(403);
    expect(namesIn(await server.call('GET', PUBLIC_LIST, { token }))).toEqual(['dev']);
    expect(namesIn(await server.call('GET', `${PUBLIC_LIST}${query}`, { token }))).toEqual(['dev']);
    expect(namesIn(await server.call('GET', `${CLUSTERS}${query}`, { token }))).toEqual(['dev']);
  });
});
