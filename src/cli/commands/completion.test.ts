import { expect, it, onTestFinished } from 'vitest';
import { cluster, json, scriptServer } from '../../client/script-server.fixture.ts';
import { fakeContext } from '../cli.fixture.ts';
import { Invocation } from '../command.ts';
import { run } from './completion.ts';

it('offers no name of a hostile server that is shell code', async () => {
  const items = ['ok-1', '$(kill $$)', 'a;b', 'x\ty', '`exit`', '*'].map((name) => cluster(name, 1));
  const server = await scriptServer([json(200, { kind: 'List', metadata: {}, items })]);
  onTestFinished(server.close);
  const context = fakeContext({ CLUSTERPASS_SERVER: server.url, CLUSTERPASS_TOKEN: 'of-the-test-0123', HOME: '/none' });
  await run(context, new Invocation(['next', 'clusterpass describe cluster '], {}));
  expect(context.written.out).toBe('ok-1\n');
});
