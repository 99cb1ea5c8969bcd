import { createListener, type ListenerOptions } from './listener/listener.ts';
import { createPipeline, type PipelineOptions } from './pipeline.ts';
import { type HealthOptions, healthRoutes, versionRoutes } from './routes/health-routes.ts';
import { firstOf } from './routes/routes.ts';

export interface HttpServerOptions
  extends ListenerOptions,
    Omit<PipelineOptions, 'isDraining' | 'trackWatch' | 'onAuthenticated'> {
  readonly version: string;
  /** By name; all must pass for the server to be ready. */
  readonly checks: HealthOptions['checks'];
  readonly warnings?: NonNullable<HealthOptions['warnings']>;
  /** While this is true, checks that fail are not logged: the log says what the start waits for. */
  readonly isStarting: () => boolean;
}

export type HttpServer = ReturnType<typeof createHttpServer>;

/** A listener whose requests go down the pipeline, with health and version, which need to know only the listener. */
export function createHttpServer(options: HttpServerOptions) {
  const { logger, checks, warnings = {}, isStarting, version, paths, observeArrival, observe } = options;
  const listener = createListener(options);
  const { isDraining } = listener;
  // Without a stack: a load balancer asks every second or two.
  const onFailure = (check: string, reason: unknown): void => {
    if (isStarting()) return;
    logger.warn({ check, reason: reason instanceof Error ? reason.message : String(reason) }, 'health check failed');
  };
  const serve = createPipeline({
    ...options,
    paths: firstOf([healthRoutes({ checks, warnings, isDraining, onFailure }), versionRoutes(version), paths]),
    isDraining,
    onAuthenticated: listener.authenticated,
    trackWatch: listener.trackWatch,
    observeArrival(method) {
      observeArrival(method);
      listener.requestBegan();
    },
    observe(record) {
      observe(record);
      listener.requestEnded();
    },
  });
  return { ...listener, listen: () => listener.listen(serve) };
}
