import {
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, failure } from './support/expect-status.ts';
import {
  addCluster,
  grantClusters,
  namesIn,
  PUBLIC_LIST,
  rebind,
  relabel,
  removeCluster,
  revisionNow,
  revisionOf,
  touch,
  unbind,
} from './support/fleet.ts';
import { CLUSTERS } from './support/paths.ts';
import { type Answer, type Server, startServer, TLS, tokenOf } from './support/server.ts';
import { brief, Watch } from './support/watch.ts';

let server: Server;
/** The version at which exactly a, b and c existed. */
let early: number;

const HISTORY = 20;

beforeAll(async () => {
  server = await startServer({
    tls: true,
    users: { jane: [] },
    args: ['--history-revisions', String(HISTORY), '--history-retention', '1s'],
  });
  for (const name of ['a', 'b', 'c']) await addCluster(server, name);
  early = await revisionNow(server);
  await addCluster(server, 'd');
});
afterAll(() => server.destroy());

const list = (query: string): Promise<Answer> => server.call('GET', `${PUBLIC_LIST}?${query}`);

/** More changes of clusters than the server keeps. */
async function outliveHistory(): Promise<void> {
  for (let count = 0; count < 2 * HISTORY; count++) await touch(server, 'a', `change ${count}`);
}

describe('5.4: the revision of the response', () => {
  const all = ['a', 'b', 'c', 'd'];
  it.each([
    ['unset', '', all, 'now'],
    ['unset with a limit', 'limit=2', ['a', 'b'], 'now'],
    ['0', 'resourceVersion=0', all, 'now'],
    ['L-26: 0 with a limit, which is ignored', 'resourceVersion=0&limit=2', all, 'now'],
    ['N: not older', 'resourceVersion=EARLY', all, 'now'],
    ['N with a limit: exactly N', 'resourceVersion=EARLY&limit=9', ['a', 'b', 'c'], 'early'],
    ['NotOlderThan with a limit', 'resourceVersion=EARLY&resourceVersionMatch=NotOlderThan&limit=9', all, 'now'],
    ['NotOlderThan 0', 'resourceVersion=0&resourceVersionMatch=NotOlderThan', all, 'now'],
    ['Exact', 'resourceVersion=EARLY&resourceVersionMatch=Exact', ['a', 'b', 'c'], 'early'],
    ['Exact with a limit', 'resourceVersion=EARLY&resourceVersionMatch=Exact&limit=2', ['a', 'b'], 'early'],
  ])('%s', async (_, query, names, version) => {
    const before = await revisionNow(server);
    const answer = await list(query.replace('EARLY', String(early)));
    expect(namesIn(answer)).toEqual(names);
    if (version === 'early') expect(Number(revisionOf(answer))).toBe(early);
    else expect(Number(revisionOf(answer))).toBeGreaterThanOrEqual(before);
  });

  it('pages of a past version stay in it', async () => {
    const first = await list(`resourceVersion=${early}&resourceVersionMatch=Exact&limit=2`);
    expect(first.json.metadata.remainingItemCount).toBe(1);
    const second = await list(`limit=2&continue=${first.json.metadata.continue}`);
    expect(namesIn(second)).toEqual(['c']);
    expect(Number(revisionOf(second))).toBe(early);
  });

  it('one object: at least as new as requested', async () => {
    const now = await touch(server, 'd', 'fresh');
    for (const query of ['', '?resourceVersion=0', `?resourceVersion=${now}`]) {
      const { json } = await server.call('GET', `${CLUSTERS}/d${query}`);
      expect(Number(json.metadata.resourceVersion)).toBe(now);
    }
  });
});

const CONTINUE_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

describe('B6, C-G, L-34: a revision that is too old', () => {
  it('is 410 for a version', async () => {
    const old = await revisionNow(server);
    await outliveHistory();
    for (const query of [`resourceVersion=${old}&limit=2`, `resourceVersion=${old}&resourceVersionMatch=Exact`]) {
      expectStatus(await list(query), {
        code: 410,
        reason: 'Expired',
        message: 'The resourceVersion for the provided list is too old.',
      });
    }
    expect((await list(`resourceVersion=${old}`)).code).toBe(200);
  });

  it('is 410 for a page, with a continue token for the rest of the list at the newest revision', async () => {
    const first = await list('limit=2');
    expect(namesIn(first)).toEqual(['a', 'b']);
    await outliveHistory();
    await addCluster(server, 'bb');
    await addCluster(server, 'e');
    await addCluster(server, 'aa');
    const expired = await list(`limit=2&continue=${first.json.metadata.continue}`);
    const { continue: fresh } = expired.json.metadata;
    expect(expired.code).toBe(410);
    expect(expired.json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: { continue: fresh },
      status: 'Failure',
      message: CONTINUE_TOO_OLD,
      reason: 'Expired',
      code: 410,
    });

    const second = await list(`limit=2&continue=${fresh}`);
    expect(namesIn(second)).toEqual(['bb', 'c']);
    expect(Number(revisionOf(second))).toBeGreaterThan(Number(revisionOf(first)));
    expect(second.json.metadata.remainingItemCount).toBe(2);
    // From here on the pages show one revision again.
    await removeCluster(server, 'd');
    const third = await list(`limit=2&continue=${second.json.metadata.continue}`);
    expect(namesIn(third)).toEqual(['d', 'e']);
    expect(revisionOf(third)).toBe(revisionOf(second));
    expect(third.json.metadata.continue).toBe('');
  });
});

