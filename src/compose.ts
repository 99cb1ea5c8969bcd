import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAddressRules, isThisMachine } from './api/address-rules.ts';
import { createCatalog } from './api/catalog.ts';
import { issuesItself } from './api/confirmed-endpoint.ts';
import type { Kind } from './api/kind.ts';
import { openAdminToken } from './authn/admin-token.ts';
import { type Authenticator, createAuthenticator } from './authn/chain.ts';
import { ensureTokenFile, fixedToken } from './authn/generated-tokens.ts';
import { createIssuedTokens } from './authn/issued-tokens.ts';
import { openProviders } from './authn/providers/open-providers.ts';
import { openStaticTokens } from './authn/static-tokens.ts';
import { installBootstrapRoles } from './authz/install-bootstrap-roles.ts';
import { refuseConfirmation } from './authz/refuse-confirmation.ts';
import { refuseGrant } from './authz/refuse-grant.ts';
import { refusalOf, watchRefusal } from './authz/watch-refusal.ts';
import { openProber } from './clusters/prober/open-prober.ts';
import { openUpstream } from './clusters/upstream/open-upstream.ts';
import { interfaceAddresses } from './clusters/upstream/upstream.ts';
import type { ServeOptions } from './config/serve-options.ts';
import { defaultBaseUrl } from './config/values.ts';
import { createObjects } from './create-objects.ts';
import { DEMO_USERS } from './demo-users.ts';
import { createContinueTokens } from './handlers/continue-token.ts';
import { createDispatcher } from './handlers/dispatch.ts';
import { issuedTokenVerbs } from './handlers/issued-tokens/issued-token-verbs.ts';
import { createIssuerIndex } from './handlers/issuer-index.ts';
import { createKubeconfigHandler } from './handlers/kubeconfig.ts';
import { createReviewHandler } from './handlers/reviews/create-review.ts';
import { signingKeyVerbs } from './handlers/signing-keys/signing-key-verbs.ts';
import { createTokenHandler } from './handlers/token/create-token.ts';
import { openForwarding } from './handlers/token/open-forwarding.ts';
import { createUsableAccountsHandler } from './handlers/usable-accounts.ts';
import { createViews } from './handlers/views.ts';
import { readConsoleFiles } from './http/console-files.ts';
import { createFetchDocument } from './http/fetch-document.ts';
import { createFront } from './http/front.ts';
import type { Tracer } from './http/tracing/tracer.ts';
import { ManifestFolder, type ManifestFolderOptions } from './manifests/manifest-folder.ts';
import { startCacheChecks } from './objects/cache-checks.ts';
import { countEvents } from './objects/count-events.ts';
import { createLiveLookup } from './objects/live-objects.ts';
import { openAudit } from './observability/audit/open-audit.ts';
import type { Logger } from './observability/logger.ts';
import { createMetrics, type JoinMetrics } from './observability/metrics/metrics.ts';
import { observeParts, observeStore } from './observability/metrics/observe-parts.ts';
import type { OpenedStore } from './open-store.ts';
import { startCompactor } from './storage/compactor.ts';
import { leadsWhile } from './storage/leadership.ts';
import { measuredStore } from './storage/measured-store.ts';
import { createIssuers, type Issuers } from './tokens/claims.ts';
import { openClockGuard } from './tokens/clock/open-clock-guard.ts';
import { openSigning } from './tokens/open-signing.ts';
import { readMountedSecret } from './tokens/secret-file.ts';
import { openTokenRecords } from './tokens/token-records.ts';
import { createVerifier } from './tokens/verifier.ts';

/** A running program. */
export interface Program {
  readonly baseUrl: string;
  /** Stops accepting, finishes what is under way, closes the store. */
  stop(): Promise<void>;
}

