import { createHash } from 'node:crypto';
import { createSecureContext, TLSSocket } from 'node:tls';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { Credential } from './credentials.ts';
import type { Dial } from './dial.ts';
import { MAX_ANSWER_BYTES, MAX_HEADER_BYTES, type UpstreamCluster, UpstreamError } from './upstream-contract.ts';

/** What one request is sent through. */
export interface Connection {
  readonly dispatcher: Dispatcher;
  /** Whether a request went through it before: then the other side may have closed it by now. */
  readonly isUsed: boolean;
  /** Nothing follows soon. It stays open if there is room for it. */
  rest(): void;
  /** What is under way is finished; nothing else uses it. */
  drop(): void;
}

export interface Connections {
  /** A connection to this cluster and no other. */
  to(cluster: UpstreamCluster, origin: string, credential: Credential | undefined): Connection;
  /** The next request to the cluster makes a connection of its own. */
  forget(cluster: UpstreamCluster): void;
  close(): Promise<void>;
}

export interface ConnectionLimits {
  /** Clusters for which something is kept. Each has a TLS context, which costs some thirty kilobytes. */
  readonly clusters: number;
  /** Connections to one cluster; what comes while all are busy waits. */
  readonly connections: number;
  /** How many clusters keep theirs when nothing follows soon. */
  readonly resting: number;
  /** Less than API servers wait for the next request, so that hardly one is sent into a connection that just closed. */
  readonly idleMs: number;
  /**
   * How long they are used, half as long to one and a half times: those that were opened together end apart. Who
   * holds the name now, and by which certificate, shows when a connection is made, and only then.
   */
  readonly ageMs: number;
}

export interface ConnectionSurroundings {
  /** Milliseconds that only ever grow. */
  readonly now: () => number;
  readonly random: () => number;
}

const LIMITS: ConnectionLimits = { clusters: 1024, connections: 32, resting: 0, idleMs: 4_000, ageMs: 600_000 };
const SURROUNDINGS: ConnectionSurroundings = { now: () => performance.now(), random: Math.random };
const CONNECT_MS = 10_000;
/** Longer than any request takes: what was not used for that long, beyond its idle time, is used by nobody. */
const STALE_MS = 60_000;

interface Entry {
  readonly slot: string;
  readonly key: string;
  readonly dispatcher: Dispatcher;
  isUsed: boolean;
  isKept: boolean;
  usedAt: number;
  /** From then on it is not used any more. */
  until: number;
}

/**
 * Connections are shared only between requests about the same state of the same cluster: never by host, as two
 * clusters can have one address, and an address can come to belong to another cluster. A connection opened with
 * a certificate speaks for whoever owns it, so those without a credential have their own.
 */
