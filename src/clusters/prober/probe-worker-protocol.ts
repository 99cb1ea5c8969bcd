import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import type { Outcome } from './outcome.ts';

/** `workerData` of the probe worker. Everything that crosses the threads is plain data. */
export interface ProbeWorkerSettings {
  /** Networks of `--cluster-networks`. */
  readonly clusterNetworks: readonly string[];
  readonly credentialsDir: string | undefined;
  readonly ownPort: number;
  /** Connections that may stay open between two probes. */
  readonly keepAliveConnections: number;
}

export interface ProbeRequest {
  readonly id: number;
  readonly cluster: UpstreamCluster;
  /** A token that no key verifies, to be sent after a successful probe. */
  readonly refreshToken?: string;
}

/** Several probes in one message, in both directions: waking the other thread costs a good part of a probe. */
export type ToProbeWorker =
  | { readonly type: 'probe'; readonly probes: readonly ProbeRequest[] }
  | { readonly type: 'abort'; readonly id: number };

/** Without an outcome the probe was aborted, or failed because of an error of ours, which `problem` names. */
export interface ProbeResponse {
  readonly id: number;
  readonly outcome?: Outcome;
  readonly problem?: string;
}

export type FromProbeWorker = readonly ProbeResponse[];
