import type { Registry } from '@prometheus-io/client';
import { type PathRoutes, pathTable } from './routes.ts';

/** `/metrics`, for those who may `get` that path (the role `system:monitoring`). */
export const metricsRoutes = (registry: Registry): PathRoutes =>
  pathTable({
    '/metrics': {
      public: false,
      methods: ['GET'],
      handle: async () => ({
        type: 'raw',
        code: 200,
        headers: { 'Content-Type': registry.contentType },
        body: await registry.metrics(),
      }),
    },
  });
