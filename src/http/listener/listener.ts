import { once } from 'node:events';
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as setTimeoutPromise } from 'node:timers/promises';
import type { TlsOptions } from 'node:tls';
import { ApiError } from '../../api/status.ts';
import type { Arrival } from '../exchange.ts';
import { createPipeline, type PipelineOptions } from '../pipeline.ts';
import { MAX_HEADERS } from '../request/header-checks.ts';
import type { WatchStream } from '../response/watch-response.ts';
import { type HealthOptions, healthRoutes } from '../routes/health-routes.ts';
import { firstOf } from '../routes/routes.ts';
import { type VersionFacts, versionRoutes } from '../routes/version-route.ts';
import { AddressLimit } from './address-limit.ts';
import { CIPHERS } from './ciphers.ts';
import { answerClientErrors, trackNewest } from './client-errors.ts';
import { type HandshakeCounts, HandshakeLimiter, limitHandshakes } from './handshake-limiter.ts';
import { createReloader, type KeyPair, readKeyPair, type TlsFiles } from './tls-files.ts';

/** The limits of a connection. Slow and silent clients must cost little and not for long. */
const LIMITS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  /** An answer of which nothing leaves for so long is given up, once the time for its request is over. */
  unreadMs: 60_000,
  /** What can not be read as a request is answered, and closed so much later. */
  lingerMs: 5_000,
  maxHeaderBytes: 16_384,
  handshakeTimeoutMs: 10_000,
  /** How often Node looks for requests that have run out of time. */
  checkIntervalMs: 1_000,
  certificateCheckMs: 10_000,
  drainTimeoutMs: 25_000,
} as const;

type Limits = { readonly [name in keyof typeof LIMITS]: number };

export interface HttpServerOptions
  extends Omit<PipelineOptions, 'isDraining' | 'unreadMs' | 'keepWatch' | 'onAuthenticated'> {
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsFiles;
  /** Further connections are refused until one closes. */
  readonly maxConnections?: number;
  /** The same for those from one address. */
  readonly maxConnectionsPerAddress?: number;
  /** With TLS, how many handshakes a second begin for one address without anybody authenticating; 0 for no limit. */
  readonly handshakesPerAddress?: number;
  /** Between failing readiness and refusing connections, so that load balancers notice in time. */
  readonly drainDelayMs?: number;
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly limits?: Partial<Limits>;
  readonly version: VersionFacts;
  /** By name; all must pass for the server to be ready. */
  readonly checks: HealthOptions['checks'];
}

export interface HttpServer {
  listen(): Promise<{ address: string; port: number }>;
  /**
   * Fails readiness, stops accepting, ends watches, lets requests in flight finish; bounded in time. `lastWords` is
   * called right before the watches end.
   */
  drain(lastWords?: () => void): Promise<void>;
  /** Ends everything at once. */
  close(): Promise<void>;
  /** Looks now whether the certificate files have changed. */
  reloadCertificate(): Promise<void>;
  /** For metrics. */
  handshakes(): HandshakeCounts;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const {
    host,
    port,
    tls,
    maxConnections,
    maxConnectionsPerAddress,
    handshakesPerAddress = 0,
    drainDelayMs = 0,
    sleep = setTimeoutPromise,
    logger,
  } = options;
  const limits: Limits = { ...LIMITS, ...options.limits };
  let draining = false;
  /** Draining, and the delay is over: before that, a connection that is closed may be one on which a request is coming. */
  let closing = false;
  const watches = new Set<WatchStream>();
  const isDraining = (): boolean => draining;
  // Without the stack: a load balancer asks every second or two, and where the question came from is known.
  const onFailure = (check: string, reason: unknown): void =>
    logger.warn({ check, reason: reason instanceof Error ? reason.message : String(reason) }, 'health check failed');
  const serve = createPipeline({
    ...options,
    paths: firstOf([
      healthRoutes({ checks: options.checks, isDraining, onFailure }),
      versionRoutes(options.version),
      options.paths,
    ]),
    isDraining,
    unreadMs: limits.unreadMs,
    onAuthenticated: (socket) => pace?.prove(socket),
    observe(record) {
      options.observe(record);
      // A connection that was busy when the draining began is idle now, and nobody else would close it.
      if (closing) setImmediate(() => server.closeIdleConnections());
    },
    keepWatch(stream) {
      watches.add(stream);
      stream.onClose(() => watches.delete(stream));
      // It slipped in while the others were being told to end.
      if (closing) setImmediate(() => stream.shutdown());
    },
  });

