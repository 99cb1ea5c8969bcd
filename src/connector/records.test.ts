import { afterEach, beforeEach, expect, it } from 'vitest';
import { createNodeFetch } from '../client/node.ts';
import { Transport } from '../client/transport.ts';
import { realTiming } from '../lib/backoff.ts';
import { HUB_TOKEN } from '../sync/hub.fixture.ts';
import { FakeCluster } from './cluster.fixture.ts';
import { Records } from './records.ts';

let cluster: FakeCluster;
beforeEach(async () => {
  cluster = await new FakeCluster().start();
});
afterEach(() => cluster.stop());

it('of two connectors of a new cluster are kept, whichever creates the ConfigMap', async () => {
  const api = new Transport({
    ...{ server: cluster.url, fetch: createNodeFetch({}), timing: realTiming, tokenProvider: () => HUB_TOKEN },
    ...{ userAgent: undefined, onWarning: undefined },
  });
  const [first, other] = [
    { namespace: 'shop', until: 1 },
    { namespace: 'shop', until: 2 },
  ];
  const late: typeof api.request = async (method, ...rest) => {
    if (method === 'POST') await new Records(api, 'cp').put('other', other);
    return api.request(method, ...rest);
  };
  await new Records({ request: late }, 'cp').put('first', first);
  const restarted = new Records(api, 'cp');
  await restarted.read(new AbortController().signal);
  expect(Object.fromEntries(restarted.all)).toEqual({ first, other });
});
