import { expect, it } from 'vitest';
import { servePages } from '../paged-server.fixture.ts';
import { fieldSelector, listAllPasses } from './list-passes.ts';

const NO_FILTER = { cluster: '', requester: '', account: '' };

it('lists the passes of every page', async () => {
  const pass = (name: string) => ({ metadata: { name } });
  const client = await servePages([[pass('a'), pass('b')], [pass('c')]]);
  expect((await listAllPasses(client, NO_FILTER)).map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
});

it.each([
  [NO_FILTER, undefined],
  [{ ...NO_FILTER, cluster: 'prod-eu-1' }, 'spec.cluster=prod-eu-1'],
  [{ ...NO_FILTER, account: 'builder' }, 'spec.serviceAccount.name=builder'],
  [{ ...NO_FILTER, account: 'ci/' }, 'spec.serviceAccount.namespace=ci'],
  [
    { ...NO_FILTER, requester: 'a=b,c\\', account: 'ci/builder' },
    'spec.requestedBy.username=a\\=b\\,c\\\\,spec.serviceAccount.namespace=ci,spec.serviceAccount.name=builder',
  ],
])('%j selects %s', (filter, selector) => expect(fieldSelector(filter)).toBe(selector));
