import { beforeAll, describe, expect, it } from 'vitest';
import { endpointDigest } from '../../src/api/clusters/confirmed-endpoint.ts';
import { addCluster, grantClusters, PUBLIC_LIST, patchCluster } from './support/fleet.ts';
import { bind } from './support/objects.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, tokenOf } from './support/server.ts';
import { sharedTlsServer } from './support/shared-server.ts';

/** Fields that only callers who may update a cluster see. */

const server = sharedTlsServer();

describe('in lists and watches', () => {
  /** A canary in every field that the public view does not show. */
  const CANARY = 'canary-7f3a';
  const SECRETS = {
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': `{"spec":{"authInfo":"${CANARY}"}}`,
      'kubectl.kubernetes.io/restartedAt': CANARY,
      'clusterpass.dev/manifest': CANARY,
      'clusterpass.dev/cluster-id': CANARY,
      'example.com/visible': 'shown',
    },
    metadata: {
      finalizers: [`example.com/${CANARY}`],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: CANARY, uid: CANARY }],
    },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.1:6443' }] },
      authInfo: {
        user: { kind: 'Secret', name: CANARY, namespace: CANARY },
        controller: { kind: 'Secret', name: CANARY, namespace: CANARY },
      },
    },
  };

  beforeAll(async () => {
    await addCluster(server, 'one', { labels: { env: 'dev' }, ...SECRETS });
    await addCluster(server, 'two', { labels: { env: 'prod' }, ...SECRETS });
    await grantClusters(server, 'viewer', 'viewer', { clusters: 'env in (dev,prod)' });
    await grantClusters(server, 'editor', 'editor', { verbs: ['get', 'list', 'watch', 'update'] });
    await grantClusters(server, 'partial-view', 'partial', { clusters: 'env in (dev,prod)' });
    await grantClusters(server, 'partial-edit', 'partial', { verbs: ['update'], clusters: 'env=dev' });
    await grantClusters(server, 'roamer', 'roamer', { clusters: 'env=dev' });
  });

  const ACCEPTS = [
    'application/json',
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  ];

  describe('A17, C-G: a hidden field', () => {
    it('is in no byte of a list or an object, in any form, for a caller who may only read', async () => {
      let shown = 0;
      for (const path of [PUBLIC_LIST, CLUSTERS, `${CLUSTERS}/one`]) {
        for (const accept of ACCEPTS) {
          for (const query of ['', '?includeObject=Object', '?pretty=true', '?limit=1', '?resourceVersion=0']) {
            const headers = { Accept: accept };
            const answer = await server.call('GET', `${path}${query}`, { token: tokenOf('viewer'), headers });
            expect(answer.text, `${path} ${accept}`).not.toContain(CANARY);
            if (answer.code === 200) shown += Number(answer.text.includes('one'));
          }
        }
      }
      // Every combination shows the cluster, but the metadata of a list as that of an object, and the reverse.
      expect(shown).toBe(3 * 5 * 5 - 3 * 5);
    });

    it('is sent to a caller who may update, from the API paths only', async () => {
      for (const path of [CLUSTERS, `${CLUSTERS}/one`]) {
        const { text } = await server.call('GET', path, { token: tokenOf('editor') });
        expect(text).toContain(CANARY);
      }
      const { text } = await server.call('GET', PUBLIC_LIST, { token: tokenOf('editor') });
      expect(text).not.toContain(CANARY);
      expect((await server.call('GET', PUBLIC_LIST)).text).not.toContain(CANARY);
      const table = { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
      const rows = `${PUBLIC_LIST}?includeObject=Object`;
      expect((await server.call('GET', rows, { token: tokenOf('editor'), headers: table })).text).not.toContain(CANARY);
    });

    it('cannot be guessed with a selector', async () => {
      const answers = await Promise.all(
        [`spec.authInfo.user.name=${CANARY}`, 'spec.authInfo.user.name=wrong'].map((selector) =>
          server.call('GET', `${PUBLIC_LIST}?fieldSelector=${encodeURIComponent(selector)}`, {
            token: tokenOf('viewer'),
          }),
        ),
      );
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });
  });
});

