import { join, parse } from 'node:path';
import type { FlowControlLimits } from '../api/flow-control-limits.ts';
import type { SignerAddress } from '../api/signer-address.ts';
import type { Network } from '../lib/network.ts';
import type { OptionValues } from './options.ts';
import { resolveStore, type StoreOptions } from './store-options.ts';
import { defaultBaseUrl, type InventoryNamespace, isLoopback, isWildcard, type ListenAddress } from './values.ts';

interface AuditFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** 0: for ever. */
  readonly maxAgeMs: number;
  /** 0: all. */
  readonly maxBackups: number;
}

/** The options of `clusterpass serve`, each validated alone and against the others. Paths are absolute. */
export interface ServeOptions {
  readonly listen: ListenAddress;
  /** Undefined only when `--listen` has port 0: then `defaultBaseUrl()` of the bound port. */
  readonly baseUrl: string | undefined;
  readonly dataDir: string;
  readonly store: StoreOptions;
  readonly history: { readonly retentionMs: number; readonly revisions: number };
  readonly tls: { readonly certFile: string; readonly privateKeyFile: string } | undefined;
  /** The value of `Strict-Transport-Security`; undefined without TLS, or for none. */
  readonly strictTransportSecurity: string | undefined;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly handshakesPerAddress: number;
  readonly keepAliveTimeoutMs: number;
  readonly flowControl: FlowControlLimits;
  /** 0: none. */
  readonly shutdownDelayMs: number;
  readonly tokenAuthFile: string | undefined;
  readonly authenticationConfig: string | undefined;
  /** The identity provider of the console. */
  readonly consoleProvider: { readonly issuer: string; readonly clientId: string } | undefined;
  /** Undefined: MCP is not served. */
  readonly mcp:
    | {
        readonly authorizationServers: readonly string[];
        readonly allowedOrigins: readonly string[];
        readonly callsPerMinute: number;
        readonly passRequestsPerMinute: number;
        readonly maxResultBytes: number;
        readonly callTimeoutMs: number;
      }
    | undefined;
  readonly manifests: string | undefined;
  /** Undefined: nothing is deleted. */
  readonly manifestsPrune: { readonly maxPercent: number } | undefined;
  readonly credentialsDir: string | undefined;
  /** The networks that clusters are in; empty: every network but special ones. */
  readonly clusterNetworks: readonly Network[];
  /** Changes of a cluster's endpoints wait until they are confirmed. */
  readonly confirmEndpoints: boolean;
  readonly maxTokenExpirationSeconds: number;
  readonly maxTrackedTokensPerCaller: number;
  readonly trackAllTokens: boolean;
  readonly actorClaim: OptionValues['actorClaim'];
  readonly accessRequests: {
    readonly maxDurationSeconds: number;
    readonly maxOpenPerCaller: number;
    readonly retentionMs: number;
  };
  /** Of passes that are requested as handles. */
  readonly passes: { readonly maxHandles: number; readonly maxPending: number; readonly maxDurationSeconds: number };
  readonly peoplePrefix: string;
  readonly signingAlgorithm: OptionValues['signingAlgorithm'];
  readonly signingAlgorithmFor: ReadonlyMap<string, OptionValues['signingAlgorithm']>;
  /** 0: never. */
  readonly signingKeyRotationMs: number;
  readonly encryptionKeyFile: string | undefined;
  readonly externalSigner: SignerAddress | undefined;
  /** 0: the clock is not checked. */
  readonly maxClockSkewMs: number;
  /** 0: clusters are not probed. */
  readonly probeIntervalMs: number;
  /** Connections that stay open between two probes. */
  readonly probeConnections: number;
  /** What ClusterProfiles show. */
  readonly inventory: {
    readonly namespaces: readonly InventoryNamespace[];
    readonly manager: string;
    readonly provider: string;
    readonly properties: readonly string[];
  };
  readonly productName: string;
  readonly workers: number;
  readonly audit: AuditFileOptions;
  /** Of issued tokens, revocations, RBAC objects and signing keys. */
  readonly securityAudit: AuditFileOptions;
  readonly tracing: { readonly endpoint: string; readonly perMillion: number } | undefined;
  readonly logLevel: OptionValues['logLevel'];
  readonly demo: boolean;
  /** Delete the objects of the demo. */
  readonly demoPrune: boolean;
}

