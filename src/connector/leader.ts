import type { ApiObject } from '../api/kind.ts';
import { problemLog } from '../lib/problem-log.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { ConnectorParts } from './parts.ts';
import { unlessAbsent } from './records.ts';

const NAME = 'clusterpass-connector';
const LEASE_SECONDS = 15;
/** A leader that has not renewed for so long stops: before another one begins. */
const STOP_MS = 10_000;
const RENEW_MS = 3_000;

type Lease = ApiObject & { readonly spec?: { readonly holderIdentity?: string } };

/**
 * Runs `lead` whenever this process leads, until the signal is aborted; that of `lead` is aborted when the process
 * leads no more. Of several connectors one leads, by a Lease in their namespace.
 */
export async function whileLeading(
  { api, namespace, holder, timing, log }: Pick<ConnectorParts, 'api' | 'namespace' | 'holder' | 'timing' | 'log'>,
  signal: AbortSignal,
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const tell = problemLog(log, `the Lease ${namespace}/${NAME}`);
  /** Rejects with a 409 if another process has written it meanwhile. */
  const write = async (lease: Lease | undefined, holderIdentity: string, within: AbortSignal): Promise<Lease> => {
    // Kubernetes reads times of a Lease with six digits only.
    const renewTime = toTimestamp(timing.now()).replace('Z', '.000000Z');
    const spec = { holderIdentity, leaseDurationSeconds: LEASE_SECONDS, renewTime };
    const metadata = lease?.metadata ?? { name: NAME, namespace };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const [method, path] = lease === undefined ? ['POST', leases] : ['PUT', `${leases}/${NAME}`];
    return (await api.request<Lease>(method, path, { body, expects: 'object', signal: within })).value;
  };
  /** The version that was read last, and since when it is the same: clocks of machines differ. */
  let seen = { version: '', since: 0 };
  let held: Lease | undefined;
  let renewedAt = 0;
  let term: { readonly end: AbortController; readonly ended: Promise<void> } | undefined;
  const begin = (): typeof term => {
    const end = new AbortController();
    const leading = lead(AbortSignal.any([signal, end.signal])).catch((error: Error) => log(error.message));
    const ended = leading.then(() => {
      term = undefined;
    });
    return { end, ended };
  };
  while (!signal.aborted) {
    const within = AbortSignal.timeout(RENEW_MS);
    try {
      const get = api.request<Lease>('GET', `${leases}/${NAME}`, { expects: 'object', signal: within });
      const lease = (await get.catch(unlessAbsent))?.value;
      const version = lease?.metadata.resourceVersion ?? '';
      if (version !== seen.version) seen = { version, since: timing.now() };
      const isFree = [undefined, '', holder].includes(lease?.spec?.holderIdentity);
      held =
        isFree || timing.now() - seen.since >= LEASE_SECONDS * 1000 ? await write(lease, holder, within) : undefined;
      if (held !== undefined && !signal.aborted) term ??= begin();
      renewedAt = held === undefined ? 0 : timing.now();
      tell();
    } catch (error) {
      tell(error);
    }
    if (timing.now() - renewedAt >= STOP_MS) term?.end.abort();
    await timing.pause(RENEW_MS, signal);
  }
  await term?.ended;
  // So that another one need not wait.
  if (held !== undefined) await write(held, '', AbortSignal.timeout(RENEW_MS)).catch(tell);
}
