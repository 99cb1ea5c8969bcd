import type { Authorizer } from '../api/authorization.ts';
import type { Catalog } from '../api/catalog.ts';
import type { FlowControlLimits } from '../api/flow-control-limits.ts';
import { REGISTRY_PREFIX } from '../api/kind.ts';
import type { Overview } from '../api/overview.ts';
import { unavailable } from '../api/status.ts';
import type { ClusterVisibility } from '../api/visibility.ts';
import type { Authenticator } from '../authn/authenticator.ts';
import type { createDispatcher } from '../handlers/dispatch.ts';
import type { IssueToken } from '../handlers/token/token-input.ts';
import type { MemoryAccount } from '../lib/memory-account.ts';
import type { WorkQueue } from '../lib/work-queue.ts';
import { isLow } from '../observability/audit/audit-file.ts';
import type { AuditLogs } from '../observability/audit/open-audit.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { FailingCallers } from '../observability/metrics/observe-parts.ts';
import type { Trace } from '../observability/protocol-trace.ts';
import type { Store } from '../storage/contract.ts';
import type { Freshness } from '../storage/freshness.ts';
import type { Issuers } from '../tokens/claims.ts';
import type { IssuerDocuments } from '../tokens/issuer-documents.ts';
import { createFlowControl } from './flow-control/flow-control.ts';
import { createHttpServer } from './http-server.ts';
import type { ListenerOptions } from './listener/listener.ts';
import { createMcpEndpoint, type McpOptions } from './mcp/mcp-endpoint.ts';
import { formRoutes } from './oauth/form-routes.ts';
import { createAuditor } from './records/audit.ts';
import { observeServer } from './records/observe-server.ts';
import { createRequestMetrics } from './records/request-metrics.ts';
import { logRequests } from './records/request-record.ts';
import type { Tracer } from './records/tracing/tracer.ts';
import { createRequestLineParser } from './request/request-info.ts';
import { type ConsoleOptions, consoleRoutes } from './routes/console-routes.ts';
import { discoveryRoutes } from './routes/discovery-routes.ts';
import { metricsRoutes } from './routes/health-routes.ts';
import { issuerRoutes } from './routes/issuer-routes.ts';
import { openApiRoutes } from './routes/openapi-routes.ts';
import { resourceRoutes } from './routes/resource-routes.ts';
import { firstOf } from './routes/routes.ts';

/** A health check ends after 1.5 seconds. */
const CURRENT_MS = 1_400;

/** What the API needs to serve requests. The listener is up before these parts are. */
interface ApiParts {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer & Pick<ClusterVisibility, 'ruleFor'>;
  readonly dispatch: ReturnType<typeof createDispatcher>;
  readonly issueToken: IssueToken;
  readonly documents: IssuerDocuments;
  readonly issuers: Issuers;
  readonly store: Pick<Store, 'get' | 'revision'>;
  readonly cache: { readonly ready: boolean; readonly revision: number };
  readonly freshness: Pick<Freshness, 'isUnreachable' | 'proveCurrent' | 'whenCurrent'>;
  readonly trace: Trace | undefined;
  readonly failingCallers: Pick<FailingCallers, 'files' | 'lines'>;
  readonly manifestProblems: () => number;
  readonly notifyProblems: () => number;
  readonly overview: () => Promise<Overview>;
  readonly isCluster: (name: string) => boolean;
  /** Origins of the token endpoints of an identity provider. */
  readonly tokenOriginsOf: (issuer: string) => readonly string[];
}

interface ApiServerOptions extends ListenerOptions {
  readonly flowControl: FlowControlLimits;
  readonly productName: string;
  readonly version: string;
  readonly catalog: Catalog;
  readonly audit: Pick<AuditLogs, 'requests' | 'security' | 'counts' | 'files'>;
  readonly console: Pick<ConsoleOptions, 'files' | 'provider' | 'helpText' | 'maxRequestSeconds'>;
  /** Undefined: MCP is not served. */
  readonly mcp: Omit<McpOptions, 'version' | 'productName' | 'baseUrl' | 'authenticate' | 'now'> | undefined;
  readonly metrics: Metrics;
  readonly tracer: Pick<Tracer, 'ended'> | undefined;
  /** For all work of this process that takes long. */
  readonly work: WorkQueue;
  readonly memory: MemoryAccount;
}

function failIf(isFailing: boolean, reason: string): void {
  if (isFailing) throw new Error(reason);
}

