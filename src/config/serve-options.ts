import { join, parse } from 'node:path';
import type { FlowControlLimits } from '../api/flow-control-limits.ts';
import type { OptionValues } from './options.ts';
import { missingOfPair, resolveStore, type StoreOptions } from './store-options.ts';
import { defaultBaseUrl, isLoopback, isWildcard } from './values.ts';

/** The options of `clusterpass serve`, each validated alone and against the others. Paths are absolute. */
export type ServeOptions = ReturnType<typeof derivedOptions>;

/** Validates options against each other and derives defaults from other options. */
export function resolveOptions(values: OptionValues): {
  options: ServeOptions;
  problems: string[];
  warnings: string[];
} {
  const { store, problems: storeProblems } = resolveStore(values);
  const options = derivedOptions(values, store);
  const problems = [
    ...listenProblems(values),
    ...consoleProblems(values),
    ...mcpProblems(values),
    ...manifestsProblems(values),
    ...storeProblems,
  ];
  return { options, problems, warnings: baseUrlWarnings(options) };
}

function derivedOptions(values: OptionValues, store: StoreOptions) {
  const { listen, tlsCertFile: certFile, tlsPrivateKeyFile: privateKeyFile } = values;
  const tls = certFile !== undefined && privateKeyFile !== undefined ? { certFile, privateKeyFile } : undefined;
  const { consoleOidcIssuer: issuer, consoleOidcClientId: clientId } = values;
  const auditPath = values.auditLogPath ?? join(values.dataDir, 'audit', 'audit.log');
  const derived = listen.port === 0 ? undefined : defaultBaseUrl(listen, tls === undefined ? 'http' : 'https');
  const flowControl: FlowControlLimits = {
    tokenSeats: values.maxTokenRequestsInflight,
    readSeats: values.maxRequestsInflight,
    writeSeats: values.maxMutatingRequestsInflight,
    seatPercentPerFlow: values.callerConcurrencyPercent,
    queueLengthPerFlow: 1_000,
    watchSeats: values.maxWatches,
    watchSeatsPerFlow: values.maxWatchesPerCaller,
    watchSeatsWithoutPermission: values.maxWatchesWithoutPermission,
  };
  return {
    ...values,
    /** Undefined only when `--listen` has port 0: then `defaultBaseUrl()` of the bound port. */
    baseUrl: values.baseUrl ?? derived,
    store,
    history: { retentionMs: values.historyRetention, revisions: values.historyRevisions },
    tls,
    /** RFC 6797 section 6.1: browsers use no plain HTTP with this host name for a year. */
    strictTransportSecurity: tls && 'max-age=31536000',
    handshakesPerAddress: values.tlsHandshakesPerAddress,
    keepAliveTimeoutMs: values.keepAliveTimeout,
    flowControl,
    /** Of what requests and watches hold, in bytes. */
    memory: {
      total: values.maxRequestMemory * MEGABYTE,
      perFlow: values.maxRequestMemoryPerCaller * MEGABYTE,
    },
    shutdownDelayMs: values.shutdownDelay,
    consoleProvider: issuer === undefined || clientId === undefined ? undefined : { issuer, clientId },
    /** Undefined: MCP is not served. */
    mcp: values.mcp
      ? {
          authorizationServers: values.mcpAuthorizationServer ?? [],
          allowedOrigins: values.mcpAllowedOrigin ?? [],
          callsPerMinute: values.mcpCallsPerMinute,
          passRequestsPerMinute: values.mcpPassRequestsPerMinute,
          maxResultBytes: values.mcpMaxResultBytes,
          callTimeoutMs: values.mcpCallTimeout,
        }
      : undefined,
    /** Undefined: nothing is deleted. */
    manifestsPrune: values.manifestsPrune ? { maxPercent: values.manifestsPruneLimit } : undefined,
    /** Empty: every network but special ones. */
    clusterNetworks: values.clusterNetworks ?? [],
    // Lifetimes are whole seconds; rounding down never exceeds the limit.
    maxTokenExpirationSeconds: Math.floor(values.serviceAccountMaxTokenExpiration / 1000),
    accessRequests: {
      maxDurationSeconds: Math.floor(values.maxAccessRequestDuration / 1000),
      maxOpenPerCaller: values.maxAccessRequestsPerCaller,
      retentionMs: values.accessRequestRetention,
    },
    /** Limits of passes that are requested as handles. */
    passes: {
      maxHandles: values.passMaxHandles,
      maxPending: values.passMaxPending,
    },
    signingAlgorithmFor: values.signingAlgorithmFor ?? new Map<string, typeof values.signingAlgorithm>(),
    /** 0: never. */
    signingKeyRotationMs: values.signingKeyRotation,
    /** 0: the clock is not checked. */
    maxClockSkewMs: values.maxClockSkew,
    /** 0: clusters are not probed. */
    probeIntervalMs: values.probeInterval,
    /** What ClusterProfiles show. */
    inventory: {
      namespaces: values.inventoryNamespace,
      manager: values.inventoryManager,
      provider: values.inventoryProvider,
      properties: values.inventoryProperty ?? [],
    },
    audit: {
      path: auditPath,
      maxBytes: values.auditLogMaxsize * MEGABYTE,
      /** 0: for ever. */
      maxAgeMs: values.auditLogMaxage * DAY_MS,
      /** 0: all. */
      maxBackups: values.auditLogMaxbackup,
    },
    /** The log of issued tokens, revocations, RBAC objects and signing keys. */
    securityAudit: {
      path: values.auditSecurityLogPath ?? besideAuditLog(auditPath),
      maxBytes: values.auditLogMaxsize * MEGABYTE,
      maxAgeMs: values.auditSecurityLogMaxage * DAY_MS,
      maxBackups: values.auditSecurityLogMaxbackup,
    },
  } as const;
}

function listenProblems(values: OptionValues): string[] {
  const { listen, tlsCertFile: certFile, tlsPrivateKeyFile: privateKeyFile } = values;
  const hasTls = certFile !== undefined && privateKeyFile !== undefined;
  const problems = missingOfPair(values, 'tlsCertFile', 'tlsPrivateKeyFile', 'TLS');
  if (problems.length === 0 && !hasTls && !values.insecureHttp && !isLoopback(listen.host)) {
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
  const problems = missingOfPair(values, 'consoleOidcIssuer', 'consoleOidcClientId', 'signing in');
  if (problems.length === 0 && values.consoleOidcIssuer !== undefined && values.authenticationConfig === undefined) {
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

function manifestsProblems({ manifests, manifestsPrune }: OptionValues): string[] {
  if (!manifestsPrune || manifests !== undefined) return [];
  return ['--manifests-prune is set and --manifests is not: there is no folder to compare with'];
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
