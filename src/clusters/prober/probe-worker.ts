import { constants, setPriority } from 'node:os';
import { createAddressRules } from '../../api/clusters/address-rules.ts';
import { Cache } from '../../lib/cache.ts';
import { interfaceAddresses, readNetwork } from '../../lib/network.ts';
import { readMountedSecret } from '../../lib/secret-file.ts';
import { serveStarter } from '../../lib/worker-rpc.ts';
import { createCredentials } from '../upstream/credentials.ts';
import { systemResolve } from '../upstream/dial.ts';
import { createUpstream } from '../upstream/upstream.ts';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import { createDnsCache } from './dns-cache.ts';
import { createProbe } from './probe.ts';
import type { ProbeMethods, ProbeWorkerSettings } from './probe-worker-client.ts';

/** The entry of the worker thread that runs the probes. It composes the parts of the thread. */

const INTERFACES_TTL_MS = 10_000;
const DNS_TTL_MS = 120_000;
/** Twice the number of concurrent probes. */
const NEW_CONNECTIONS = 100;
/**
 * API servers close idle connections themselves, kube-apiserver after 90 seconds. Closing them sooner here would make
 * late probes later, because each would need a new handshake.
 */
const IDLE_MS = 300_000;

/** Responses are collected this long, because every message wakes the main thread. */
const RESPONSE_DELAY_MS = 10;

function open({ clusterNetworks, credentialsDir, ownPort, keepAliveConnections }: ProbeWorkerSettings): ProbeMethods {
  // On Linux this lowers the priority of the calling thread only: requests take precedence over probes.
  if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL);
  const dns = createDnsCache(systemResolve, DNS_TTL_MS);
  /** One entry: listing the interfaces takes system calls. It dies after its TTL. */
  const interfaces = new Cache<'addresses', string[]>({ maxEntries: 1, ttlMs: INTERFACES_TTL_MS });
  const upstream = createUpstream({
    rules: createAddressRules(clusterNetworks.map(readNetwork).filter((network) => network !== undefined)),
    // Problems of a credential are logged by token requests; here the condition reports them.
    credentials: createCredentials({ dir: credentialsDir, readSecret: readMountedSecret, report: () => {} }),
    ownPort,
    resolve: dns.resolve,
    ownAddresses: () => interfaces.getOrCompute('addresses', interfaceAddresses),
    limits: {
      clusters: keepAliveConnections + NEW_CONNECTIONS,
      idle: keepAliveConnections,
      // One connection for both requests of a probe: if the second were sent while the first answer is completed, it
      // would open another connection, with another handshake.
      connections: 1,
      idleMs: IDLE_MS,
    },
  });
  const probe = createProbe({ upstream, hasCredentials: credentialsDir !== undefined });
  return {
    async probe({ cluster, refreshToken }, signal = new AbortController().signal) {
      const outcome = await probe(cluster, signal, refreshToken);
      if (!outcome.ready) {
        // The next probe resolves the name and connects again, as a new client would.
        upstream.forget(cluster);
        for (const hostname of hostnamesOf(cluster)) dns.forget(hostname);
      }
      return outcome;
    },
  };
}

const hostnamesOf = ({ endpoints }: UpstreamCluster): string[] =>
  (endpoints.serverEndpoints ?? []).flatMap(({ serverAddress = '' }) =>
    URL.canParse(serverAddress) ? [new URL(serverAddress).hostname] : [],
  );

serveStarter(open, { schedule: (flush) => setTimeout(flush, RESPONSE_DELAY_MS) });
