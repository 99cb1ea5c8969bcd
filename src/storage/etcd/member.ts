import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type ChannelCredentials, Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { askMemberTime } from './member-time.ts';
import type { UnaryMethod } from './messages.ts';
import type { Message } from './protobuf.ts';

/** PEM, as it is in the files. */
export interface TlsMaterial {
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export type Duplex<Q, S> = ClientDuplexStream<Q, S>;

/**
 * A ping on a connection that carries a call finds out that the other side is gone. More often than every five seconds
 * etcd takes for an attack (its --grpc-keepalive-min-time).
 */
const KEEPALIVE = { everyMs: 10_000, timeoutMs: 3_000 };
/** So that a store that is back is found again within a second or two. */
const RECONNECT = { initialMs: 100, maxMs: 1_000 };

const passBytes = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** One etcd server and the connection to it, which is made when it is needed and made again when it breaks. */
export class Member {
  readonly address: string;
  readonly #streams = new Set<{ cancel(): void }>();
  #tls: TlsMaterial | undefined;
  #client: Client;

  constructor(address: string, tls: TlsMaterial | undefined) {
    this.address = address;
    this.#tls = tls;
    this.#client = connectTo(address, tls);
  }

  /** From now on over a connection with this. Calls that are under way are finished over the old one, and streams end. */
  renew(tls: TlsMaterial | undefined): void {
    const old = this.#client;
    this.#tls = tls;
    this.#client = connectTo(this.address, tls);
    for (const stream of this.#streams) stream.cancel();
    old.close();
  }

  /** Whether there is a connection, within the time. */
  ready(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#client.waitForReady(Date.now() + withinMs, (error) => resolve(error === undefined));
    });
  }

  unary<Q, S>(method: UnaryMethod<Q, S>, request: Uint8Array, withinMs: number, token: string | undefined): Promise<S> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        method.path,
        passBytes,
        (bytes) => method.response.decode(bytes),
        request,
        callMetadata(token),
        { deadline: Date.now() + withinMs },
        (error, response) => {
          if (error !== null) reject(error);
          else if (response === undefined) reject(new Error('etcd sent an empty answer'));
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
      (value) => passBytes(request.encode(value)),
      (bytes) => response.decode(bytes),
      callMetadata(token),
    );
    this.#streams.add(stream);
    stream.once('close', () => this.#streams.delete(stream));
    return stream;
  }

  /** By its clock, in milliseconds, exact to a second; undefined when it does not say within the time. */
  time(withinMs: number): Promise<number | undefined> {
    return askMemberTime(this.address, this.#tls, withinMs);
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
    // A write that gRPC itself sent again could happen twice. Who repeats what is decided above.
    'grpc.enable_retries': 0,
    // Never through the proxy that the environment names for the web.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
}

/** A member that has lost its leader says so at once, rather than let the call wait (`hasleader`). */
function callMetadata(token: string | undefined): Metadata {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  if (token !== undefined) metadata.set('token', token);
  return metadata;
}

function channelCredentials(host: string, tls: TlsMaterial | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  // By the name or address that the operator gave, whatever name the handshake carried.
  return credentials.createSsl(tls.ca, tls.key ?? null, tls.cert ?? null, {
    checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate as PeerCertificate),
  });
}

/**
 * RFC 6066, section 3: a server name in the handshake is a DNS name, never an address, and Node refuses one. gRPC would
 * send it all the same, unless it is given a name.
 */
const serverName = (host: string): object => (isIP(host) === 0 ? {} : { 'grpc.ssl_target_name_override': NO_NAME });
const NO_NAME = 'etcd.invalid';

/** Without the port, and without the brackets of an IPv6 address. */
const hostOf = (address: string): string => address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
