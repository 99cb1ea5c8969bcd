import { OVERVIEW_PATH, type Overview } from '../../api/overview.ts';
import type { Query } from '../../api/request.ts';
import { pathNotFound } from '../../api/status.ts';
import { goPlatform } from '../../lib/program-files.ts';
import { firstWithin } from '../../lib/promises.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { type RawAnswer, rawAnswer, textAnswer } from '../response/respond.ts';
import { type PathRequest, type PathRoute, type PathRoutes, pathTable } from './routes.ts';

/** Rejects with the reason, which goes to the log and never to the caller. */
type HealthCheck = () => Promise<void> | void;

export interface HealthOptions {
  /** By name, e.g. `storage`, `cache`; shown in this order. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  /**
   * By name; shown after the checks. One that fails is in the report and a 503 at `/readyz/<name>`, but the server
   * stays ready: it serves other callers, and every replica fails at the same time.
   */
  readonly warnings?: Readonly<Record<string, HealthCheck>>;
  /** True once the server is asked to stop: load balancers must notice before it refuses connections. */
  readonly isDraining: () => boolean;
  readonly onFailure: (check: string, reason: unknown) => void;
  /** A check that takes longer has failed. */
  readonly checkTimeoutMs?: number;
}

/**
 * `/livez`: the process answers. `/healthz`: and its checks pass. `/readyz`: and it is not draining. One check alone is
 * at `/readyz/<check>`. Texts and the parameter `verbose` are kube-apiserver's; a failure is 503, so that
 * load balancers send traffic elsewhere.
 */
export function healthRoutes(options: HealthOptions): PathRoutes {
  const { checks, warnings = {}, isDraining, onFailure, checkTimeoutMs = 1_500 } = options;
  const shown = [...Object.entries(checks), ...Object.entries(warnings)];
  const ping: HealthCheck = () => {};
  const shutdown: HealthCheck = () => {
    if (isDraining()) throw new Error('the server is shutting down');
  };
  const groups: ReadonlyMap<string, ReadonlyMap<string, HealthCheck>> = new Map([
    ['livez', new Map([['ping', ping]])],
    ['healthz', new Map([['ping', ping], ...shown])],
    ['readyz', new Map([['ping', ping], ...shown, ['shutdown', shutdown]])],
  ]);

  // Requests at the same time share one run of a check: anyone may ask, and a check costs a read of the store.
  const running = new Map<HealthCheck, Promise<boolean>>();
  const passes = (name: string, check: HealthCheck): Promise<boolean> => {
    const shared = running.get(check);
    if (shared !== undefined) return shared;
    const outcome = run(name, check).finally(() => running.delete(check));
    running.set(check, outcome);
    return outcome;
  };

  const run = async (name: string, check: HealthCheck): Promise<boolean> => {
    const passed = async (): Promise<true> => {
      await check();
      return true;
    };
    try {
      if (await firstWithin(checkTimeoutMs, passed())) return true;
      throw new Error(`no answer within ${checkTimeoutMs} ms`);
    } catch (reason) {
      onFailure(name, reason);
      return false;
    }
  };

  const report = async (group: string, all: ReadonlyMap<string, HealthCheck>, query: Query) => {
    const lines = await Promise.all(
      [...all].map(async ([name, check]) => {
        if (await passes(name, check)) return `[+]${name} ok`;
        return `[${Object.hasOwn(warnings, name) ? '!' : '-'}]${name} failed: reason withheld`;
      }),
    );
    if (lines.some((line) => line.startsWith('[-]'))) return text(503, `${lines.join('\n')}\n${group} check failed\n`);
    return text(200, query.has('verbose') ? `${lines.join('\n')}\n${group} check passed\n` : 'ok');
  };

  const route: PathRoute = {
    public: true,
    async handle({ path, query }: PathRequest) {
      const [, group = '', single] = path.split('/', 3);
      const all = groups.get(group);
      if (all === undefined) throw pathNotFound();
      if (single === undefined) return report(group, all, query);
      const check = all.get(single);
      if (check === undefined) throw pathNotFound();
      return (await passes(single, check)) ? text(200, 'ok') : text(503, `${single} check failed\n`);
    },
  };
  return ({ cluster, path }) => {
    if (cluster !== undefined) return undefined;
    const [, group = '', , ...deeper] = path.split('/', 4);
    return groups.has(group) && deeper.length === 0 ? route : undefined;
  };
}

const text = (code: number, body: string): RawAnswer => textAnswer(code, body, { 'X-Content-Type-Options': 'nosniff' });

/** `/version` with the keys of X-18; what only a Go program knows is empty. The version as in package.json: `0.1.0`. */
export function versionRoutes(version: string): PathRoutes {
  const [major = '', minor = ''] = version.split('.');
  const body = JSON.stringify(
    {
      major,
      minor,
      gitVersion: `v${version}`,
      gitCommit: '',
      gitTreeState: '',
      buildDate: '',
      goVersion: '',
      compiler: '',
      platform: goPlatform(),
    },
    undefined,
    2,
  );
  const route: PathRoute = {
    public: true,
    handle: () => rawAnswer(200, { 'Content-Type': 'application/json' }, body),
  };
  // Also below the prefix of any cluster: kubectl asks for it at the server address of its context.
  return ({ path }) => (path === '/version' ? route : undefined);
}

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
        return rawAnswer(200, { 'Content-Type': contentType }, await text());
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
