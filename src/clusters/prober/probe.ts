import {
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCluster,
  UpstreamError,
} from '../upstream/upstream-contract.ts';
import type { Fault, Outcome } from './outcome.ts';

export interface ProbeOptions {
  readonly upstream: Pick<Upstream, 'request'>;
  /** Whether the desk has credentials at all. */
  readonly hasCredentials: boolean;
}

/** For each of the two questions. A server that takes longer than this does not serve people either. */
const TIMEOUT_MS = 5_000;
/** Real answers have a few hundred bytes. */
const MAX_VERSION_BYTES = 16 * 1024;
/** It is shown to everyone who sees the cluster, and it is the cluster that chooses it. */
const VERSION = /^[\w.+-]{1,64}$/;

/** One look at a cluster: is it ready, and what does it run? Rejects only when the signal aborts. */
export function createProbe({ upstream, hasCredentials }: ProbeOptions) {
  return async (cluster: UpstreamCluster, signal: AbortSignal): Promise<Outcome> => {
    // With the credential that tokens are fetched with, where there is one: that it is refused should show here
    // first, and not in the hands of the next caller.
    const credential = hasCredentials && cluster.confirmed;
    const ask = (path: string, last: boolean): Promise<UpstreamAnswer> =>
      upstream.request(cluster, { method: 'GET', path, credential, timeoutMs: TIMEOUT_MS, signal, last });
    try {
      const problem = readinessProblem(await ask('/readyz', false), credential);
      return problem ?? { ready: true, version: await askVersion(() => ask('/version', true), signal) };
    } catch (error) {
      if (signal.aborted || !(error instanceof UpstreamError)) throw error;
      return failed(FAULTS[error.reason], `/readyz could not be asked: ${error.message}.`);
    }
  };
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

/** kube-apiserver lists its checks one in a line: `[+]ping ok`, `[-]etcd failed: reason withheld`. */
function failedChecks(body: Buffer): string[] {
  const text = body.subarray(0, MAX_VERSION_BYTES).toString('latin1');
  return [...text.matchAll(/^\[-\]([\w/.-]{1,64}) failed/gm)].slice(0, MAX_CHECKS).map((match) => match[1] ?? '');
}

/** A cluster that is ready and does not tell its version is ready. */
async function askVersion(ask: () => Promise<UpstreamAnswer>, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status, body } = await ask();
    if (status !== 200 || body.length > MAX_VERSION_BYTES) return undefined;
    const parsed: unknown = JSON.parse(body.toString());
    const version = typeof parsed === 'object' && parsed !== null && 'gitVersion' in parsed ? parsed.gitVersion : '';
    return typeof version === 'string' && VERSION.test(version) ? version : undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