/** Validates options against each other and derives defaults from other options. */
export function resolveOptions(values: OptionValues): {
  options: ServeOptions;
  problems: string[];
  warnings: string[];
} {
  const { listen, tlsCertFile: certFile, tlsPrivateKeyFile: privateKeyFile } = values;
  const tls = certFile !== undefined && privateKeyFile !== undefined ? { certFile, privateKeyFile } : undefined;
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId } = values;
  const { mcpAuthorizationServer = [], mcpAllowedOrigin = [] } = values;
  const auditPath = values.auditLogPath ?? join(values.dataDir, 'audit', 'audit.log');
  const store = resolveStore(values);
  const derived = listen.port === 0 ? undefined : defaultBaseUrl(listen, tls === undefined ? 'http' : 'https');
  const options: ServeOptions = {
    listen,
    baseUrl: values.baseUrl ?? derived,
    dataDir: values.dataDir,
    store: store.store,
    history: { retentionMs: values.historyRetention, revisions: values.historyRevisions },
    tls,
    strictTransportSecurity: tls && (values.strictTransportSecurityDirectives || undefined),
    maxConnections: values.maxConnections,
    maxConnectionsPerAddress: values.maxConnectionsPerAddress,
    handshakesPerAddress: values.tlsHandshakesPerAddress,
    keepAliveTimeoutMs: values.keepAliveTimeout,
    flowControl: {
      tokenSeats: values.maxTokenRequestsInflight,
      readSeats: values.maxRequestsInflight,
      writeSeats: values.maxMutatingRequestsInflight,
      seatPercentPerFlow: values.callerConcurrencyPercent,
      queueLengthPerFlow: values.queueLengthPerCaller,
      watchSeats: values.maxWatches,
      watchSeatsPerFlow: values.maxWatchesPerCaller,
    },
    shutdownDelayMs: values.shutdownDelay,
    tokenAuthFile: values.tokenAuthFile,
    authenticationConfig: values.authenticationConfig,
    consoleProvider: issuer === undefined || clientId === undefined ? undefined : { issuer, clientId },
    mcp: values.mcp
      ? {
          authorizationServers: mcpAuthorizationServer,
          allowedOrigins: mcpAllowedOrigin,
          callsPerMinute: values.mcpCallsPerMinute,
          passRequestsPerMinute: values.mcpPassRequestsPerMinute,
          maxResultBytes: values.mcpMaxResultBytes,
          callTimeoutMs: values.mcpCallTimeout,
        }
      : undefined,
    manifests: values.manifests,
    manifestsPrune: values.manifestsPrune ? { maxPercent: values.manifestsPruneLimit } : undefined,
    credentialsDir: values.credentialsDir,
    clusterNetworks: values.clusterNetworks ?? [],
    confirmEndpoints: values.confirmEndpoints,
    // Lifetimes are whole seconds; rounding down never exceeds the limit.
    maxTokenExpirationSeconds: Math.floor(values.serviceAccountMaxTokenExpiration / 1000),
    maxTrackedTokensPerCaller: values.maxTrackedTokensPerCaller,
    trackAllTokens: values.trackAllTokens,
    actorClaim: values.actorClaim,
    accessRequests: {
      maxDurationSeconds: Math.floor(values.maxAccessRequestDuration / 1000),
      maxOpenPerCaller: values.maxAccessRequestsPerCaller,
      retentionMs: values.accessRequestRetention,
    },
    passes: {
      maxHandles: values.passMaxHandles,
      maxPending: values.passMaxPending,
      maxDurationSeconds: Math.floor(values.passMaxDuration / 1000),
    },
    peoplePrefix: values.peoplePrefix,
    signingAlgorithm: values.signingAlgorithm,
    signingAlgorithmFor: values.signingAlgorithmFor ?? new Map(),
    signingKeyRotationMs: values.signingKeyRotation,
    encryptionKeyFile: values.encryptionKeyFile,
    externalSigner: values.externalSigner,
    maxClockSkewMs: values.maxClockSkew,
    probeIntervalMs: values.probeInterval,
    probeConnections: values.probeKeepaliveConnections,
    inventory: {
      namespaces: values.inventoryNamespace,
      manager: values.inventoryManager,
      provider: values.inventoryProvider,
      properties: values.inventoryProperty ?? [],
    },
    productName: values.productName,
    workers: values.workers,
    audit: {
      path: auditPath,
      maxBytes: values.auditLogMaxsize * MEGABYTE,
      maxAgeMs: values.auditLogMaxage * DAY_MS,
      maxBackups: values.auditLogMaxbackup,
    },
    securityAudit: {
      path: values.auditSecurityLogPath ?? besideAuditLog(auditPath),
      maxBytes: values.auditSecurityLogMaxsize * MEGABYTE,
      maxAgeMs: values.auditSecurityLogMaxage * DAY_MS,
      maxBackups: values.auditSecurityLogMaxbackup,
    },
    tracing:
      values.tracingEndpoint === undefined
        ? undefined
        : { endpoint: values.tracingEndpoint, perMillion: values.tracingSamplingRatePerMillion },
    logLevel: values.logLevel,
    demo: values.demo,
    demoPrune: values.demoPrune,
  };
  const problems = [
    ...listenProblems(values),
    ...consoleProblems(values),
    ...mcpProblems(values),
    ...manifestsProblems(values),
    ...store.problems,
  ];
  return { options, problems, warnings: baseUrlWarnings(options) };
}

