import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { addCluster, grantClusters, PUBLIC_LIST } from './support/fleet.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';
import { Watch } from './support/watch.ts';

const server = sharedServer();

beforeAll(() => addCluster(server, 'a', { labels: { env: 'dev' } }));

async function watchAs(user: string, path = PUBLIC_LIST): Promise<Watch> {
  const watch = await Watch.open(server, `${path}?watch=true`, tokenOf(user));
  onTestFinished(() => watch.close());
  return watch;
}

describe('FA-8: a caller that may see no cluster', () => {
  it('has 20 watches, and more when it connects again with a permission', async () => {
    for (const path of [PUBLIC_LIST, CLUSTERS]) {
      for (let count = 0; count < 10; count++) expect((await watchAs('nobody', path)).code).toBe(200);
    }
    const refused = await server.call('GET', `${CLUSTERS}?watch=true`, { token: tokenOf('nobody') });
    expect([refused.code, refused.json.message]).toEqual([
      429,
      'too many requests at once (watches-without-permission), please try again later',
    ]);
    expect((await watchAs('nora')).code).toBe(200);
    await grantClusters(server, 'sees-all', 'nobody');
    expect((await watchAs('nobody')).code).toBe(200);
  });

  it.each([
    ['a review', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 422],
    ['an access request', '/apis/clusterpass.dev/v1alpha1/accessrequests', 400],
  ])('sends %s of at most 64 KiB', async (_, path, code) => {
    const body = { spec: {}, padding: 'x'.repeat(70_000) };
    const sent = (token: string) => server.call('POST', path, { token, body });
    expect((await sent(tokenOf('owner'))).code).toBe(413);
    expect((await sent(server.adminToken)).code).toBe(code);
  });
});

describe('FA-5: a selector', () => {
  const terms = (count: number): string => Array.from({ length: count }, (_, index) => `label-${index}!=x`).join();
  const requirements = 'a selector may have at most 64 requirements, and this one has 65';
  // What counts: src/objects/selectors/label-selector.test.ts.
  it.each([
    ['labelSelector', terms(65)],
    ['fieldSelector', terms(65).replaceAll('label', 'metadata.name')],
  ])('that is too large is 400 at lists and watches: %s', async (parameter, text) => {
    const query = `${parameter}=${encodeURIComponent(text)}`;
    const list = await server.call('GET', `${CLUSTERS}?${query}`);
    expect([list.code, list.json.message]).toEqual([400, requirements]);
    const watch = await Watch.open(server, `${CLUSTERS}?watch=true&${query}`);
    onTestFinished(() => watch.close());
    expect(watch.code).toBe(400);
  });

  it('that is too large is 422 in an object', async () => {
    const matchExpressions = Array.from({ length: 65 }, (_, index) => ({ key: `k${index}`, operator: 'Exists' }));
    const body = { metadata: { name: 'too-large' }, aggregationRule: { clusterRoleSelectors: [{ matchExpressions }] } };
    const answer = await server.call('POST', `${RBAC}/clusterroles`, { body });
    expect(answer.code).toBe(422);
    expect(answer.json.details.causes).toEqual([
      {
        reason: 'FieldValueForbidden',
        message: `Forbidden: ${requirements}`,
        field: 'aggregationRule.clusterRoleSelectors[0]',
      },
    ]);
  });
});
