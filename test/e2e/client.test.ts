import { describe, expect, it } from 'vitest';
import { type Client, type ClusterEvent, createClient, endpointsInForce, StatusError } from '../../src/client/index.ts';
import { addCluster, grantClusters, rebind, relabel } from './support/fleet.ts';
import { createAccount, createNamespace } from './support/objects.ts';
import { type Server, tokenOf } from './support/server.ts';
import { beforeAllWithServer } from './support/shared-server.ts';

let server: Server;

beforeAllWithServer(async (shared) => {
  server = shared;
  await addCluster(server, 'dev-1', { labels: { env: 'dev' } });
  await addCluster(server, 'dev-2', { labels: { env: 'dev' } });
  await addCluster(server, 'prod-1', {
    labels: { env: 'prod' },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }] },
    },
  });
  await createNamespace(server, 'ci', 'prod-1');
  await createAccount(server, 'builder', 'ci', 'prod-1');
  await grantClusters(server, 'jane-sees', 'jane', { clusters: 'env=dev' });
});

const clientOf = (user?: string, at = server): Client =>
  createClient({ server: at.url, token: user === undefined ? at.adminToken : tokenOf(user) });

const brief = ({ type, cluster }: ClusterEvent): string => `${type} ${cluster.metadata.name}`;

/** A watch that is read step by step. */
class Follower {
  readonly #events: AsyncGenerator<ClusterEvent>;
  readonly synced: Promise<void>;
  readonly #stop = new AbortController();

  constructor(client: Client, labelSelector?: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#events = client.watchClusters({
      signal: this.#stop.signal,
      onSynced: resolve,
      ...(labelSelector === undefined ? {} : { labelSelector }),
    });
  }

  async take(count: number): Promise<string[]> {
    const events: string[] = [];
    while (events.length < count) {
      const next = await this.#events.next();
      if (next.done === true) break;
      events.push(brief(next.value));
    }
    return events;
  }

  close(): void {
    this.#stop.abort();
  }
}

describe('lists', () => {
  it('show each caller the clusters that it may see, for any page size', async () => {
    const names = async (user: string | undefined, limit: number): Promise<string[]> =>
      (await clientOf(user).listClusters({ limit })).items.map(({ metadata }) => metadata.name);
    expect(await names(undefined, 1)).toEqual(['dev-1', 'dev-2', 'prod-1']);
    expect(await names('jane', 1)).toEqual(['dev-1', 'dev-2']);
    expect(await names('joe', 500)).toEqual([]);
    const pages: number[] = [];
    for await (const { items } of clientOf().clusterPages({ limit: 2 })) pages.push(items.length);
    expect(pages).toEqual([2, 1]);
  });

  it('find the endpoints', async () => {
    const { items } = await clientOf().listClusters({ fieldSelector: 'metadata.name=prod-1' });
    expect(items.map(endpointsInForce)).toEqual([
      { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }] },
    ]);
  });

  it('a bad selector is a StatusError', async () => {
    const error = await clientOf()
      .listClusters({ labelSelector: 'a b' })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StatusError);
    expect((error as StatusError).status).toMatchObject({ code: 400, reason: 'BadRequest' });
  });
});

describe('tokens', () => {
  it('are issued, with warnings', async () => {
    const issued = await clientOf().createToken({
      cluster: 'prod-1',
      namespace: 'ci',
      name: 'builder',
      expirationSeconds: 10_000_000,
    });
    expect(issued.token).toMatch(/^eyJ/);
    expect(issued.warnings).toEqual(['requested expiration of 10000000 seconds shortened to 86400 seconds']);
    expect(Date.parse(issued.expirationTimestamp) - issued.issuedAt).toBeGreaterThan(86_000_000);
  });

  it('are refused, with the Status', async () => {
    await expect(
      clientOf('jane').createToken({ cluster: 'prod-1', namespace: 'ci', name: 'builder' }),
    ).rejects.toMatchObject({ code: 403, reason: 'Forbidden' });
  });

  it('a token source gives many callers one token, and the token is accepted', async () => {
    const source = clientOf().tokenSource({ cluster: 'prod-1', namespace: 'ci', name: 'builder' });
    const [first, second] = await Promise.all([source.token(), source.token()]);
    expect(first).toBe(second);
    expect((await server.call('GET', '/auth/v1/clusters', { token: first ?? '' })).code).toBe(200);
  });
});

describe('watches', () => {
  it('follow selectors and permission', async () => {
    const follower = new Follower(clientOf('jane'));
    expect(await follower.take(2)).toEqual(['ADDED dev-1', 'ADDED dev-2']);
    await rebind(server, 'jane-sees', 'env in (dev,prod)');
    expect(await follower.take(1)).toEqual(['ADDED prod-1']);
    await rebind(server, 'jane-sees', 'env=prod');
    expect((await follower.take(2)).sort()).toEqual(['DELETED dev-1', 'DELETED dev-2']);
    await relabel(server, 'dev-1', { env: 'prod' });
    expect(await follower.take(1)).toEqual(['ADDED dev-1']);
    await relabel(server, 'dev-1', { env: 'dev' });
    expect(await follower.take(1)).toEqual(['DELETED dev-1']);
    follower.close();
    await rebind(server, 'jane-sees', 'env=dev');
  });

  it('a credential that ends is an error', async () => {
    const account = await clientOf().createToken({ cluster: 'prod-1', namespace: 'ci', name: 'builder' });
    await grantClusters(server, 'accounts', 'system:serviceaccount:ci:builder', {});
    const client = createClient({ server: server.url, token: account.token });
    const watching = (async () => {
      for await (const event of client.watchClusters()) void event;
    })();
    watching.catch(() => {});
    await server.call('DELETE', '/orchestrator/prod-1/api/v1/namespaces/ci/serviceaccounts/builder');
    await expect(watching).rejects.toMatchObject({ code: 401 });
  });
});
