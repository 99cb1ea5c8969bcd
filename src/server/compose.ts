import { randomUUID } from 'node:crypto';
import { createCatalog } from '../api/catalog.ts';
import { type AddressRules, createAddressRules, isThisMachine } from '../api/clusters/address-rules.ts';
import { seatsPerFlow } from '../api/flow-control-limits.ts';
import { fleetKey } from '../api/kind.ts';
import { connectorCounts } from '../clusters/connector-readiness.ts';
import { startFleetHistory } from '../clusters/fleet-history.ts';
import { createFleetOverview } from '../clusters/fleet-overview.ts';
import type { Upstream } from '../clusters/upstream/upstream-contract.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { defaultBaseUrl } from '../config/values.ts';
import { issuesOwnTokensWith } from '../handlers/token/forward-token.ts';
import { openForwarding } from '../handlers/token/open-forwarding.ts';
import { createViews } from '../handlers/views.ts';
import { createApiServer } from '../http/api-server.ts';
import type { Tracer } from '../http/records/tracing/tracer.ts';
import { readConsoleFiles } from '../http/routes/console-files.ts';
import { MemoryAccount } from '../lib/memory-account.ts';
import { interfaceAddresses } from '../lib/network.ts';
import { programFile } from '../lib/program-files.ts';
import { every } from '../lib/rounds.ts';
import { readMountedSecret } from '../lib/secret-file.ts';
import { WorkQueue } from '../lib/work-queue.ts';
import { openAuditLogs } from '../observability/audit/open-audit.ts';
import type { Logger, ServerLog } from '../observability/logger.ts';
import { createMetrics, type JoinMetrics } from '../observability/metrics/metrics.ts';
import { observeParts } from '../observability/metrics/observe-parts.ts';
import { openTrace, type Trace } from '../observability/protocol-trace.ts';
import { createIssuers } from '../tokens/claims.ts';
import { createDispatch, createTokens } from './create-dispatch.ts';
import { inventoryOf } from './inventory.ts';
import { openAuthenticator } from './open-authenticator.ts';
import { openManifests } from './open-manifests.ts';
import { openNotifier, signingKeyEnds } from './open-notifier.ts';
import { type Base, openState } from './open-state.ts';
import type { OpenedStore } from './open-store.ts';
import { startBackgroundWork } from './start-background-work.ts';
import { waitForStore } from './wait-for-store.ts';
import type { Siblings } from './workers/worker-catch-up.ts';

/** A running server. */
export interface Program {
  readonly baseUrl: string;
  /** Stops accepting, drains requests in flight, closes the store. */
  stop(): Promise<void>;
}

const CONSOLE_FOLDER = programFile('console/dist');
const CALLER_CHECK_MS = 5_000;

