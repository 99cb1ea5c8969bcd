import { expect, it } from 'vitest';
import { fieldSelector } from './list-passes.ts';

const NO_FILTER = { cluster: '', requester: '', account: '' };

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
