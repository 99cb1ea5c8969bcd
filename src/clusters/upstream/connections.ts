import { createHash } from 'node:crypto';
import { createSecureContext, TLSSocket } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Credential } from './credentials.ts';
import type { Dial } from './dial.ts';
import { MAX_ANSWER_BYTES, MAX_HEADER_BYTES, type UpstreamCluster, UpstreamError } from './upstream-contract.ts';

export interface Connection {
  readonly dispatcher: Dispatcher;
  /** Whether it has carried a request before: then the server may have closed it meanwhile. */
  readonly isReused: boolean;
  /** No request follows soon. The connection stays open if the limit of idle connections allows it. */
  release(): void;
  /** Lets the requests in flight finish, and takes no others. */
  drop(): void;
}

interface Connections {
  /** A connection to this cluster and to no other. */
  to(cluster: UpstreamCluster, origin: string, credential: Credential | undefined): Connection;
  /** Drops the connections to the cluster. */
  forget(cluster: UpstreamCluster): void;
  close(): Promise<void>;
}

export interface ConnectionLimits {
  /** Clusters with an open connection. Each has a TLS context of about thirty kilobytes. */
  readonly clusters: number;
  /** Connections to one cluster; further requests wait. */
  readonly connections: number;
  /** Clusters whose connection stays open after `release`. */
  readonly idle: number;
  /** Shorter than the idle timeout of API servers, so that few requests meet a connection that was just closed. */
  readonly idleMs: number;
  /**
   * How long a connection is used, times 0.5 to 1.5, so that connections that were opened together do not end together.
   * Only a new connection resolves the host name and verifies the certificate again.
   */
  readonly maxAgeMs: number;
}

/** For tests. */
export interface ConnectionEnvironment {
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly random: () => number;
}

const LIMITS: ConnectionLimits = { clusters: 1024, connections: 32, idle: 0, idleMs: 4_000, maxAgeMs: 600_000 };
const ENVIRONMENT: ConnectionEnvironment = { now: () => performance.now(), random: Math.random };
const CONNECT_MS = 10_000;
/** Longer than any request takes. */
const STALE_MS = 60_000;

interface Entry {
  /** The cluster, and whether requests carry a credential. */
  readonly poolKey: string;
  /** The identity of the server at the other end, and the credential with which it authenticates us. */
  readonly identity: string;
  readonly dispatcher: Dispatcher;
  isReused: boolean;
  isIdle: boolean;
  usedAt: number;
  /** From then on no request uses it. */
  expiresAt: number;
}

/**
 * A connection is shared only between requests for the same generation of the same cluster. It is never shared by host:
 * two clusters can have one address, and an address can pass to another cluster. A connection with a client certificate
 * is authenticated as its owner, so requests without a credential have a separate connection.
 */
export function createConnections(
  dial: Dial,
  given: Partial<ConnectionLimits> = {},
  { now, random }: ConnectionEnvironment = ENVIRONMENT,
): Connections {
  const limits = { ...LIMITS, ...given };
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();
  let idle = 0;
  const drop = (entry: Entry | undefined): void => {
    if (entry === undefined || entries.get(entry.poolKey) !== entry) return;
    entries.delete(entry.poolKey);
    if (entry.isIdle) idle--;
    // `close` lets the requests in flight finish; `destroy` would abort them.
    void entry.dispatcher.close().catch(() => {});
  };
  const release = (entry: Entry): void => {
    if (entry.isIdle || entries.get(entry.poolKey) !== entry) return;
    if (idle >= limits.idle) {
      drop(entry);
      return;
    }
    entry.isIdle = true;
    idle++;
  };
  const dropOldest = (): void => {
    for (const entry of entries.values()) {
      if (entries.size <= limits.clusters && now() - entry.usedAt <= limits.idleMs + STALE_MS) return;
      drop(entry);
    }
  };
  const open = (poolKey: string, identity: string, connectTo: UpstreamOrigin): Entry => {
    const age = limits.maxAgeMs * (0.5 + random());
    const entry: Entry = {
      poolKey,
      identity,
      dispatcher: openDispatcher(connectTo, dial, limits, (validMs) => {
        entry.expiresAt = Math.min(entry.expiresAt, now() + validMs);
      }),
      isReused: false,
      isIdle: false,
      usedAt: now(),
      expiresAt: now() + age,
    };
    return entry;
  };
  return {
    to: (cluster, origin, credential) => {
      const poolKey = poolKeyOf(cluster, credential !== undefined);
      const identity = identityOf(cluster, origin, credential);
      const found = entries.get(poolKey);
      const isUsable = found?.identity === identity && now() < found.expiresAt;
      if (!isUsable) drop(found);
      const entry = isUsable ? found : open(poolKey, identity, { cluster, origin, credential });
      // Deleted first, so that it becomes the last of the map.
      entries.delete(poolKey);
      entries.set(poolKey, entry);
      entry.usedAt = now();
      dropOldest();
      const { dispatcher, isReused } = entry;
      entry.isReused = true;
      return { dispatcher, isReused, release: () => release(entry), drop: () => drop(entry) };
    },
    forget: (cluster) => {
      for (const hasCredential of [false, true]) drop(entries.get(poolKeyOf(cluster, hasCredential)));
    },
    close: async () => {
      await Promise.all([...entries.values()].map(({ dispatcher }) => dispatcher.destroy()));
      entries.clear();
      idle = 0;
    },
  };
}

