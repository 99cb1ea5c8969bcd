import { expect, it } from 'vitest';
import { accessOf } from './access-requests.ts';

it.each([
  [{ cluster: 'a' }, 'to see the cluster a'],
  [{ cluster: 'a', serviceAccount: { namespace: 'ci', name: 'builder' } }, 'passes for ci/builder in a'],
  [
    {
      cluster: 'a',
      resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'log', namespace: 'n', name: 'p' },
    },
    'to get pods/log p in the namespace n in a',
  ],
  [
    { cluster: 'a', resourceAttributes: { verb: 'list', group: 'apps', resource: 'deployments' } },
    'to list deployments.apps in a',
  ],
])('%j asks %s', (spec, text) => expect(accessOf(spec)).toBe(text));
