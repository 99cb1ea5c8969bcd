import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createAddressRules, isThisMachine } from '../api/address-rules.ts';
import { createCatalog } from '../api/catalog.ts';
import { issuesItself } from '../api/confirmed-endpoint.ts';
import { seatsPerFlow } from '../api/flow-control-limits.ts';
import { fleetKey } from '../api/object-key.ts';
import { installBootstrapRoles } from '../authz/install-bootstrap-roles.ts';
import { reportUnusableBindings } from '../authz/unusable-bindings.ts';
import { interfaceAddresses, openUpstream } from '../clusters/upstream/upstream.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { defaultBaseUrl } from '../config/values.ts';
import { GrantStore } from '../handlers/access-requests/grant-objects.ts';
import { createIssuerIndex } from '../handlers/issuer-index.ts';
import { issuesOwnTokens } from '../handlers/token/forward-token.ts';
import { openForwarding } from '../handlers/token/open-forwarding.ts';
import { createViews } from '../handlers/views.ts';
import { createApiServer } from '../http/api-server.ts';
import type { Tracer } from '../http/records/tracing/tracer.ts';
import { readConsoleFiles } from '../http/routes/console-files.ts';
import { every } from '../lib/interval.ts';
import { programFile } from '../lib/program-files.ts';
import { readMountedSecret } from '../lib/secret-file.ts';
import { createLiveLookup } from '../objects/reader.ts';
import { recordingWriter } from '../objects/recording-writer.ts';
import { openAuditLogs } from '../observability/audit/open-audit.ts';
import { serverEvent } from '../observability/audit/server-event.ts';
import type { Logger, ServerLog } from '../observability/logger.ts';
import { createMetrics, type JoinMetrics } from '../observability/metrics/metrics.ts';
import { observeLog, observeParts, observeStore } from '../observability/metrics/observe-parts.ts';
import { leadsWhile } from '../storage/leadership.ts';
import { measuredStore } from '../storage/measured-store.ts';
import { createIssuers } from '../tokens/claims.ts';
import { openClockGuard } from '../tokens/clock/open-clock-guard.ts';
import { openSigning } from '../tokens/open-signing.ts';
import { openTokenRecords } from '../tokens/revocations/token-records.ts';
import { createPeopleVerifier, createVerifier } from '../tokens/verifier.ts';
import { createDispatch } from './create-dispatch.ts';
import { createObjects } from './create-objects.ts';
import { inventoryOf } from './inventory.ts';
import { openAuthenticator } from './open-authenticator.ts';
import { openManifests } from './open-manifests.ts';
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
const BOOKMARK_INTERVAL_MS = 60_000;
const CALLER_CHECK_MS = 5_000;

