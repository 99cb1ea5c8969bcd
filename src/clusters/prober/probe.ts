import { memberOf, parsedJson } from '../../lib/json.ts';
import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCluster,
  UpstreamError,
} from '../upstream/upstream-contract.ts';
import type { Fault, Outcome } from './outcome.ts';

interface ProbeOptions {
  readonly upstream: Pick<Upstream, 'request' | 'forget'>;
  /** Whether `--credentials-dir` is set. */
  readonly hasCredentials: boolean;
}

/** For each of the two requests. A server that takes longer does not serve people either. */
const TIMEOUT_MS = 5_000;
/** Real answers are a few hundred bytes long. */
const MAX_VERSION_BYTES = 16 * 1024;
/** The cluster chooses the text, and everyone who may see the cluster can read it. */
const VERSION = /^[\w.+-]{1,64}$/;

/** Several API servers may be behind one address: each of these is sent over a new connection. */
const REFRESH_REQUESTS = 3;

/**
 * Probes a cluster: `/readyz`, then `/version`. Rejects only when the signal aborts.
 *
 * A ready cluster is then sent `refreshToken`, which no key verifies: it makes kube-apiserver read the key set of its
 * issuer again.
 */
export function createProbe({ upstream, hasCredentials }: ProbeOptions) {
  return async (cluster: UpstreamCluster, signal: AbortSignal, refreshToken?: string): Promise<Outcome> => {
    // With the credential of forwarded token requests, so that the condition shows a refused credential before a caller
    // meets it.
    const credential = hasCredentials && cluster.confirmed;
    const get = (path: string, last: boolean): Promise<UpstreamAnswer> =>
      upstream.request(cluster, { method: 'GET', path, credential, timeoutMs: TIMEOUT_MS, signal, last });
    try {
      const problem = readinessProblem(await get('/readyz', false), credential);
      if (problem !== undefined) return problem;
      const version = await readVersion(() => get('/version', true), signal);
      if (refreshToken === undefined) return { ready: true, version };
      return { ready: true, version, refreshed: await refreshKeys(upstream, cluster, refreshToken, signal) };
    } catch (error) {
      if (signal.aborted || !(error instanceof UpstreamError)) throw error;
      return failed(FAULTS[error.reason], `/readyz could not be asked: ${error.message}.`);
    }
  };
}

/** True when each request was answered; the expected answer is 401. */
async function refreshKeys(
  upstream: ProbeOptions['upstream'],
  cluster: UpstreamCluster,
  bearer: string,
  signal: AbortSignal,
): Promise<boolean> {
  const request = {
    method: 'GET',
    path: '/version',
    credential: false,
    bearer,
    timeoutMs: TIMEOUT_MS,
    signal,
  } as const;
  try {
    for (let sent = 0; sent < REFRESH_REQUESTS; sent++) {
      upstream.forget(cluster);
      await upstream.request(cluster, { ...request, last: true });
    }
    return true;
  } catch (error) {
    if (signal.aborted || !(error instanceof UpstreamError)) throw error;
    return false;
  }
}

const FAULTS: Readonly<Record<UpstreamError['reason'], Fault>> = {
  network: 'network',
  timeout: 'timeout',
  tls: 'tls',
  credential: 'credential',
  server: 'answer',
  address: 'address',
};

const failed = (fault: Fault, message: string): Outcome => ({ ready: false, fault, message });

function readinessProblem({ status, body }: UpstreamAnswer, credential: boolean): Outcome | undefined {
  if (status === 200) return undefined;
  if (status === 401 || status === 403) {
    const how = credential ? 'with the credential of the cluster' : 'without a credential';
    return failed('credential', `The API server answered ${status} to /readyz, asked ${how}.`);
  }
  if (status >= 500 || status === 429) {
    const checks = failedChecks(body);
    const which = checks.length === 0 ? '' : `; failed checks: ${checks.join(', ')}`;
    return failed('unready', `The API server says that it is not ready (${status} from /readyz)${which}.`);
  }
  return failed('answer', `${status} is no answer of an API server to /readyz.`);
}

const MAX_CHECKS = 5;

/** kube-apiserver lists one check per line: `[+]ping ok`, `[-]etcd failed: reason withheld`. */
function failedChecks(body: Buffer): string[] {
  const text = body.subarray(0, MAX_VERSION_BYTES).toString('latin1');
  return [...text.matchAll(/^\[-\]([\w/.-]{1,64}) failed/gm)].slice(0, MAX_CHECKS).map((match) => match[1] ?? '');
}

/** A cluster without a readable version is still ready. */
async function readVersion(get: () => Promise<UpstreamAnswer>, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status, body } = await get();
    if (status !== 200 || body.length > MAX_VERSION_BYTES) return undefined;
    const version = memberOf(parsedJson(body.toString()), 'gitVersion');
    return typeof version === 'string' && VERSION.test(version) ? version : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