describe('by patches and past versions', () => {
  /** A17: ways around the public view, for callers who may patch but not update. */

  const CANARY = 'canary-credential';
  const HIDDEN = {
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': CANARY, 'clusterpass.dev/manifest': CANARY },
    metadata: { finalizers: [`example.com/${CANARY}`] },
    spec: {
      authInfo: { user: { kind: 'Secret', name: CANARY, namespace: 'vault' } },
      orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://10.0.0.1:6443' }] },
    },
  };
  const JSON_PATCH = { 'Content-Type': 'application/json-patch+json' };
  const MERGE_PATCH = { 'Content-Type': 'application/merge-patch+json' };

  beforeAll(async () => {
    await addCluster(server, 'live', { labels: { env: 'live' }, ...HIDDEN });
    await addCluster(server, 'test', { labels: { env: 'test' }, ...HIDDEN });
    await grantClusters(server, 'patcher', 'patcher', { verbs: ['patch'] });
    const status = { verbs: ['get', 'patch'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/status'] };
    await bind(server, 'reporter', { kind: 'User', name: 'reporter' }, status);
    await grantClusters(server, 'owner', 'owner', { verbs: ['get', 'list', 'watch', 'update'], clusters: 'env=test' });
    await grantClusters(server, 'owner-patches', 'owner', { verbs: ['patch'] });
    await grantClusters(server, 'narrow', 'narrow', { verbs: ['get', 'patch', 'create'], clusters: 'env=test' });
  });

  const patch = (user: string, path: string, body: unknown, headers = JSON_PATCH): Promise<Answer> =>
    server.call('PATCH', `${CLUSTERS}/${path}?dryRun=All`, { body, headers, token: tokenOf(user) });

  const PLACES = [
    '/spec/authInfo/user/name',
    '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
    '/metadata/annotations/clusterpass.dev~1manifest',
    '/metadata/finalizers/0',
  ];

  describe('A17: a JSON patch moves no hidden value into a visible field', () => {
    it.each(PLACES)('copy %s to an annotation', async (from) => {
      const answer = await patch('patcher', 'live', [{ op: 'copy', from, path: '/metadata/annotations/seen' }]);
      expect(answer.text).not.toContain(CANARY);
    });

    it.each(PLACES)('move %s to an annotation', async (from) => {
      const answer = await patch('patcher', 'live', [{ op: 'move', from, path: '/metadata/annotations/seen' }]);
      expect(answer.text).not.toContain(CANARY);
    });

    it.each(PLACES)('copy %s to the status, which every caller sees', async (from) => {
      const operations = [
        { op: 'add', path: '/status', value: {} },
        { op: 'copy', from, path: '/status/version' },
      ];
      const answer = await patch('reporter', 'live/status', operations);
      expect(answer.text).not.toContain(CANARY);
    });

    it.each(PLACES)('test %s has the same response to a right guess and to a wrong one', async (path) => {
      const right = path.includes('finalizers') ? `example.com/${CANARY}` : CANARY;
      const guesses = [right, 'wrong'].map((value) => patch('patcher', 'live', [{ op: 'test', path, value }]));
      const [hit, miss] = await Promise.all(guesses);
      expect(hit?.code).toBe(miss?.code);
    });
  });

  describe('A17: a write has the same response to a right and to a wrong guess of a hidden value', () => {
    const CONFIRMED = 'clusterpass.dev/confirmed-endpoint';
    const IMPORTED = 'clusterpass.dev/imported-from';
    const APPLY = { 'Content-Type': 'application/apply-patch+yaml' };
    const typed = (name: string, changes: { metadata?: object; spec?: object }): object => ({
      apiVersion: 'clusterregistry.k8s.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, ...changes.metadata },
      ...(changes.spec === undefined ? {} : { spec: changes.spec }),
    });
    const apply = (user: string, name: string, changes: object, more = '&dryRun=All'): Promise<Answer> =>
      server.call('PATCH', `${CLUSTERS}/${name}?fieldManager=${user}${more}`, {
        body: typed(name.replace('/status', ''), changes),
        headers: APPLY,
        token: tokenOf(user),
      });
    const annotated = (key: string, value: string) => ({ metadata: { annotations: { [key]: value } } });
    const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
    const WRONG = { spec: { authInfo: { user: { kind: 'Secret', name: 'wrong', namespace: 'vault' } } } };
    const RIGHT = { spec: { authInfo: HIDDEN.spec.authInfo } };
    let confirmed: string;

    beforeAll(async () => {
      const cluster = (await server.call('GET', `${CLUSTERS}/live`)).json;
      confirmed = endpointDigest(cluster, 'orchestrator');
      await patchCluster(server, 'live', annotated(CONFIRMED, confirmed));
      await patchCluster(server, 'live', annotated(IMPORTED, CANARY));
    });

    it.each<[string, () => [right: Promise<Answer>, wrong: Promise<Answer>]]>([
      ['apply of authInfo', () => [apply('patcher', 'live', RIGHT), apply('patcher', 'live', WRONG)]],
      [
        'apply of authInfo by force',
        () => [RIGHT, WRONG].map((spec) => apply('patcher', 'live', spec, '&force=true&dryRun=All')) as never,
      ],
      [
        'apply of a hidden annotation',
        () => [CANARY, 'wrong'].map((value) => apply('patcher', 'live', annotated(LAST_APPLIED, value))) as never,
      ],
      [
        'apply of a finalizer',
        () =>
          [HIDDEN.metadata.finalizers, ['example.com/wrong']].map((finalizers) =>
            apply('patcher', 'live', { metadata: { finalizers } }),
          ) as never,
      ],
      [
        'apply of the confirmation',
        () => [confirmed, 'wrong'].map((value) => apply('patcher', 'live', annotated(CONFIRMED, value))) as never,
      ],
      [
        'merge patch of authInfo',
        () => [RIGHT, WRONG].map((body) => patch('patcher', 'live', body, MERGE_PATCH)) as never,
      ],
      [
        'JSON patch of authInfo',
        () =>
          [RIGHT, WRONG].map(({ spec }) =>
            patch('patcher', 'live', [{ op: 'add', path: '/spec/authInfo', value: spec.authInfo }]),
          ) as never,
      ],
      [
        'merge patch of the confirmation',
        () =>
          [confirmed, 'wrong'].map((value) =>
            patch('patcher', 'live', annotated(CONFIRMED, value), MERGE_PATCH),
          ) as never,
      ],
      [
        'merge patch of the mark of an import',
        () =>
          [CANARY, 'wrong'].map((value) => patch('patcher', 'live', annotated(IMPORTED, value), MERGE_PATCH)) as never,
      ],
      [
        'merge patch of another hidden annotation',
        () =>
          [CANARY, 'wrong'].map((value) =>
            patch('patcher', 'live', annotated('clusterpass.dev/manifest', value), MERGE_PATCH),
          ) as never,
      ],
      [
        'merge patch of the finalizers',
        () =>
          [HIDDEN.metadata.finalizers, []].map((finalizers) =>
            patch('patcher', 'live', { metadata: { finalizers } }, MERGE_PATCH),
          ) as never,
      ],
      [
        'merge patch of generateName',
        () =>
          ['live-', 'wrong-'].map((generateName) =>
            patch('patcher', 'live', { metadata: { generateName } }, MERGE_PATCH),
          ) as never,
      ],
      [
        'apply of generateName',
        () =>
          ['live-', 'wrong-'].map((generateName) => apply('patcher', 'live', { metadata: { generateName } })) as never,
      ],
      [
        'JSON patch of the owner references',
        () =>
          ['one', 'two'].map((name) => {
            const value = [{ apiVersion: 'v1', kind: 'Secret', name, uid: name }];
            return patch('patcher', 'live', [{ op: 'add', path: '/metadata/ownerReferences', value }]);
          }) as never,
      ],
    ])('%s', async (_, ask) => {
      const [right, wrong] = await Promise.all(ask());
      expect(right.code, right.text).toBe(403);
      expect(right.json.message).toMatch(/user "patcher" cannot set \S+ without permission to update the cluster/);
      expect([wrong.code, wrong.text]).toEqual([right.code, right.text]);
    });

    it('visible fields can be applied, and a caller who may update applies the others', async () => {
      const shown = await apply('patcher', 'live', { metadata: { labels: { team: 'a' } } });
      expect(shown.code, shown.text).toBe(200);
      expect(shown.text).not.toContain(CANARY);
      expect((await apply('owner', 'test', RIGHT, '&force=true&dryRun=All')).code).toBe(200);
      expect((await apply('owner', 'test', WRONG)).code).toBe(409);
      // A49: an import would delete the cluster for the caller.
      const marked = await apply('owner', 'test', annotated(IMPORTED, 'capi/hub/team/none'));
      expect([marked.code, marked.json.message]).toEqual([403, expect.stringContaining('cannot delete resource')]);
      // The status of a cluster takes nothing else from the body.
      expect((await apply('reporter', 'live/status', RIGHT)).code).toBe(200);
    });

    it('C-G: an apply in the name of another manager removes nothing that is hidden', async () => {
      const metadata = { labels: { team: 'a' }, annotations: { 'clusterpass.dev/cluster-id': 'id-1' } };
      const spec = { ...HIDDEN.spec };
      expect((await apply('owner', 'test', { metadata, spec }, '&force=true')).code).toBe(200);
      const stored = async () => (await server.call('GET', `${CLUSTERS}/test`)).json;
      const before = await stored();
      const { orchestratorApiEndpoints } = spec;
      const shown = { metadata: { labels: { team: 'a' } }, spec: { orchestratorApiEndpoints } };
      for (const dryRun of ['&dryRun=All', '']) {
        const applied = await server.call('PATCH', `${CLUSTERS}/test?fieldManager=owner${dryRun}`, {
          body: typed('test', shown),
          headers: APPLY,
          token: tokenOf('patcher'),
        });
        expect([applied.code, applied.json.metadata.generation]).toEqual([200, before.metadata.generation]);
      }
      const after = await stored();
      expect(after.spec).toEqual(before.spec);
      expect(after.metadata.annotations).toEqual(before.metadata.annotations);
      expect(after.metadata.generation).toBe(before.metadata.generation);
    });

    it('A7: an apply is the same 403 for a hidden cluster and for one that does not exist', async () => {
      for (const more of ['', '&force=true', '&dryRun=All', '&force=maybe']) {
        for (const suffix of ['', '/status']) {
          const answers = await Promise.all(
            ['live', 'none'].map((name) =>
              apply('narrow', `${name}${suffix}`, { metadata: { labels: { a: 'b' } } }, more),
            ),
          );
          const texts = answers.map(({ text }, index) => text.replaceAll(index === 0 ? 'live' : 'none', 'NAME'));
          expect(answers.map(({ code }) => code)).toEqual([403, 403]);
          expect(texts[0]).toBe(texts[1]);
        }
      }
      expect((await apply('narrow', 'test', { metadata: { labels: { a: 'b' } } })).code).toBe(200);
    });
  });

  describe('the response to a patch is the view of its caller', () => {
    it('a dry run with labels that would allow more shows no more than before', async () => {
      const answer = await patch('owner', 'live', { metadata: { labels: { env: 'test' } } }, MERGE_PATCH);
      expect(answer.text).not.toContain(CANARY);
      const { json } = await server.call('GET', `${CLUSTERS}/live`);
      expect(json.metadata.labels).toEqual({ env: 'live' });
    });
  });
});
