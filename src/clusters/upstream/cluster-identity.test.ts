import { expect, test } from 'vitest';
import type { ApiObject } from '../../api/kind.ts';
import { createClusterIdentity } from './cluster-identity.ts';
import { describeCluster, type UpstreamAnswer } from './upstream-contract.ts';

const cluster = (id?: string): ApiObject => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  kind: 'Cluster',
  metadata: {
    ...{ name: 'alpha', uid: 'u', generation: 1 },
    ...(id === undefined ? {} : { annotations: { 'clusterpass.dev/cluster-id': id } }),
  },
});

let answers: (() => { status: number; body: object })[];
let asked: string[];
let now: number;

function identity(...next: typeof answers): (object: ApiObject) => Promise<string | undefined> {
  answers = next;
  asked = [];
  now = 1;
  const request = async (_: unknown, { path, credential }: { path: string; credential: boolean }) => {
    asked.push(`${path} ${credential}`);
    const { status, body } = answers.shift()?.() ?? { status: 500, body: {} };
    return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) } satisfies UpstreamAnswer;
  };
  const known = createClusterIdentity({ request }, () => now);
  return (object) => known.problem(object, describeCluster(object, 'orchestrator'), 1_000);
}
const shown = (uid: unknown) => () => ({ status: 200, body: { metadata: { uid } } });

test('the registered cluster has no problem, and is asked once a minute', async () => {
  const problem = identity(shown('a'), shown('b'), shown('a'));
  expect(await problem(cluster('a'))).toBeUndefined();
  now = 59_000;
  expect(await problem(cluster('a'))).toBeUndefined();
  expect(asked).toEqual(['/api/v1/namespaces/kube-system true']);
  now = 61_000;
  expect(await problem(cluster('a'))).toContain('another cluster than the registered one');
  // The operator says that the new one is right.
  expect(await problem(cluster('b'))).toBeUndefined();
  expect(asked).toHaveLength(2);
});

test('what is not known is not compared', async () => {
  expect(await identity()(cluster())).toBeUndefined();
  expect(asked).toEqual([]);
  for (const answer of [() => ({ status: 403, body: { metadata: { uid: 'b' } } }), shown(7), shown(undefined)]) {
    expect(await identity(answer)(cluster('a'))).toBeUndefined();
  }
});
