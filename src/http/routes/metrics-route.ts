import { OVERVIEW_PATH, type Overview } from '../../api/overview.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { type PathRoutes, pathTable } from './routes.ts';

/** Counts over all clusters, for those who may `get` these paths (the role `system:monitoring`). */
export const metricsRoutes = (
  { contentType, text }: Pick<Metrics, 'contentType' | 'text'>,
  overview: () => Promise<Overview>,
): PathRoutes =>
  pathTable({
    '/metrics': {
      public: false,
      handle: async ({ work }) => {
        await work.turn();
        return { type: 'raw', code: 200, headers: { 'Content-Type': contentType }, body: await text() };
      },
    },
    [OVERVIEW_PATH]: {
      public: false,
      handle: async ({ work }) => {
        await work.turn();
        return { type: 'value', code: 200, value: await overview() };
      },
    },
  });