/** Constructs and connects every long-lived part. No other code does. */
export async function compose(
  options: ServeOptions,
  version: string,
  { logger, output }: ServerLog,
  openStore: (trace: Trace | undefined) => Promise<OpenedStore>,
  joined?: { readonly metrics: JoinMetrics; readonly siblings: Siblings },
): Promise<Program> {
  const rules = createAddressRules(options.clusterNetworks);
  let ownPort = options.listen.port;
  const isOwnListener = (address: string, port: number): boolean =>
    port === ownPort && isThisMachine(address, interfaceAddresses());
  const endpointChecks = { rules, now: Date.now, isOwnListener, holdChanges: options.confirmEndpoints };
  const catalog = createCatalog({
    productName: options.productName,
    endpointChecks,
    inventory: inventoryOf(options),
  });
  const work = new WorkQueue();
  const memory = new MemoryAccount(options.memory);
  const closers: (() => Promise<void> | void)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const close of closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        // The other parts must be closed too, above all the store.
        logger.error({ err: error }, 'a part failed to close');
      }
    }
  };
  try {
    const metrics = createMetrics(joined?.metrics);
    const help = 'Log lines that were dropped, because standard error was not read in time.';
    metrics.counter('clusterpass_log_lines_dropped_total', help, () => output.dropped);
    const trace = options.traceFile === undefined ? undefined : openTrace(options.traceFile);
    const audit = await openAuditLogs(options, logger);
    closers.push(() => audit.close());
    const tracer = await openTracing(options, version, logger);
    closers.push(async () => tracer?.close());
    // Listens first: the port may be chosen by the system, and the issuer of tokens contains it.
    const apiServer = createApiServer({
      ...options,
      ...options.listen,
      tls: options.tls && { certFile: options.tls.certFile, keyFile: options.tls.privateKeyFile },
      limits: { keepAliveTimeoutMs: options.keepAliveTimeoutMs },
      drainDelayMs: options.shutdownDelayMs,
      version,
      catalog,
      audit,
      console: {
        files: await readConsoleFiles(CONSOLE_FOLDER),
        provider: options.consoleProvider,
        helpText: options.consoleHelpText,
        maxRequestSeconds: options.accessRequests.maxDurationSeconds,
      },
      metrics,
      tracer,
      logger,
      work,
      memory,
    });
    closers.push(() => apiServer.server.close());
    // A worker shares its address with others, and listens only when it can serve.
    const isShared = options.workers > 1;
    const { port } = isShared ? options.listen : await apiServer.server.listen();
    ownPort = port;
    const baseUrl = options.baseUrl ?? defaultBaseUrl({ ...options.listen, port }, options.tls ? 'https' : 'http');
    const issuers = createIssuers({ baseUrl, productName: options.productName });

    // With SQLite a failure ends the process. etcd may be started later, so it is waited for.
    const waiting = options.store.engine === 'etcd' ? waitForStore(logger) : <T>(step: () => Promise<T>) => step();
    const onOpen = (close: () => Promise<void> | void): void => void closers.push(close);
    const { siblings } = joined ?? {};
    const base: Base = { options, catalog, issuers, audit, metrics, logger, work, memory, trace, onOpen };
    const state = await openState({ ...base, openStore: () => openStore(trace), waiting, siblings });
    const { store, leadership, clock, objects, signing } = state;
    const { reader, reflector, freshness, policy, broadcaster } = objects;
    const { keyRing } = signing;
    const callers = await openAuthenticator({ ...base, ...state, version });
    closers.push(() => callers.close());
    closers.push(every(CALLER_CHECK_MS, () => broadcaster.checkCallers()));

    const upstream = await openForwardingUpstream(options.credentialsDir, { rules, ownPort: port, logger });
    closers.push(() => upstream?.close());
    const forwarding = openForwarding({
      ...base,
      ...objects,
      upstream,
      listen: (listener) => reflector.listen(listener),
      productName: options.productName,
      tracked: state.tokenRecords.tracked,
      keyRing,
      requireRightClock: () => clock.requireRight(),
      maxExpirationSeconds: options.maxTokenExpirationSeconds,
      maxInFlightPerCluster: seatsPerFlow(options.flowControl.tokenSeats, options.flowControl),
      now: Date.now,
      randomUUID,
      work: work.job('conditions'),
    });
    closers.push(() => forwarding.close());

    const views = createViews(catalog, policy, () => broadcaster.labelsChangedAt);
    const issuesOwnTokens = issuesOwnTokensWith(options.credentialsDir);
    const issuing = { ...base, ...state, forward: forwarding.forward, issuesOwnTokens };
    const issueToken = createTokens(issuing);
    const reviewToken = callers.authenticator.review;
    const dispatch = createDispatch({ ...issuing, views, issueToken, reviewToken });

    const { productName } = options;
    const applying = { ...base, ...objects, leadership, productName, work: work.job('manifests') };
    const manifests = await waiting(() => openManifests(options, { parts: applying, logger }));
    closers.push(() => manifests.stop());
    startBackgroundWork({ ...base, ...state, ownPort: port });
    const keyEnds = () => signingKeyEnds(signing, options.signingKeyRotationMs);
    const ends = { keyEnds, certificateEnd: apiServer.server.certificateExpiry };
    const notifier = await openNotifier({ ...base, ...state, ...ends, version });
    closers.push(() => notifier.stop());

    const leads = () => reader.ready && leadership.leads();
    const recorded = {
      store,
      leadership: { leads },
      tokens: metrics.tokenTotals,
      readiness: async () => (await overview.counts()).clusters,
    };
    const history = startFleetHistory({ ...recorded, every, now: Date.now, logger });
    closers.push(() => history.stop());
    const overview = createFleetOverview({ ...base, reader, work, productName, ...ends, ...history, now: Date.now });

    const problems = {
      failingCallers: callers.failing,
      manifestProblems: manifests.problems,
      notifyProblems: notifier.problems,
    };
    observeParts(metrics, {
      ...problems,
      audit,
      leads: () => leadership.leads(),
      cache: reflector,
      catchUp: (timeoutMs) => freshness.catchUp(timeoutMs),
      objects: () => catalog.storedKinds.map((kind) => ({ ...kind, count: reader.cache(kind).current.size })),
      fleet: overview.counts,
      connectors: () => connectorCounts(reader.cache(catalog.connectors), Date.now()),
      clock,
      keys: () => keyRing.entries(),
      keyRotationMs: options.signingKeyRotationMs,
      now: Date.now,
    });
    apiServer.open({
      ...problems,
      authenticator: callers.authenticator,
      authorizer: policy,
      dispatch,
      issueToken,
      documents: signing.documents,
      issuers,
      store,
      cache: reflector,
      freshness,
      trace,
      overview: overview.read,
      isCluster: (name) => reader.find(catalog.clusters, fleetKey(name)) !== undefined,
      tokenOriginsOf: callers.originsOf,
    });
    closers.push(() => apiServer.server.drain(() => broadcaster.shutDown()));
    await waiting(async () => siblings?.decideFrom(freshness));
    if (isShared) await apiServer.server.listen();
    return { baseUrl, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Imported only when requests are forwarded: its HTTP client takes a twentieth of a start. */
async function openForwardingUpstream(
  credentialsDir: string | undefined,
  parts: { readonly rules: AddressRules; readonly ownPort: number; readonly logger: Logger },
): Promise<Upstream | undefined> {
  if (credentialsDir === undefined) return undefined;
  const { openUpstream } = await import('../clusters/upstream/upstream.ts');
  return openUpstream({ ...parts, credentialsDir, readSecret: readMountedSecret });
}

/** Imported only when tracing is configured. */
async function openTracing(
  { tracingEndpoint: endpoint }: ServeOptions,
  version: string,
  logger: Logger,
): Promise<Tracer | undefined> {
  if (endpoint === undefined) return undefined;
  const { openTracer } = await import('../http/records/tracing/tracer.ts');
  return openTracer({ endpoint, version, logger, now: Date.now });
}
