import { once } from 'node:events';
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '../../api/status.ts';
import { pause } from '../../lib/backoff.ts';
import type { FollowedFiles } from '../../lib/follow-files.ts';
import { type KeyPair, type KeyPairFiles, validityOf } from '../../lib/key-pair-files.ts';
import { createServer as createPlainServer } from '../../lib/node-http.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Arrival } from '../exchange.ts';
import { MAX_HEADERS } from '../request/header-checks.ts';
import { LingeringResponse } from '../response/lingering-response.ts';
import type { WatchStream } from '../response/watch-response.ts';
import { answerClientErrors } from './client-errors.ts';
import { Drain } from './drain.ts';
import { AddressLimiter, DeferredHandshakeServer, HandshakeQueue } from './handshakes.ts';
import { followCertificate, tlsOptions } from './tls.ts';

/** The limits of a connection. Slow and silent clients must cost little and not for long. */
const LIMITS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  /** A connection whose bytes are no HTTP request is answered, and destroyed this much later. */
  lingerMs: 5_000,
  maxHeaderBytes: 16_384,
  handshakeTimeoutMs: 10_000,
  /** How often Node checks the timeouts of headers and requests. */
  checkIntervalMs: 1_000,
  certificateCheckMs: 10_000,
  drainTimeoutMs: 25_000,
} as const;

type Limits = { readonly [name in keyof typeof LIMITS]: number };

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls?: KeyPairFiles | undefined;
  /** The value of `Strict-Transport-Security`, where TLS is served. */
  readonly strictTransportSecurity?: string | undefined;
  /** Further connections are refused until one closes. */
  readonly maxConnections?: number;
  /** Further connections from one address are refused until one of them closes. */
  readonly maxConnectionsPerAddress?: number;
  /** With TLS, how many handshakes a second one address may have without a caller who authenticates; 0: no limit. */
  readonly handshakesPerAddress?: number;
  /** Between failing readiness and refusing connections, so that load balancers notice in time. */
  readonly drainDelayMs?: number;
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly limits?: Partial<Limits>;
  readonly logger: Logger;
}

export type Serve = (req: IncomingMessage, res: LingeringResponse, arrival?: Arrival) => void;