function listenProblems(values: OptionValues): string[] {
  const { listen, tlsCertFile: certFile, tlsPrivateKeyFile: privateKeyFile } = values;
  const hasTls = certFile !== undefined && privateKeyFile !== undefined;
  const problems: string[] = [];
  if (!hasTls && (certFile ?? privateKeyFile) !== undefined) {
    const [one, other] = certFile === undefined ? ['private-key', 'cert'] : ['cert', 'private-key'];
    problems.push(`--tls-${one}-file is set and --tls-${other}-file is not: TLS needs both`);
  } else if (!hasTls && !values.insecureHttp && !isLoopback(listen.host)) {
    problems.push(
      `--listen ${listen.host}: plain HTTP is served on loopback only, because tokens would cross the network in the clear; ` +
        'set --tls-cert-file and --tls-private-key-file, or --insecure-http behind a proxy that terminates TLS',
    );
  }
  if (hasTls && values.insecureHttp) {
    problems.push('--insecure-http is set together with --tls-cert-file: choose one');
  }
  if (values.baseUrl === undefined && isWildcard(listen.host)) {
    problems.push(`--listen ${listen.host} names no address that callers could use: set --base-url`);
  }
  return problems;
}

/** A warning: without TLS, an installation for trials may have any address. */
function baseUrlWarnings({ baseUrl, tls }: Pick<ServeOptions, 'baseUrl' | 'tls'>): string[] {
  const { protocol, hostname } = new URL(baseUrl ?? 'https://localhost');
  if (protocol === 'https:') return [];
  if (tls !== undefined) {
    return [`--base-url ${baseUrl}: the server serves TLS, so expected ${baseUrl?.replace('http:', 'https:')}`];
  }
  if (isLoopback(hostname.replace(/^\[|\]$/g, ''))) return [];
  return [
    `--base-url ${baseUrl}: tokens would cross the network in the clear, and clusters accept no issuer of plain HTTP; ` +
      'expected https',
  ];
}

function consoleProblems(values: OptionValues): string[] {
  const problems: string[] = [];
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId } = values;
  if ((issuer === undefined) !== (clientId === undefined)) {
    const [one, other] = issuer === undefined ? ['client-id', 'issuer'] : ['issuer', 'client-id'];
    problems.push(`--console-oidc-${one} is set and --console-oidc-${other} is not: signing in needs both`);
  } else if (issuer !== undefined && values.authenticationConfig === undefined) {
    problems.push(
      '--console-oidc-issuer is set and --authentication-config is not: no person could sign in to the console',
    );
  }
  return problems;
}

function mcpProblems(values: OptionValues): string[] {
  const problems: string[] = [];
  const { mcpAuthorizationServer = [], mcpAllowedOrigin = [] } = values;
  if (values.mcp && mcpAuthorizationServer.length === 0) {
    problems.push('--mcp is set and --mcp-authorization-server is not: clients could not find out where to sign in');
  }
  if (values.mcp && values.authenticationConfig === undefined) {
    problems.push('--mcp is set and --authentication-config is not: no person could sign in at /mcp');
  }
  if (!values.mcp && mcpAuthorizationServer.length + mcpAllowedOrigin.length > 0) {
    problems.push('--mcp-authorization-server and --mcp-allowed-origin need --mcp');
  }
  return problems;
}

function manifestsProblems({ manifests, manifestsPrune, demo, demoPrune }: OptionValues): string[] {
  const problems: string[] = [];
  if (manifestsPrune && manifests === undefined) {
    problems.push('--manifests-prune is set and --manifests is not: there is no folder to compare with');
  }
  if (demo && demoPrune) {
    problems.push('--demo loads the demo fleet and --demo-prune deletes it: choose one');
  }
  return problems;
}

/** kube-apiserver's --audit-log-maxsize counts megabytes of 1024 * 1024 bytes. */
const MEGABYTE = 1024 * 1024;
const DAY_MS = 86_400_000;

/** In the same folder. A device, e.g. /dev/null or /dev/stdout, takes the events of both logs. */
function besideAuditLog(path: string): string {
  if (/^\/(dev(?!\/shm\/)|proc)\//.test(path)) return path;
  const { dir, name, ext } = parse(path);
  return join(dir, `${name}-security${ext}`);
}
