import { expect, it } from 'vitest';
import type { ApiRequest } from '../../src/api/request.ts';
import { reviewToken } from '../../src/handlers/reviews/review-token.ts';
import { at, catalog, inFolder, make, openObjects } from './object-store.ts';

/** A review over a real database that goes away. */

it('B12, K-40: while the store does not answer, no token is called good, and none bad', async () => {
  await inFolder(async (file) => {
    const objects = await openObjects(file);
    await make(objects, catalog.clusters, at('', '', 'alpha'));
    let asked = 0;
    const ask = () =>
      reviewToken(
        {
          catalog,
          reader: objects.reader,
          authorizer: undefined as never,
          now: Date.now,
          reviewToken: async () => {
            asked++;
            return { authenticated: true, user: { name: 'a', uid: '', groups: [], extra: {} }, audiences: [] };
          },
        },
        { target: { cluster: 'alpha' } } as ApiRequest,
        { apiVersion: '', kind: '', metadata: {}, spec: { token: 'x' } },
      );
    expect(await ask()).toMatchObject({ status: { authenticated: true } });
    await objects.close();
    await expect(ask()).rejects.toMatchObject({ status: { code: 503, reason: 'ServiceUnavailable' } });
    expect(asked).toBe(1);
  });
});