/** The sockets of the server: TLS, limits of connections, draining. */
export function createListener(options: ListenerOptions) {
  const { host, port, tls, maxConnections, handshakesPerAddress = 0, logger } = options;
  const { maxConnectionsPerAddress = Number.POSITIVE_INFINITY } = options;
  const { drainDelayMs = 0, sleep = pause } = options;
  const limits: Limits = { ...LIMITS, ...options.limits };
  // Of open connections on which a request has arrived.
  const newest = new Map<Duplex, LingeringResponse>();
  const authenticated = new Set<Socket>();

  // A flood of connections must not become a flood of log lines.
  const warnRefused = atMostEvery(WARN_MS, (fields: object) => logger.warn(fields, 'connection refused: too many'));
  const now = performance.now.bind(performance);
  const limiter = new AddressLimiter({
    connections: maxConnectionsPerAddress,
    handshakes: tls === undefined || handshakesPerAddress === 0 ? undefined : handshakesPerAddress,
    now,
    onRefused: (address, limit) =>
      warnRefused({ address, ...(limit === 'handshakes' ? { handshakesPerAddress } : { maxConnectionsPerAddress }) }),
  });

  const queue = new HandshakeQueue({ helloTimeoutMs: limits.handshakeTimeoutMs, now });
  const tlsServer =
    tls === undefined
      ? undefined
      : new DeferredHandshakeServer(
          { ...httpOptions(limits), ...tlsOptions(limits.handshakeTimeoutMs) },
          (socket, begin) => {
            if (limiter.accept(socket)) queue.accept(socket, begin);
          },
        );
  const server: Server<typeof IncomingMessage, typeof LingeringResponse> =
    tlsServer ?? createPlainServer(httpOptions(limits));
  if (tlsServer === undefined) server.prependListener('connection', (socket) => limiter.accept(socket));
  let certificate: FollowedFiles<KeyPair> | undefined;

  // Past its own count Node drops header lines silently, Authorization among them. Two more than we accept are let
  // through, so that the header checks see that there were too many.
  server.maxHeadersCount = MAX_HEADERS + 2;
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  // There are no tunnels. An `Upgrade` header is ignored, and its request answered like any other.
  server.on('connect', (_, socket) => socket.destroy());
  server.on(
    'clientError',
    answerClientErrors({
      newestOn: (socket) => newest.get(socket),
      lingerMs: limits.lingerMs,
      strictTransportSecurity: options.strictTransportSecurity,
    }),
  );

  server.on('drop', () => warnRefused({ maxConnections }));

  const drain = new Drain({
    server,
    delayMs: drainDelayMs,
    timeoutMs: limits.drainTimeoutMs,
    sleep,
    onClose: () => {
      certificate?.close();
      queue.close();
    },
  });

  return {
    /** Accepts connections, and hands their requests to `serve`. */
    async listen(serve: Serve) {
      const arrive = (req: IncomingMessage, res: LingeringResponse, arrival?: Arrival): void => {
        const { socket } = req;
        if (!newest.has(socket)) {
          socket.once('close', () => {
            newest.delete(socket);
            authenticated.delete(socket);
          });
        }
        newest.set(socket, res);
        serve(req, res, arrival);
      };
      const unmet = new ApiError(417, 'ExpectationFailed', 'the only expectation met is 100-continue');
      server.on('request', (req, res) => arrive(req, res));
      server.on('checkContinue', (req, res) => arrive(req, res, { expectsContinue: true }));
      server.on('checkExpectation', (req, res) => arrive(req, res, { refusal: unmet }));
      certificate =
        tls &&
        (await followCertificate({
          files: tls,
          use: (pair) => tlsServer?.setSecureContext({ ...tlsOptions(limits.handshakeTimeoutMs), ...pair }),
          checkMs: limits.certificateCheckMs,
          now: Date.now,
          logger,
        }));
      server.listen({ host, port, backlog: BACKLOG });
      await once(server, 'listening');
      server.on('error', (error) => logger.error({ err: error }, 'listener failed'));
      const { address, port: bound } = server.address() as AddressInfo;
      return { address, port: bound };
    },
    /**
     * Fails readiness, stops accepting, ends watches, lets requests in flight finish; bounded in time.
     * `beforeWatchesEnd` is called right before the watches end.
     */
    drain: (beforeWatchesEnd = () => {}) => drain.drain(beforeWatchesEnd),
    /** Ends everything at once. */
    close: () => drain.close(),
    isDraining: () => drain.isDraining,
    /** Keeps the stream of a watch, to end it when the server drains. */
    trackWatch: (stream: WatchStream) => drain.trackWatch(stream),
    /** A caller has authenticated on this connection. */
    authenticated(socket: Socket): void {
      if (authenticated.has(socket) || !newest.has(socket)) return;
      authenticated.add(socket);
      limiter.refund(socket.remoteAddress);
    },
    requestBegan: () => drain.requestBegan(),
    /** A connection is finished with a request. */
    requestEnded: () => drain.requestEnded(),
    /** Compares the certificate files with those in use now, and not only every few seconds. */
    reloadCertificate: async () => certificate?.refresh(),
    /** For metrics. */
    handshakes: () => ({ rejected: limiter.rejected, waiting: queue.size }),
    /** When the certificate in use expires, in milliseconds; undefined without TLS and before `listen`. For metrics. */
    certificateExpiry: () => certificate && validityOf(certificate.current()).until,
  };
}

/** Connections that wait to be accepted. With Node's 511 a burst of slow clients would delay everyone by a second. */
const BACKLOG = 4_096;

const WARN_MS = 1_000;

function atMostEvery<A>(ms: number, act: (argument: A) => void): (argument: A) => void {
  let next = 0;
  return (argument) => {
    const now = performance.now();
    if (now < next) return;
    next = now + ms;
    act(argument);
  };
}

function httpOptions(limits: Limits): ServerOptions<typeof IncomingMessage, typeof LingeringResponse> {
  return {
    ServerResponse: LingeringResponse,
    // Lenient parsing of malformed requests makes request smuggling possible.
    insecureHTTPParser: false,
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    // The header checks refuse a request without Host, with a Status.
    requireHostHeader: false,
  };
}