/** The HTTP server of the API. Until `open` it answers health checks, and every other request with 503. */
export function createApiServer(options: ApiServerOptions) {
  const { catalog, productName, version, console, mcp: agents, audit, metrics, tracer, logger, ...listener } = options;
  const auditor = createAuditor(audit, Date.now);
  const log = logRequests(logger);
  const counts = createRequestMetrics(metrics, (name) => opened?.isCluster(name) === true);
  const flowControl = createFlowControl(listener.flowControl);
  let opened: ApiParts | undefined;
  const parts = (): ApiParts => {
    if (opened === undefined) throw unavailable('the server is starting, please try again');
    return opened;
  };
  const mcp =
    agents &&
    createMcpEndpoint({
      ...agents,
      version,
      productName,
      baseUrl: () => parts().issuers.baseUrl,
      authenticate: (authorization, warn) => parts().authenticator.authenticateMcp(authorization, warn),
      now: performance.now.bind(performance),
    });
  const consoleOptions: ConsoleOptions = {
    ...console,
    productName,
    version,
    tokenOriginsOf: (issuer) => opened?.tokenOriginsOf(issuer) ?? [],
  };
  const server = createHttpServer({
    ...listener,
    logger,
    flowControl,
    beforeRelease: auditor.beforeRelease,
    observeArrival: counts.arrived,
    observeStart: (record) => {
      counts.started(record);
      auditor.started(record);
    },
    observe: (record) => {
      counts.ended(record);
      log(record);
      auditor.ended(record);
      tracer?.ended(record);
    },
    observeSubrequest: (record, isItem) => {
      counts.subrequestEnded(record);
      log(record);
      if (!isItem) auditor.ended(record);
    },
    version,
    parseRequestLine: createRequestLineParser({ productName }),
    freshness: {
      proveCurrent: () => parts().freshness.proveCurrent(),
      whenCurrent: async (timeoutMs) => {
        const isCurrent = await parts().freshness.whenCurrent(timeoutMs);
        if (!isCurrent) parts().trace?.('refuses', {});
        return isCurrent;
      },
    },
    authenticate: (authorization, warn) => parts().authenticator.authenticate(authorization, warn),
    authenticateToken: (token) => parts().authenticator.authenticateToken(token),
    onDecision: ({ startedAt }) => {
      const { cache, freshness, trace } = parts();
      const { revision } = cache;
      trace?.('decides', { took: performance.now() - startedAt, revision, isUnreachable: freshness.isUnreachable });
    },
    authorizer: {
      decide: (caller, question) => parts().authorizer.decide(caller, question),
      decidePath: (caller, question) => parts().authorizer.decidePath(caller, question),
    },
    seesNothing: (caller) => {
      const { authorizer } = parts();
      return authorizer.ruleFor(caller, 'watch').none && authorizer.ruleFor(caller, 'list').none;
    },
    resources: resourceRoutes(catalog, productName, (request, resource) => parts().dispatch(request, resource)),
    issueToken: (input, grant) => parts().issueToken(input, grant),
    forms: formRoutes(() => parts().issuers),
    mcp,
    paths: firstOf([
      ...(mcp === undefined ? [] : [mcp.routes]),
      issuerRoutes(() => parts().documents, productName),
      metricsRoutes(metrics, () => parts().overview()),
      discoveryRoutes(catalog),
      openApiRoutes({ catalog, productName, version, now: Date.now }),
      consoleRoutes(consoleOptions),
    ]),
    checks: {
      // A real read: SQLite knows the revision without one. In etcd the revision fails if the store was replaced.
      storage: async () => {
        if (parts().freshness.isUnreachable) throw new Error('the store does not answer');
        const { store } = parts();
        await Promise.all([store.get(REGISTRY_PREFIX), store.revision()]);
      },
      cache: async () => {
        const { cache, freshness } = parts();
        if (!cache.ready) throw new Error('the cache is catching up with the store');
        if (!(await freshness.whenCurrent(CURRENT_MS))) throw new Error('the cache is behind the store');
      },
    },
    isStarting: () => opened === undefined,
    // Callers from these files are refused, or tokens are. Everything else is served, key sets above all.
    warnings: {
      'audit-log': () => failIf(audit.counts.failing, 'an audit log cannot be written'),
      'audit-log-space': async () => {
        for (const [log, { space }] of Object.entries(await audit.files())) {
          failIf(space !== undefined && isLow(space), `the ${log} log has ${space?.free} bytes left`);
        }
      },
      'token-file': () => {
        const { files, lines } = parts().failingCallers;
        failIf(files()['token-auth-file'], 'a file of --token-auth-file is gone or invalid');
        failIf(lines() > 0, 'lines of a file of --token-auth-file are left out');
      },
      manifests: () => failIf(parts().manifestProblems() > 0, 'manifests are left out or could not be written'),
      notifications: () =>
        failIf(parts().notifyProblems() > 0, '--notify-config cannot be used, or a receiver has failed for long'),
      'authentication-config': () => {
        const { files } = parts().failingCallers;
        failIf(files()['authentication-config'], 'the file of --authentication-config is gone or invalid');
      },
    },
  });
  const memory = () => listener.memory.usage;
  observeServer(metrics, { levels: flowControl.usage, memory, handshakes: server.handshakes });
  if (listener.tls !== undefined) metrics.observeCertificate('tls-cert-file', server.certificateExpiry);
  return {
    server,
    /** From now on requests are served. */
    open: (given: ApiParts) => {
      opened = given;
    },
  };
}