/** Constructs and connects every long-lived part. No other code does. */
export async function compose(
  options: ServeOptions,
  version: string,
  { logger, output }: ServerLog,
  openStore: () => Promise<OpenedStore>,
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
    observeLog(metrics, () => output.dropped);
    const audit = await openAuditLogs(options, logger);
    closers.push(() => audit.close());
    const tracer = await openTracing(options, version, logger);
    closers.push(async () => tracer?.close());
    // Listens first: the port may be chosen by the system, and the issuer of tokens contains it.
    const apiServer = createApiServer({
      host: options.listen.host,
      port: options.listen.port,
      ...(options.tls === undefined
        ? {}
        : { tls: { certFile: options.tls.certFile, keyFile: options.tls.privateKeyFile } }),
      strictTransportSecurity: options.strictTransportSecurity,
      maxConnections: options.maxConnections,
      maxConnectionsPerAddress: options.maxConnectionsPerAddress,
      handshakesPerAddress: options.handshakesPerAddress,
      limits: { keepAliveTimeoutMs: options.keepAliveTimeoutMs },
      flowControl: options.flowControl,
      drainDelayMs: options.shutdownDelayMs,
      productName: options.productName,
      version,
      catalog,
      audit,
      console: { files: await readConsoleFiles(CONSOLE_FOLDER), provider: options.consoleProvider },
      mcp: options.mcp,
      metrics,
      tracer,
      logger,
    });
    closers.push(() => apiServer.server.close());
    // A worker shares its address with others, and listens only when it can serve.
    const isShared = options.workers > 1;
    const { port } = isShared ? options.listen : await apiServer.server.listen();
    ownPort = port;
    const baseUrl = options.baseUrl ?? defaultBaseUrl({ ...options.listen, port }, options.tls ? 'https' : 'http');
    const issuers = createIssuers({ baseUrl, productName: options.productName });

    await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
    // With SQLite a failure ends the process. etcd may be started later, so it is waited for.
    const waiting = options.store.engine === 'etcd' ? waitForStore(logger) : <T>(step: () => Promise<T>) => step();
    const { store: engine, time, campaign } = await waiting(openStore);
    const measured = measuredStore(engine, observeStore(metrics));
    const store = joined?.siblings.awaitedBy(measured) ?? measured;
    closers.push(() => store.close());
    const leadership = campaign();
    closers.push(() => leadership.close());
    const leads = () => leadership.leads();
    const clock = await openClockGuard({
      store,
      time,
      leadership,
      limitMs: options.maxClockSkewMs,
      now: Date.now,
      monotonicNow: () => performance.now(),
      every,
      logger,
    });
    closers.push(() => clock.close());
    const timely = leadsWhile(leadership, () => clock.guard.isRight());
    const objects = createObjects({
      catalog,
      store,
      productName: options.productName,
      issuerOf: issuers.issuerFor,
      maxExpirationSeconds: options.maxTokenExpirationSeconds,
      issuesItself: (object) => options.credentialsDir !== undefined && issuesItself(object),
      historyRevisions: options.history.revisions,
      bookmarkIntervalMs: BOOKMARK_INTERVAL_MS,
      delay: async (ms) => delay(ms, undefined, { ref: false }),
      onError: (error) => logger.error({ err: error }, 'the watch of the store was interrupted'),
    });
    const { reader, writer, propagation, reflector, freshness, policy, broadcaster } = objects;
    reflector.listen({
      onEvent: ({ before, after }) => {
        const kind = (after ?? before)?.kind;
        if (kind !== undefined) metrics.countCacheEvent(kind);
      },
      onProgress: () => {},
      onReset: () => {},
    });
    reflector.listen(reportUnusableBindings(catalog, reader, logger));
    await waiting(() => reflector.start());
    closers.push(() => reflector.stop());
    await waiting(() => propagation.resume());
    // Changes of RBAC objects and keys that no request asked for.
    const recording = (part: string) =>
      recordingWriter(writer, part, (change) => {
        const code = change.verb === 'create' ? 201 : 200;
        audit.security.write(serverEvent(change, options.productName, Date.now).complete({ code }));
      });
    await waiting(() => installBootstrapRoles(catalog, reader, recording('bootstrap-roles')));

    const grants = new GrantStore({ catalog, reader, writer: recording('access-requests') });

    const signing = await waiting(() =>
      openSigning({
        store,
        issuers,
        peoplePrefix: options.peoplePrefix,
        objects: { kind: catalog.signingKeys, reader, writer: recording('signing-keys') },
        dataDir: options.dataDir,
        algorithm: options.signingAlgorithm,
        algorithmFor: options.signingAlgorithmFor,
        rotationMs: options.signingKeyRotationMs,
        maxLifetimeSeconds: options.maxTokenExpirationSeconds,
        encryptionKeyFile: options.encryptionKeyFile,
        externalSigner: options.externalSigner,
        leadership: timely,
        removalTime: () => clock.guard.removalTime(),
        logger,
      }),
    );
    closers.push(signing.close);
    const { keyRing } = signing;
    freshness.include(keyRing.position);
    closers.push(freshness.start());
    // Watches that were opened with a token of a revoked key end at once.
    keyRing.onChange(() => broadcaster.checkCallers());
    const live = { lookup: createLiveLookup(catalog, reader) };
    const { maxTokenExpirationSeconds: maxExpirationSeconds, maxTrackedTokensPerCaller: maxTrackedPerCaller } = options;
    const limits = { maxExpirationSeconds, maxTrackedPerCaller };
    const records = await waiting(() =>
      openTokenRecords({
        catalog,
        reader,
        writer,
        store,
        ...limits,
        leadership: timely,
        now: () => clock.guard.latest(),
        removalTime: () => clock.guard.removalTime(),
        logger,
      }),
    );
    closers.push(records.close);
    const verifying = { keyRing, live, isRevoked: records.revocations.isRevoked, now: Date.now };
    const callers = await openAuthenticator({
      options,
      version,
      verifier: createVerifier({ ...verifying, clusterOfIssuer: issuers.clusterOfIssuer }),
      peopleVerifier: createPeopleVerifier({ ...verifying, clusterOfIssuer: issuers.clusterOfPeopleIssuer }),
      issuers,
      bootstrapTokens: {
        find: (name) => reader.find(catalog.bootstrapTokens, fleetKey(name))?.object(),
        now: () => clock.guard.latest(),
      },
      logger,
    });
    closers.push(() => callers.close());
    closers.push(every(CALLER_CHECK_MS, () => broadcaster.checkCallers()));

    const upstream = openUpstream({
      rules,
      credentialsDir: options.credentialsDir,
      readSecret: readMountedSecret,
      ownPort: port,
      logger,
    });
    closers.push(() => upstream.close());
    const forwarding =
      options.credentialsDir === undefined
        ? undefined
        : openForwarding({
            catalog,
            reader,
            writer,
            upstream,
            listen: (listener) => reflector.listen(listener),
            productName: options.productName,
            maxExpirationSeconds: options.maxTokenExpirationSeconds,
            maxInFlightPerCluster: seatsPerFlow(options.flowControl.tokenSeats, options.flowControl),
            now: Date.now,
            logger,
          });
    closers.push(() => forwarding?.close());

    const views = createViews(catalog, policy, () => broadcaster.labelsChangedAt);
    const dispatch = createDispatch({
      options,
      baseUrl,
      catalog,
      issuers,
      objects,
      views,
      signing,
      records,
      grants,
      clock: clock.guard,
      forward: forwarding?.forward,
      reviewToken: callers.authenticator.review,
      recentEvents: audit.recent,
    });

    const applyParts = { catalog, reader, writer, propagation, leadership, audit, productName: options.productName };
    const countConflicts = (count: number) => metrics.manifestConflicts.inc(count);
    const manifests = await waiting(() => openManifests(options, { parts: applyParts, countConflicts, logger }));
    closers.push(() => manifests.stop());
    startBackgroundWork({
      options,
      catalog,
      store,
      objects,
      grants,
      revocations: records.revocations,
      issuers,
      keyRing,
      leadership,
      timely,
      clock: clock.guard,
      recording,
      ownPort: port,
      metrics,
      logger,
      onStart: (stop) => closers.push(stop),
    });

    observeParts(metrics, {
      audit: () => audit.counts,
      leads,
      cache: {
        get ready() {
          return reflector.ready;
        },
        get revision() {
          return reflector.revision;
        },
        catchUp: (timeoutMs) => freshness.catchUp(timeoutMs),
      },
      cacheCapacity: options.history.revisions,
      objects: () => catalog.storedKinds.map((kind) => ({ ...kind, count: reader.cache(kind).current.size })),
      clockSkew: () => clock.guard.skewSeconds,
      keys: () => keyRing.entries(),
      failingCallers: callers.failing,
      now: Date.now,
    });
    apiServer.open({
      authenticator: callers.authenticator,
      authorizer: policy,
      dispatch,
      documents: signing.documents,
      issuers,
      issuerIndex: createIssuerIndex({
        catalog,
        reader,
        views,
        issuerOf: issuers.issuerFor,
        issuesOwnTokens: options.credentialsDir === undefined ? () => false : issuesOwnTokens,
      }),
      store,
      cache: reflector,
      freshness,
      goneFiles: callers.isGone,
      isCluster: (name) => reader.find(catalog.clusters, fleetKey(name)) !== undefined,
      tokenOriginsOf: callers.originsOf,
    });
    closers.push(() => apiServer.server.drain(() => broadcaster.shutDown()));
    await waiting(async () => joined?.siblings.decideFrom(freshness));
    if (isShared) await apiServer.server.listen();
    return { baseUrl, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Imported only when tracing is configured. */
async function openTracing({ tracing }: ServeOptions, version: string, logger: Logger): Promise<Tracer | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracer } = await import('../http/records/tracing/tracer.ts');
  return openTracer({ ...tracing, version, logger, now: Date.now, random: Math.random });
}
