import type { Metrics } from '../../observability/metrics/metrics.ts';
import { type PathRoutes, pathTable } from './routes.ts';

/** `/metrics`, for those who may `get` that path (the role `system:monitoring`). */
export const metricsRoutes = ({ contentType, text }: Pick<Metrics, 'contentType' | 'text'>): PathRoutes =>
  pathTable({
    '/metrics': {
      public: false,
      handle: async ({ work }) => {
        await work.turn();
        return { type: 'raw', code: 200, headers: { 'Content-Type': contentType }, body: await text() };
      },
    },
  });
