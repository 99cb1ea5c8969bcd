import { expect, it } from 'vitest';
import { applyJsonPatch } from '../../../src/objects/patches/json-patch.ts';
import { labelPatch } from './label-patch.ts';

it.each([{}, { env: 'dev' }])('changes the labels %j, unless another user has changed them', (before) => {
  const metadata = { name: 'a', ...(Object.keys(before).length === 0 ? {} : { labels: before }) };
  const patch = labelPatch(before, { env: 'test' });
  expect(applyJsonPatch({ metadata }, patch)).toEqual({ metadata: { name: 'a', labels: { env: 'test' } } });
  const changed = { metadata: { ...metadata, labels: { env: 'prod' } } };
  expect(() => applyJsonPatch(changed, patch)).toThrow(
    'the server rejected our request due to an error in our request',
  );
});
