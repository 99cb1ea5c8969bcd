import { expect, test } from 'vitest';
import { type ClustersField, clustersOf, clustersText } from './clusters-field.ts';

test.each<readonly [string, ClustersField]>([
  ['env=dev', { selector: { matchLabels: { env: 'dev' } } }],
  ['env==dev,region=eu', { selector: { matchLabels: { env: 'dev', region: 'eu' } } }],
  ['env in (dev, test)', { selector: { matchExpressions: [{ key: 'env', operator: 'In', values: ['dev', 'test'] }] } }],
  [
    'env notin (prod),!old, region',
    {
      selector: {
        matchExpressions: [
          { key: 'env', operator: 'NotIn', values: ['prod'] },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'region', operator: 'Exists' },
        ],
      },
    },
  ],
  [
    'env=a,env!=b',
    {
      selector: {
        matchExpressions: [
          { key: 'env', operator: 'In', values: ['a'] },
          { key: 'env', operator: 'NotIn', values: ['b'] },
        ],
      },
    },
  ],
  ['kubernetes.io/metadata.name=a', { names: ['a'] }],
  ['kubernetes.io/metadata.name in (a,b)', { names: ['a', 'b'] }],
  [
    'kubernetes.io/metadata.name',
    { selector: { matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'Exists' }] } },
  ],
])('%s', (text, field) => {
  expect(clustersOf(text)).toEqual(field);
  const shown = clustersText(field);
  if (field.names === undefined) expect(clustersOf(shown)).toEqual(field);
});
