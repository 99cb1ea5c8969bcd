import type { ApiObject } from '../api/kind.ts';
import { isStatus } from '../client/errors.ts';
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
  const send = async (method: string, body?: object): Promise<Lease> => {
    const options = { body, expects: 'object', signal: AbortSignal.timeout(RENEW_MS) } as const;
    return (await api.request<Lease>(method, method === 'POST' ? leases : `${leases}/${NAME}`, options)).value;
  };
  /** Rejects with a 409 if another process has written it meanwhile. */
  const write = (lease: Lease | undefined, holderIdentity: string): Promise<Lease> => {
    // Kubernetes reads times of a Lease with six digits only.
    const renewTime = toTimestamp(timing.now()).replace('Z', '.000000Z');
    const spec = { holderIdentity, leaseDurationSeconds: LEASE_SECONDS, renewTime };
    const metadata = lease?.metadata ?? { name: NAME, namespace };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    return send(lease === undefined ? 'POST' : 'PUT', body);
  };
  /** The version that was read last, and since when it is the same: clocks of machines differ. */
  let seen = { version: '', since: 0 };
  const acquire = async (): Promise<Lease | undefined> => {
    const lease = await send('GET').catch(unlessAbsent);
    const { metadata: { resourceVersion: version = '' } = {}, spec: { holderIdentity = '' } = {} } = lease ?? {};
    if (version !== seen.version) seen = { version, since: timing.now() };
    const isFree = holderIdentity === '' || holderIdentity === holder;
    return isFree || timing.now() - seen.since >= LEASE_SECONDS * 1000 ? write(lease, holder) : undefined;
  };
  /** Resolves with the lease when it was lost, or when the signal is aborted. */
  const renew = async (held: Lease, ended: AbortSignal): Promise<Lease> => {
    let lease = held;
    for (let renewedAt = timing.now(); timing.now() - renewedAt < STOP_MS; ) {
      await timing.pause(RENEW_MS, ended);
      if (ended.aborted) break;
      try {
        lease = await write(lease, holder);
        renewedAt = timing.now();
      } catch (error) {
        tell(error);
        if (isStatus(error, 409)) break;
      }
    }
    return lease;
  };
  while (!signal.aborted) {
    try {
      const held = await acquire();
      tell();
      if (held !== undefined) {
        const ended = new AbortController();
        const isLeading = AbortSignal.any([signal, ended.signal]);
        const leading = lead(isLeading)
          .catch((error: Error) => log(error.message))
          .finally(() => ended.abort());
        const last = await renew(held, isLeading);
        ended.abort();
        await leading;
        // So that another one need not wait.
        if (signal.aborted) await write(last, '');
      }
    } catch (error) {
      tell(error);
    }
    await timing.pause(RENEW_MS, signal);
  }
}