const poolKeyOf = ({ uid }: UpstreamCluster, hasCredential: boolean): string =>
  `${uid} ${hasCredential ? 'with credential' : 'without credential'}`;

function identityOf(
  { uid, generation, endpoints }: UpstreamCluster,
  origin: string,
  credential: Credential | undefined,
): string {
  const certificate = credential?.type === 'certificate' ? credential.digest : '';
  const ca = createHash('sha256')
    .update(endpoints.caBundle ?? '')
    .digest('hex');
  return JSON.stringify([uid, generation, ca, origin, certificate]);
}

interface UpstreamOrigin {
  readonly cluster: UpstreamCluster;
  readonly origin: string;
  readonly credential: Credential | undefined;
}

/** `onValidity` receives how long the certificate of a new connection is valid. */
function openDispatcher(
  { cluster, origin, credential }: UpstreamOrigin,
  dial: Dial,
  { connections, idleMs }: ConnectionLimits,
  onValidity: (ms: number) => void,
): Dispatcher {
  const url = new URL(origin);
  const connect = buildConnector({
    secureContext: contextFor(cluster, credential),
    // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 would turn Node's default off.
    rejectUnauthorized: true,
    lookup: dial.lookupFor(url.port === '' ? 443 : Number(url.port)),
    timeout: CONNECT_MS,
    allowH2: false,
    // No session resumption: every connection presents its certificate.
    maxCachedSessions: 0,
  });
  const options: Client.Options = {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: (options, callback) =>
      connect(options, (...result) => {
        const [, socket] = result;
        const end = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.validToDate : undefined;
        if (end !== undefined) onValidity(end.getTime() - Date.now());
        callback(...result);
      }),
  };
  // A Pool of one connection takes six times the memory of a Client.
  return connections === 1 ? new Client(origin, options) : new Pool(origin, { ...options, connections });
}

function contextFor({ endpoints }: UpstreamCluster, credential: Credential | undefined) {
  const ca = Buffer.from(endpoints.caBundle ?? '', 'base64');
  // Without a CA Node would trust the system's authorities, and so everyone who can buy a certificate.
  if (ca.length === 0) throw new UpstreamError('tls', 'it has no caBundle, so its certificate cannot be verified');
  let trusted: ReturnType<typeof createSecureContext>;
  try {
    trusted = createSecureContext({ ca, minVersion: 'TLSv1.2' });
  } catch (cause) {
    throw new UpstreamError('tls', 'its caBundle cannot be read', { cause });
  }
  if (credential?.type !== 'certificate') return trusted;
  try {
    return createSecureContext({ ca, minVersion: 'TLSv1.2', cert: credential.cert, key: credential.key.reveal() });
  } catch {
    // Without the cause: OpenSSL's errors may quote the key.
    throw new UpstreamError('credential', 'tls.crt and tls.key of its credential do not make a pair');
  }
}