  const isPaced = tls !== undefined && handshakesPerAddress > 0;
  const tlsServer =
    tls === undefined
      ? undefined
      : createTlsServer({ ...httpOptions(limits), ...tlsOptions(limits), pauseOnConnect: isPaced });
  const server: Server = tlsServer ?? createPlainServer(httpOptions(limits));
  const useKeyPair = (pair: KeyPair): void => tlsServer?.setSecureContext({ ...tlsOptions(limits), ...pair });
  let reloadCertificate = async (): Promise<void> => {};

  // Past its own count Node drops header lines silently, Authorization among them: let one more than we
  // accept through, so that the pipeline sees there were too many.
  server.maxHeadersCount = MAX_HEADERS + 2;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;

  const arrive = (req: IncomingMessage, res: ServerResponse, arrival?: Arrival): void => {
    trackNewest(req, res);
    serve(req, res, arrival);
  };
  const unmet = new ApiError(417, 'ExpectationFailed', 'the only expectation met is 100-continue');
  server.on('request', (req, res) => arrive(req, res));
  server.on('checkContinue', (req, res) => arrive(req, res, { expectsContinue: true }));
  server.on('checkExpectation', (req, res) => arrive(req, res, { refusal: unmet }));
  // There is no tunnel here; an `Upgrade` header is ignored and the request answered as it is.
  server.on('connect', (_, socket) => socket.destroy());
  server.on('clientError', answerClientErrors(limits.lingerMs));
  // A flood of connections must not become a flood of lines.
  const complain = oncePer(COMPLAIN_MS, (fields: object) => logger.warn(fields, 'connection refused: too many'));
  server.on('drop', () => complain({ maxConnections }));
  const pace = isPaced
    ? new HandshakeLimiter({
        perSecond: handshakesPerAddress,
        now: performance.now.bind(performance),
        onRefused: (address) => complain({ handshakesPerAddress, address }),
      })
    : undefined;
  if (tlsServer !== undefined && pace !== undefined) limitHandshakes(tlsServer, pace);
  if (maxConnectionsPerAddress !== undefined) {
    const limit = new AddressLimit(maxConnectionsPerAddress, (address) =>
      complain({ maxConnectionsPerAddress, address }),
    );
    server.prependListener('connection', (socket) => limit.accept(socket));
  }

  let certificateCheck: NodeJS.Timeout | undefined;
  const stopTimers = (): void => clearInterval(certificateCheck);
  let drained: Promise<void> | undefined;

  const drainOnce = async (lastWords: () => void): Promise<void> => {
    draining = true;
    if (drainDelayMs > 0) await sleep(drainDelayMs);
    closing = true;
    stopTimers();
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    pace?.close();
    lastWords();
    for (const stream of [...watches]) stream.shutdown();
    server.closeIdleConnections();
    const cut = setTimeout(() => server.closeAllConnections(), limits.drainTimeoutMs);
    await closed;
    clearTimeout(cut);
  };

  return {
    async listen() {
      if (tls !== undefined) {
        const current = await readKeyPair(tls);
        useKeyPair(current);
        reloadCertificate = createReloader({ files: tls, current, use: useKeyPair, logger });
        certificateCheck = setInterval(reloadCertificate, limits.certificateCheckMs).unref();
      }
      server.listen({ host, port, backlog: BACKLOG });
      await once(server, 'listening');
      server.on('error', (error) => logger.error({ err: error }, 'listener failed'));
      const { address, port: bound } = server.address() as AddressInfo;
      return { address, port: bound };
    },
    drain(lastWords = () => {}) {
      drained ??= drainOnce(lastWords);
      return drained;
    },
    async close() {
      draining = true;
      closing = true;
      stopTimers();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      pace?.close();
      server.closeAllConnections();
      await closed;
    },
    handshakes: () => pace?.counts ?? { held: 0, refused: 0 },
    reloadCertificate: () => reloadCertificate(),
  };
}

/** Connections that wait to be accepted. With Node's 511 a burst of slow clients would delay everyone by a second. */
const BACKLOG = 4_096;

const COMPLAIN_MS = 1_000;

function oncePer<A>(ms: number, act: (argument: A) => void): (argument: A) => void {
  let next = 0;
  return (argument) => {
    const now = performance.now();
    if (now < next) return;
    next = now + ms;
    act(argument);
  };
}

function httpOptions(limits: Limits): ServerOptions {
  return {
    // Leniency towards malformed requests is how requests are smuggled.
    insecureHTTPParser: false,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // Checked by the pipeline, whose answer has a body that says so.
    requireHostHeader: false,
  };
}

const tlsOptions = (limits: Limits): TlsOptions => ({
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  ALPNProtocols: ['http/1.1'],
  handshakeTimeout: limits.handshakeTimeoutMs,
});