const DEMO_FOLDER = fileURLToPath(new URL('../demo', import.meta.url));
/** In a published package the files beside this one are JavaScript. */
const PROBER_THREAD = new URL(`./prober-thread${extname(import.meta.url)}`, import.meta.url);
const CONSOLE_FOLDER = fileURLToPath(new URL('../console/dist', import.meta.url));
/** The word that the files of the demo are written with, whatever word is served. */
const DEMO_PRODUCT_NAME = 'orchestrator';
const MANIFEST_POLL_MS = 1_000;
const BOOKMARK_INTERVAL_MS = 60_000;
const CALLER_CHECK_MS = 5_000;
/** Between two pages of a comparison of the caches with the store. */
const CHECK_PAUSE_MS = 10;

/** Constructs every long-lived part and connects them. Nothing else does. */
export async function compose(
  options: ServeOptions,
  version: string,
  logger: Logger,
  openStore: () => Promise<OpenedStore>,
  joinMetrics?: JoinMetrics,
): Promise<Program> {
  const rules = createAddressRules(options.allowedNetworks);
  let ownPort = options.listen.port;
  const isOwnListener = (address: string, port: number): boolean =>
    port === ownPort && isThisMachine(address, interfaceAddresses());
  const endpointChecks = { rules, now: Date.now, isOwnListener };
  const catalog = createCatalog({ productName: options.productName, endpointChecks });
  const closers: (() => Promise<void> | void)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const close of closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        // The others must be closed all the same, above all the store.
        logger.error({ err: error }, 'a part did not stop as it should');
      }
    }
  };
  try {
    const metrics = createMetrics(joinMetrics);
    const audit = await openAudit(options.audit, logger);
    closers.push(() => audit.close());
    const tracer = await openTracing(options, version, logger);
    closers.push(async () => tracer?.close());
    // The address is taken first: it is part of what tokens say, and may be chosen by the system.
    const front = createFront({
      host: options.listen.host,
      port: options.listen.port,
      ...(options.tls === undefined
        ? {}
        : { tls: { certFile: options.tls.certFile, keyFile: options.tls.privateKeyFile } }),
      maxConnections: options.maxConnections,
      maxConnectionsPerAddress: options.maxConnectionsPerAddress,
      limits: { keepAliveTimeoutMs: options.keepAliveTimeoutMs },
      load: options.load,
      drainDelayMs: options.shutdownDelayMs,
      productName: options.productName,
      version,
      catalog,
      audit,
      console: { files: await readConsoleFiles(CONSOLE_FOLDER), provider: options.consoleProvider },
      metrics,
      tracer,
      logger,
    });
    closers.push(() => front.server.close());
    // Not so where others serve the same one: a worker that took it now would have to turn callers away.
    const isShared = options.workers > 1;
    const { port } = isShared ? options.listen : await front.server.listen();
    ownPort = port;
    const baseUrl = options.baseUrl ?? defaultBaseUrl({ ...options.listen, port }, options.tls ? 'https' : 'http');
    const issuers = createIssuers({ baseUrl, productName: options.productName });

    await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
    const { store: engine, time, campaign } = await openStore();
    const store = measuredStore(engine, observeStore(metrics));
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
      steady: () => performance.now(),
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
    const { reader, writer, cascade, feed, policy, hub } = objects;
    feed.listen(countEvents(({ group, resource }) => metrics.cacheEvents.inc({ group, resource })));
    await feed.start();
    closers.push(() => feed.stop());
    const { caches } = objects;
    const count = ({ group, resource }: Kind, status: string) => metrics.cacheChecks.inc({ group, resource, status });
    const pause = async () => delay(CHECK_PAUSE_MS, undefined, { ref: false });
    closers.push(startCacheChecks({ store, feed, caches, count, pause, every, logger }));
    await cascade.resume();
    await installBootstrapRoles(catalog, reader, writer);

    const signing = await openSigning({
      store,
      issuers,
      objects: { kind: catalog.signingKeys, reader, writer },
      dataDir: options.dataDir,
      algorithm: options.signingAlgorithm,
      rotationMs: options.signingKeyRotationMs,
      maxLifetimeSeconds: options.maxTokenExpirationSeconds,
      encryptionKeyFile: options.encryptionKeyFile,
      externalSigner: options.externalSigner,
      leadership: timely,
      logger,
    });
    closers.push(signing.close);
    const { keyRing } = signing;
    // Whoever came with a token of a revoked key has to go at once.
    keyRing.onChange(() => hub.checkCallers());
    const live = { lookup: createLiveLookup(catalog, reader) };
    const { maxTokenExpirationSeconds: maxExpirationSeconds, maxTrackedTokensPerCaller: maxTrackedPerCaller } = options;
    const limits = { maxExpirationSeconds, maxTrackedPerCaller };
    const records = await openTokenRecords({
      catalog,
      reader,
      writer,
      store,
      ...limits,
      leadership: timely,
      now: Date.now,
      logger,
    });
    closers.push(records.close);
    const verifier = createVerifier({
      keyRing,
      clusterOfIssuer: issuers.clusterOfIssuer,
      live,
      isRevoked: records.revocations.isRevoked,
      now: Date.now,
    });
    const callers = await openCallers({
      options,
      version,
      issuedTokens: createIssuedTokens({ verifier }),
      issuers,
      logger,
    });
    closers.push(callers.close);
    const checks = setInterval(() => hub.checkCallers(), CALLER_CHECK_MS);
    closers.push(() => clearInterval(checks));

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
            listen: (listener) => feed.listen(listener),
            productName: options.productName,
            maxExpirationSeconds: options.maxTokenExpirationSeconds,
            now: Date.now,
            logger,
          });
    closers.push(() => forwarding?.close());

    const views = createViews(catalog, policy);
    const dispatch = createDispatcher({
      catalog,
      reader,
      writer,
      cascade,
      views,
      hub,
      publicView: objects.publicView,
      continueTokens: createContinueTokens({ key: signing.sealKey }),
      refusal: (request, kind) => (views.isFiltered(kind) ? undefined : watchRefusal(policy, request)),
      escalation: (caller, kind, object, old) =>
        refuseGrant(policy, caller, kind, object, old) ?? refuseConfirmation(policy, caller, kind, object, old),
      now: Date.now,
      random: Math.random,
      createToken: createTokenHandler({
        catalog,
        reader,
        signer: signing.signer,
        requireRightClock: () => clock.guard.requireRight(),
        tracked: records.tracked,
        issuerOf: issuers.issuerFor,
        forward: forwarding?.forward,
        maxExpirationSeconds: options.maxTokenExpirationSeconds,
        now: Date.now,
        randomUuid: randomUUID,
      }),
      createReview: createReviewHandler({
        authorizer: policy,
        catalog,
        reader,
        reviewToken: callers.authenticator.review,
        now: Date.now,
      }),
      getKubeconfig: createKubeconfigHandler({ catalog, reader, productName: options.productName, baseUrl }),
      ownVerbs: new Map([
        ...signingKeyVerbs({ kind: catalog.signingKeys, reader, keyRing, board: signing.board }),
        ...issuedTokenVerbs({
          kind: catalog.issuedTokens,
          reader,
          writer,
          views,
          revocations: records.revocations,
          refusalOf: (request) => refusalOf(policy, request),
        }),
      ]),
      getUsableAccounts: createUsableAccountsHandler({ catalog, reader, authorizer: policy }),
    });

    for (const folderOptions of manifestFolders(options)) {
      const folder = new ManifestFolder({
        ...folderOptions,
        parts: { catalog, reader, writer, cascade },
        logger,
        pollMs: MANIFEST_POLL_MS,
      });
      await folder.start();
      closers.push(() => folder.stop());
    }
    const { retentionMs, revisions } = options.history;
    const compactor = startCompactor({ store, leadership, retainMs: retentionMs, retainRevisions: revisions, logger });
    closers.push(() => compactor.stop());
    const prober = openProber({
      intervalMs: options.probeIntervalMs,
      productName: options.productName,
      catalog,
      reader,
      writer,
      feed,
      connections: { wanted: options.probeConnections, clients: options.maxConnections },
      thread: {
        entry: PROBER_THREAD,
        settings: {
          allowedNetworks: options.allowedNetworks.map(({ cidr }) => cidr),
          credentialsDir: options.credentialsDir,
          ownPort: port,
        },
      },
      leadership,
      logger,
    });
    closers.push(() => prober.stop());

    observeParts(metrics, {
      audit: () => audit.counts,
      leads,
      cache: feed,
      cacheCapacity: options.history.revisions,
      objects: () => catalog.storedKinds.map((kind) => ({ ...kind, count: reader.cache(kind).current.size })),
      clockSkew: () => clock.guard.skewSeconds,
      keys: () => keyRing.entries(),
      now: Date.now,
    });
    front.open({
      authenticator: callers.authenticator,
      authorizer: policy,
      dispatch,
      documents: signing.documents,
      issuerIndex: createIssuerIndex({
        catalog,
        reader,
        views,
        issuerOf: issuers.issuerFor,
        issuesItself: options.credentialsDir === undefined ? undefined : issuesItself,
      }),
      store,
      cache: feed,
      isCluster: (name) => reader.find(catalog.clusters, { cluster: '', namespace: '', name }) !== undefined,
      tokenOriginsOf: callers.originsOf,
    });
    closers.push(() => front.server.drain(() => hub.shutDown()));
    if (isShared) await front.server.listen();
    return { baseUrl, stop: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function openCallers(parts: {
  options: ServeOptions;
  version: string;
  issuedTokens: ReturnType<typeof createIssuedTokens>;
  issuers: Issuers;
  logger: Logger;
}): Promise<{ authenticator: Authenticator; originsOf: (issuer: string) => readonly string[]; close: () => void }> {
  const { options, version, issuedTokens, issuers, logger } = parts;
  const fixedTokens = options.demo
    ? await Promise.all(
        DEMO_USERS.map(async (user) =>
          fixedToken(await ensureTokenFile(join(options.dataDir, 'demo', `${user.name}.token`)), user),
        ),
      )
    : [];
  const adminToken = await openAdminToken(options.dataDir);
  const { tokenAuthFile, authenticationConfig } = options;
  // These two last, because they start timers: had anything after them failed, nobody would stop those.
  const staticTokens =
    tokenAuthFile === undefined
      ? undefined
      : await openStaticTokens({
          file: tokenAuthFile,
          every,
          report: (problem) => logger.warn({ problem }, 'the token file'),
        });
  const providers =
    authenticationConfig === undefined
      ? undefined
      : await openProviders({
          file: authenticationConfig,
          isOurs: (url) => url.startsWith(issuers.issuerFor('')),
          createFetch: (certificateAuthority) =>
            createFetchDocument({ certificateAuthority, userAgent: `clusterpass/${version}` }),
          now: Date.now,
          every,
          report: (problem) => logger.warn({ problem }, 'an identity provider'),
        }).catch((error: unknown) => {
          staticTokens?.close();
          throw error;
        });
  return {
    authenticator: createAuthenticator({
      staticTokens,
      adminToken,
      fixedTokens,
      issuedTokens,
      providers,
      audienceOf: issuers.issuerFor,
    }),
    originsOf: (issuer) => providers?.originsOf(issuer) ?? [],
    close: () => {
      staticTokens?.close();
      providers?.close();
    },
  };
}

/** Loaded only when it is asked for. */
async function openTracing({ tracing }: ServeOptions, version: string, logger: Logger): Promise<Tracer | undefined> {
  if (tracing === undefined) return undefined;
  const { openTracer } = await import('./http/tracing/tracer.ts');
  return openTracer({ ...tracing, version, logger, now: Date.now, random: Math.random });
}

function every(milliseconds: number, task: () => void): () => void {
  const timer = setInterval(task, milliseconds);
  return () => clearInterval(timer);
}

function manifestFolders({
  demo,
  manifests,
}: ServeOptions): Pick<ManifestFolderOptions, 'source' | 'path' | 'writtenFor'>[] {
  const writtenFor = createCatalog({ productName: DEMO_PRODUCT_NAME });
  return [
    ...(demo ? [{ source: 'demo', path: DEMO_FOLDER, writtenFor }] : []),
    ...(manifests === undefined ? [] : [{ source: 'manifests', path: manifests }]),
  ];
}
