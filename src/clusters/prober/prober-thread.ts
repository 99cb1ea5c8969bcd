import { constants, setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createAddressRules } from '../../api/address-rules.ts';
import { readNetwork } from '../../lib/network.ts';
import { readMountedSecret } from '../../lib/secret-file.ts';
import { createCredentials } from '../upstream/credentials.ts';
import { systemResolve } from '../upstream/dial.ts';
import { createUpstream, interfaceAddresses } from '../upstream/upstream.ts';
import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import { createCachedResolve } from './cached-resolve.ts';
import { createProbe } from './probe.ts';
import type { FromProbeThread, LookAnswer, ProbeThreadSettings, ToProbeThread } from './thread-protocol.ts';

/** The thread in which clusters are looked at: what compose.ts is to the process, this is to the thread. */

const ADDRESSES_MS = 10_000;
const NAMES_MS = 120_000;
/** Twice as many as are looked at in one moment. */
const NEW_CONNECTIONS = 100;
/**
 * API servers close idle connections by themselves, kube-apiserver after 90 seconds. Closing them here sooner would
 * make matters worse when looks come late: new connections for all of them would make them later still.
 */
const IDLE_MS = 300_000;

/** Nobody waits for an answer so that this would be felt. */
const ANSWER_MS = 10;

/** Hands on what was put into it, some time after the first of it. */
function gathered<T>(ms: number, send: (list: readonly T[]) => void): { put(value: T): void } {
  let list: T[] = [];
  return {
    put: (value) => {
      list.push(value);
      if (list.length > 1) return;
      setTimeout(() => {
        send(list);
        list = [];
      }, ms);
    },
  };
}

/** The value of a function that takes long, anew after some time. */
function remembered<T>(make: () => T, keepMs: number): () => T {
  let value: T | undefined;
  let madeAt = 0;
  return () => {
    if (value === undefined || performance.now() - madeAt > keepMs) {
      value = make();
      madeAt = performance.now();
    }
    return value;
  };
}

function run(port: MessagePort, settings: ProbeThreadSettings): void {
  const { allowedNetworks, credentialsDir, ownPort, keptConnections } = settings;
  // On Linux this is about the calling thread alone: where the processor is short, requests go first.
  if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL);
  const names = createCachedResolve(systemResolve, NAMES_MS, () => performance.now());
  const upstream = createUpstream({
    rules: createAddressRules(allowedNetworks.map(readNetwork).filter((network) => network !== undefined)),
    // What is wrong with a credential is logged when a token is asked for; here the condition says it.
    credentials: createCredentials({ dir: credentialsDir, readSecret: readMountedSecret, report: () => {} }),
    ownPort,
    resolve: names.resolve,
    ownAddresses: remembered(interfaceAddresses, ADDRESSES_MS),
    limits: {
      clusters: keptConnections + NEW_CONNECTIONS,
      resting: keptConnections,
      // One for both questions of a look: a second question that comes while the end of the first answer is being
      // dealt with would open another one, with another handshake.
      connections: 1,
      idleMs: IDLE_MS,
    },
  });
  const probe = createProbe({ upstream, hasCredentials: credentialsDir !== undefined });
  const looks = new Map<number, AbortController>();

  const look = async (id: number, cluster: UpstreamCluster): Promise<LookAnswer> => {
    const abort = new AbortController();
    looks.set(id, abort);
    try {
      const outcome = await probe(cluster, abort.signal);
      if (!outcome.ready) {
        // The next look asks whoever answers to the name then, as a client would.
        upstream.forget(cluster);
        for (const hostname of hostnamesOf(cluster)) names.forget(hostname);
      }
      return { id, outcome };
    } catch (error) {
      return abort.signal.aborted ? { id } : { id, problem: error instanceof Error ? error.message : String(error) };
    } finally {
      looks.delete(id);
    }
  };
  const answers = gathered<LookAnswer>(ANSWER_MS, (list) => port.postMessage(list satisfies FromProbeThread));
  port.on('message', (message: ToProbeThread) => {
    if (message.type === 'abort') looks.get(message.id)?.abort();
    else for (const { id, cluster } of message.looks) void look(id, cluster).then(answers.put);
  });
}

const hostnamesOf = ({ endpoints }: UpstreamCluster): string[] =>
  (endpoints.serverEndpoints ?? []).flatMap(({ serverAddress = '' }) =>
    URL.canParse(serverAddress) ? [new URL(serverAddress).hostname] : [],
  );

if (parentPort !== null) run(parentPort, workerData as ProbeThreadSettings);
