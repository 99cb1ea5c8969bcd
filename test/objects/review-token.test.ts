import { expect, it } from 'vitest';
import type { ApiRequest } from '../../src/api/request.ts';
import { reviewToken } from '../../src/handlers/reviews/create-review.ts';
import { at, catalog, make, openObjects } from './object-store.ts';

/** A token review with a real database that is closed. */

it('B12, K-40: while the store does not answer, a token is neither accepted nor rejected', async () => {
  const objects = await openObjects();
  await make(objects, catalog.clusters, at('', '', 'alpha'));
  let reviews = 0;
  const review = () =>
    reviewToken(
      {
        catalog,
        reader: objects.reader,
        authorizer: undefined as never,
        recentEvents: undefined as never,
        now: Date.now,
        reviewToken: async () => {
          reviews++;
          return { authenticated: true, user: { name: 'a', uid: '', groups: [], extra: {} }, audiences: [] };
        },
      },
      { target: { cluster: 'alpha' } } as ApiRequest,
      { apiVersion: '', kind: '', metadata: {}, spec: { token: 'x' } },
    );
  expect(await review()).toMatchObject({ status: { authenticated: true } });
  await objects.close();
  await expect(review()).rejects.toMatchObject({ status: { code: 503, reason: 'ServiceUnavailable' } });
  expect(reviews).toBe(1);
});