it('V-10: a watch from a version that is too old is 200, one ERROR, and the end', async () => {
  await addCluster(server, 'watched');
  const old = await revisionNow(server);
  const versions: number[] = [];
  for (let count = 0; count < 2 * HISTORY; count++) versions.push(await touch(server, 'watched', `change ${count}`));
  const watch = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${old}`);
  expect(watch.code).toBe(200);
  const events = await watch.rest();
  const oldest = Number(/\((\d+)\)$/.exec(events[0]?.object.message)?.[1]);
  expect(events).toEqual([
    {
      type: 'ERROR',
      object: failure({ message: `too old resource version: ${old} (${oldest})`, reason: 'Expired', code: 410 }),
    },
  ]);
  // The version in the message is the oldest that can be resumed from, and from there nothing is missing.
  const resumed = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${oldest}`);
  const expected = versions.filter((version) => version > oldest);
  expect(expected.length).toBeGreaterThanOrEqual(HISTORY);
  const got = await resumed.take(expected.length);
  expect(got.map(({ object }) => Number(object.metadata.resourceVersion))).toEqual(expected);
  resumed.close();
  const justBefore = await Watch.open(server, `${PUBLIC_LIST}?watch=true&resourceVersion=${oldest - 1}`);
  expect((await justBefore.rest()).map(brief)).toEqual(['ERROR 410']);
});

describe('an informer of the official JavaScript client', () => {
  beforeAll(async () => {
    await addCluster(server, 'dev-1', { labels: { env: 'dev' } });
    await addCluster(server, 'prod-1', { labels: { env: 'prod' } });
  });

  it('follows changes of permissions with the watch that it opened', async () => {
    await grantClusters(server, 'jane-sees', 'jane', { clusters: 'env=dev' });
    const { informer, lists, told } = clusterInformer(tokenOf('jane'));
    await informer.start();
    await told('add dev-1');
    await rebind(server, 'jane-sees', 'env in (dev,prod)');
    await told('add prod-1');
    await rebind(server, 'jane-sees', 'env=prod');
    await told('delete dev-1');
    expect(known(informer)).toEqual(['prod-1']);
    await relabel(server, 'prod-1', { env: 'retired' });
    await told('delete prod-1');
    await relabel(server, 'prod-1', { env: 'prod' });
    await told('add prod-1');
    await unbind(server, 'jane-sees');
    await told('delete prod-1');
    expect(known(informer)).toEqual([]);
    expect(lists()).toBe(1);
    await informer.stop();
  });

  it('V-10: lists again by itself when its version is too old (410), and misses nothing', async () => {
    const { informer, lists, told } = clusterInformer(server.adminToken);
    await informer.start();
    await told('add dev-1');
    await informer.stop();
    await addCluster(server, 'dev-2');
    await removeCluster(server, 'dev-1');
    for (let count = 0; count < 2 * HISTORY; count++) await touch(server, 'prod-1', `change ${count}`);
    expect(lists()).toBe(1);
    // It resumes from its last version. Only the server's 410 makes it list again.
    await informer.start();
    await told('delete dev-1');
    await told('add dev-2');
    expect(lists()).toBe(2);
    expect(known(informer)).toEqual(expect.arrayContaining(['dev-2', 'prod-1']));
    expect(known(informer)).not.toContain('dev-1');
    expect(informer.get('prod-1')?.metadata?.annotations).toEqual({ note: `change ${2 * HISTORY - 1}` });
    // And the watch after that is alive.
    await addCluster(server, 'dev-3');
    await told('add dev-3');
    await informer.stop();
  });
});

type ClusterInformer = ReturnType<typeof makeInformer<KubernetesObject>>;

const known = (informer: ClusterInformer): string[] =>
  informer
    .list()
    .map(({ metadata }) => metadata?.name ?? '')
    .sort();

function clusterInformer(token: string) {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'fleet', server: server.url, caFile: TLS.caFile }],
    users: [{ name: 'caller', token }],
    contexts: [{ name: 'fleet', cluster: 'fleet', user: 'caller' }],
    currentContext: 'fleet',
  });
  const custom = config.makeApiClient(CustomObjectsApi);
  let lists = 0;
  const informer = makeInformer<KubernetesObject>(config, CLUSTERS, async () => {
    lists += 1;
    return (await custom.listClusterCustomObject({
      group: 'clusterregistry.k8s.io',
      version: 'v1alpha1',
      plural: 'clusters',
    })) as KubernetesListObject<KubernetesObject>;
  });
  return { informer, lists: () => lists, told: listener(informer) };
}

/** Resolves when the informer has reported this (`add dev-1`) since the last call for it. */
function listener(informer: ClusterInformer): (what: string) => Promise<void> {
  const untaken: string[] = [];
  let wake = (): void => {};
  for (const verb of ['add', 'delete'] as const) {
    informer.on(verb, ({ metadata }) => {
      untaken.push(`${verb} ${metadata?.name}`);
      wake();
    });
  }
  return async (what) => {
    while (!untaken.includes(what)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    untaken.splice(untaken.indexOf(what), 1);
  };
}