export function createConnections(
  dial: Dial,
  given: Partial<ConnectionLimits> = {},
  { now, random }: ConnectionSurroundings = SURROUNDINGS,
): Connections {
  const limits = { ...LIMITS, ...given };
  const entries = new Map<string, Entry>();
  let kept = 0;
  const drop = (entry: Entry | undefined): void => {
    if (entry === undefined || entries.get(entry.slot) !== entry) return;
    entries.delete(entry.slot);
    if (entry.isKept) kept--;
    // What is under way is finished. Destroying instead would cut requests that were already answered for.
    void entry.dispatcher.close().catch(() => {});
  };
  const rest = (entry: Entry): void => {
    if (entry.isKept || entries.get(entry.slot) !== entry) return;
    if (kept >= limits.resting) {
      drop(entry);
      return;
    }
    entry.isKept = true;
    kept++;
  };
  /** The first of the map are those that were not used for the longest time. */
  const dropOldest = (): void => {
    for (const entry of entries.values()) {
      if (entries.size <= limits.clusters && now() - entry.usedAt <= limits.idleMs + STALE_MS) return;
      drop(entry);
    }
  };
  const open = (slot: string, key: string, connectTo: Target): Entry => {
    const age = limits.ageMs * (0.5 + random());
    const entry: Entry = {
      slot,
      key,
      dispatcher: openDispatcher(connectTo, dial, limits, (validMs) => {
        entry.until = Math.min(entry.until, now() + validMs);
      }),
      isUsed: false,
      isKept: false,
      usedAt: now(),
      until: now() + age,
    };
    return entry;
  };
  return {
    to: (cluster, origin, credential) => {
      const slot = slotOf(cluster, credential !== undefined);
      const key = keyOf(cluster, origin, credential);
      const found = entries.get(slot);
      const isGood = found?.key === key && now() < found.until;
      if (!isGood) drop(found);
      const entry = isGood ? found : open(slot, key, { cluster, origin, credential });
      // Taken out and put back, so that it is the last of the map.
      entries.delete(slot);
      entries.set(slot, entry);
      entry.usedAt = now();
      dropOldest();
      const { dispatcher, isUsed } = entry;
      entry.isUsed = true;
      return { dispatcher, isUsed, rest: () => rest(entry), drop: () => drop(entry) };
    },
    forget: (cluster) => {
      for (const hasCredential of [false, true]) drop(entries.get(slotOf(cluster, hasCredential)));
    },
    close: async () => {
      await Promise.all([...entries.values()].map(({ dispatcher }) => dispatcher.destroy()));
      entries.clear();
      kept = 0;
    },
  };
}

const slotOf = ({ uid }: UpstreamCluster, hasCredential: boolean): string =>
  `${uid} ${hasCredential ? 'with credential' : 'open'}`;

/** All that decides with whom a connection is, and for whom it speaks. */
function keyOf({ uid, generation, endpoints }: UpstreamCluster, origin: string, credential: Credential | undefined) {
  const shown = credential?.type === 'certificate' ? credential.digest : '';
  const ca = createHash('sha256')
    .update(endpoints.caBundle ?? '')
    .digest('hex');
  return JSON.stringify([uid, generation, ca, origin, shown]);
}

interface Target {
  readonly cluster: UpstreamCluster;
  readonly origin: string;
  readonly credential: Credential | undefined;
}

/** `onValidity` is told for how long the certificate of a new connection is good. */
function openDispatcher(
  { cluster, origin, credential }: Target,
  dial: Dial,
  { connections, idleMs }: ConnectionLimits,
  onValidity: (ms: number) => void,
): Dispatcher {
  const url = new URL(origin);
  const connect = buildConnector({
    secureContext: contextFor(cluster, credential),
    // Said outright: Node's default can be turned off by a variable in the environment.
    rejectUnauthorized: true,
    lookup: dial.lookupFor(url.port === '' ? 443 : Number(url.port)),
    timeout: CONNECT_MS,
    allowH2: false,
    // Every connection shows its certificate; a resumed session would not.
    maxCachedSessions: 0,
  });
  const options: Client.Options = {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: (asked, callback) =>
      connect(asked, (...answer) => {
        const [, socket] = answer;
        const end = socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.validToDate : undefined;
        if (end !== undefined) onValidity(end.getTime() - Date.now());
        callback(...answer);
      }),
  };
  // A pool of one is a client, and takes six times the memory.
  return connections === 1 ? new Client(origin, options) : new Pool(origin, { ...options, connections });
}

function contextFor({ endpoints }: UpstreamCluster, credential: Credential | undefined) {
  const ca = Buffer.from(endpoints.caBundle ?? '', 'base64');
  // Without authorities of its own Node would take the system's, and so anyone who can buy a certificate.
  if (ca.length === 0) throw new UpstreamError('tls', 'it has no caBundle, so nothing can vouch for its certificate');
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
    // Without the cause: OpenSSL's errors may quote what they could not read.
    throw new UpstreamError('credential', 'tls.crt and tls.key of its credential do not make a pair');
  }
}
