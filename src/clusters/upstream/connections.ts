import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { Pool } from 'undici';
import { MAX_ANSWER_BYTES, MAX_HEADER_BYTES, type UpstreamCluster, UpstreamError } from './contract.ts';
import type { Credential } from './credentials.ts';
import type { Dial } from './dial.ts';

export interface Connections {
  /** Connections to this cluster and no other, in use or idle for a moment. */
  to(cluster: UpstreamCluster, origin: string, credential: Credential | undefined): Pool;
  close(): Promise<void>;
}

export interface ConnectionLimits {
  /** Clusters for which something is kept. Each has a TLS context, which costs some thirty kilobytes. */
  readonly clusters: number;
  /** Connections to one cluster; what comes while all are busy waits. */
  readonly connections: number;
}

const LIMITS: ConnectionLimits = { clusters: 1024, connections: 32 };
const CONNECT_MS = 10_000;
/** Less than any API server waits for the next request, so that none is sent into a connection that just closed. */
const IDLE_MS = 4_000;

/**
 * Connections are shared only between requests about the same state of the same cluster: never by host, as two
 * clusters can have one address, and an address can come to belong to another cluster. A connection opened with
 * a certificate speaks for whoever owns it, so those without a credential have their own.
 */
export function createConnections(dial: Dial, given: Partial<ConnectionLimits> = {}): Connections {
  const limits = { ...LIMITS, ...given };
  const pools = new Map<string, { key: string; pool: Pool }>();
  const drop = (slot: string): void => {
    const dropped = pools.get(slot);
    pools.delete(slot);
    // What is under way is finished. Destroying instead would cut requests that were already answered for.
    void dropped?.pool.close().catch(() => {});
  };
  return {
    to: (cluster, origin, credential) => {
      const slot = `${cluster.uid} ${credential === undefined ? 'open' : 'with credential'}`;
      const shown = credential?.type === 'certificate' ? credential.digest : '';
      const ca = createHash('sha256')
        .update(cluster.endpoints.caBundle ?? '')
        .digest('hex');
      const key = JSON.stringify([cluster.uid, cluster.generation, ca, origin, shown]);
      const kept = pools.get(slot);
      // Taken out and put back: the first of the map is the one that was not used for the longest time.
      if (kept?.key === key) pools.delete(slot);
      else drop(slot);
      const entry = kept?.key === key ? kept : { key, pool: openPool(cluster, origin, credential, dial, limits) };
      pools.set(slot, entry);
      const [oldest] = pools.keys();
      if (pools.size > limits.clusters && oldest !== undefined) drop(oldest);
      return entry.pool;
    },
    close: async () => {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
      pools.clear();
    },
  };
}

function openPool(
  cluster: UpstreamCluster,
  origin: string,
  credential: Credential | undefined,
  dial: Dial,
  { connections }: ConnectionLimits,
): Pool {
  const url = new URL(origin);
  return new Pool(origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    maxResponseSize: MAX_ANSWER_BYTES,
    connect: {
      secureContext: contextFor(cluster, credential),
      // Said outright: Node's default can be turned off by a variable in the environment.
      rejectUnauthorized: true,
      lookup: dial.lookupFor(url.port === '' ? 443 : Number(url.port)),
      timeout: CONNECT_MS,
      // Every connection shows its certificate; a resumed session would not.
      maxCachedSessions: 0,
    },
  });
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
