import { afterEach, beforeEach, expect, it } from 'vitest';
import { StatusError } from '../client/errors.ts';
import { json, type Responder, scriptServer } from '../client/script-server.fixture.ts';
import { fakeContext } from './cli.fixture.ts';
import { Invocation } from './command.ts';
import { connectAll } from './connection/all-servers.ts';
import { clusterHint, nearestClusters } from './select-clusters.ts';

/** A fleet of which the first page has 10,000 clusters. */
const FIRST_NAMES = Array.from({ length: 10_000 }, (_, index) => `prod-${String(index).padStart(5, '0')}`);
const LAST = 'prod-50000';

const listOf = (names: readonly string[]) => ({
  kind: 'ClusterList',
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  metadata: { resourceVersion: '1', continue: '' },
  items: names.map((name) => ({ metadata: { name } })),
});

const fleet: Responder = (response, request) => {
  const selector = new URL(request.url ?? '', 'http://x').searchParams.get('fieldSelector');
  const names = selector === null ? FIRST_NAMES : [LAST].filter((name) => selector === `metadata.name=${name}`);
  json(200, listOf(names))(response, request);
};

let server: Awaited<ReturnType<typeof scriptServer>>;
let responders: Responder[];
beforeEach(async () => {
  responders = [];
  server = await scriptServer(responders);
});
afterEach(() => server.close());

const invocation = () => new Invocation([], { server: server.url, token: 'x' });

/** The line after an error of a command for the cluster. */
function hintAfter(code: number, cluster: string): Promise<string | undefined> {
  responders.push(fleet, fleet);
  const error = new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code });
  return clusterHint(fakeContext({}), invocation(), cluster, error);
}

it('suggests the nearest name', async () => {
  expect(await hintAfter(404, 'prood-00042')).toBe('Did you mean the cluster prod-00042?');
});

it.each([403, 404])('suggests no other cluster if a %i is for an object in a visible one', async (code) => {
  expect(await hintAfter(code, LAST)).toBeUndefined();
  // The fleet is not listed.
  expect(server.requests.map(({ query }) => query.fieldSelector)).toEqual([`metadata.name=${LAST}`]);
});

it('suggests names for ten of many, because each is compared with all', async () => {
  const servers = await connectAll(fakeContext({}), invocation());
  responders.push(fleet);
  const missing = FIRST_NAMES.slice(0, 12).map((name) => ({ name: `${name}x`, server: undefined }));
  expect((await nearestClusters(servers, missing)).size).toBe(10);
});
