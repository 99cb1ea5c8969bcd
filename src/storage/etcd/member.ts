import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import { request as requestHttp } from '../../lib/node-http.ts';
import { STATUS, type UnaryMethod } from './messages.ts';
import type { Message } from './protobuf.ts';

/** PEM, as read from the files. */
export interface TlsMaterial {
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export type Duplex<Q, S> = ClientDuplexStream<Q, S>;

/**
 * Pings on a connection that carries a call detect a dead peer. etcd closes connections that ping more often than every
 * five seconds (its --grpc-keepalive-min-time). A call that times out on a connection that was silent for `timeoutMs`
 * replaces it, too: after lost packets, TCP waits ever longer before it sends again.
 */
const KEEPALIVE = { everyMs: 10_000, timeoutMs: 3_000 };
/** An etcd that is back is reconnected within a second or two. */
const RECONNECT = { initialMs: 100, maxMs: 1_000 };

/** How long the call may take that says why there is no connection. */
const REASON_MS = 50;

const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** One etcd server and the gRPC connection to it, which gRPC opens when needed and reopens when it breaks. */
export class Member {
  readonly address: string;
  readonly #streams = new Set<{ cancel(): void }>();
  #tls: TlsMaterial | undefined;
  #client: Client;
  #heardAt = performance.now();

  constructor(address: string, tls: TlsMaterial | undefined) {
    this.address = address;
    this.#tls = tls;
    this.#client = connectTo(address, tls);
  }

  /** Opens a connection with new credentials. Unary calls in flight finish over the old one; streams are cancelled. */
  renew(tls: TlsMaterial | undefined): void {
    const old = this.#client;
    this.#tls = tls;
    this.#client = connectTo(this.address, tls);
    this.#heardAt = performance.now();
    for (const stream of this.#streams) stream.cancel();
    old.close();
  }

  /** Resolves undefined when connected, and with the reason when not within the time. */
  async connectionProblem(withinMs: number): Promise<unknown> {
    const isReady = await new Promise<boolean>((resolve) => {
      this.#client.waitForReady(Date.now() + withinMs, (error) => resolve(error === undefined));
    });
    if (isReady) return undefined;
    // gRPC has the reason in the error of a call only. Without a connection that fails at once.
    return this.unary(STATUS, STATUS.request.encode({}), REASON_MS, undefined).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  unary<Q, S>(method: UnaryMethod<Q, S>, request: Uint8Array, withinMs: number, token: string | undefined): Promise<S> {
    const client = this.#client;
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        method.path,
        toBuffer,
        (bytes) => this.#heard(method.response.decode(bytes)),
        request,
        callMetadata(token),
        { deadline: Date.now() + withinMs },
        (error, response) => {
          if (error?.code === status.DEADLINE_EXCEEDED) this.#renewIfSilent(client);
          if (error !== null) reject(error);
          else if (response === undefined) reject(new Error('etcd sent an empty response'));
          else resolve(response);
        },
      );
    });
  }

  stream<Q, S>(
    path: string,
    request: Message<Q>,
    response: Message<S>,
    token: string | undefined,
  ): Duplex<Partial<Q>, S> {
    const stream = this.#client.makeBidiStreamRequest<Partial<Q>, S>(
      path,
      (value) => toBuffer(request.encode(value)),
      (bytes) => this.#heard(response.decode(bytes)),
      callMetadata(token),
    );
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return stream;
  }

  /** One that is still being made is left to gRPC: it would never be made if each call began another. */
  #renewIfSilent(client: Client): void {
    if (client !== this.#client || performance.now() - this.#heardAt <= KEEPALIVE.timeoutMs) return;
    if (client.getChannel().getConnectivityState(false) === connectivityState.READY) this.renew(this.#tls);
  }

  #heard<S>(response: S): S {
    this.#heardAt = performance.now();
    return response;
  }

  /** The member's clock in milliseconds, exact to a second; undefined when it does not answer within the time. */
  time(withinMs: number): Promise<number | undefined> {
    return readDateHeader(this.address, this.#tls, withinMs);
  }

  close(): void {
    this.#client.close();
  }
}

function connectTo(address: string, tls: TlsMaterial | undefined): Client {
  const host = hostOf(address);
  return new Client(`dns:///${address}`, channelCredentials(host, tls), {
    ...serverName(host),
    'grpc.keepalive_time_ms': KEEPALIVE.everyMs,
    'grpc.keepalive_timeout_ms': KEEPALIVE.timeoutMs,
    'grpc.initial_reconnect_backoff_ms': RECONNECT.initialMs,
    'grpc.max_reconnect_backoff_ms': RECONNECT.maxMs,
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    // A write that gRPC retries could happen twice. Members decides what is retried.
    'grpc.enable_retries': 0,
    // HTTPS_PROXY is for the web, not for the store.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
}

/** With `hasleader`, a member that has lost its leader fails the call at once instead of letting it wait. */
function callMetadata(token: string | undefined): Metadata {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  if (token !== undefined) metadata.set('token', token);
  return metadata;
}

function channelCredentials(host: string, tls: TlsMaterial | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  // Checked against the host of the endpoint, not against the server name of the handshake.
  return credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null, {
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate as PeerCertificate),
  });
}

/**
 * RFC 6066, section 3: the server name of a handshake is a DNS name, never an IP address, and Node refuses one. gRPC
 * sends the address unless it is given a name.
 */
const serverName = (host: string): object => (isIP(host) === 0 ? {} : { 'grpc.ssl_target_name_override': NO_NAME });
const NO_NAME = 'etcd.invalid';

/** Without the port, and without the brackets of an IPv6 address. */
export const hostOf = (address: string): string =>
  address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
export const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

/**
 * The clock of a member, from the `Date` header of an HTTP response (RFC 9110, section 6.6.1): etcd's gRPC messages
 * carry no time. etcd serves HTTP at the address of its gRPC API, unless --listen-client-http-urls names another. Any
 * response has the header; TLS proves that it is the member's.
 */
export function readDateHeader(
  address: string,
  tls: TlsMaterial | undefined,
  withinMs: number,
): Promise<number | undefined> {
  const host = hostOf(address);
  // A new connection each time uses the current credentials, and leaves nothing open.
  const common = { host, port: portOf(address), path: '/version', agent: false } as const;
  return new Promise((resolve) => {
    const request =
      tls === undefined
        ? requestHttp(common)
        : requestHttps({
            ...common,
            ...tls,
            ...(isIP(host) === 0 ? { servername: host } : {}),
            checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
          });
    const timer = setTimeout(() => request.destroy(), withinMs);
    timer.unref();
    request.once('response', (response) => {
      const time = Date.parse(response.headers.date ?? '');
      resolve(Number.isNaN(time) ? undefined : time);
      request.destroy();
    });
    request.on('error', () => resolve(undefined));
    request.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    request.end();
  });
}
