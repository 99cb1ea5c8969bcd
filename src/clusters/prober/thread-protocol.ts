import type { UpstreamCluster } from '../upstream/upstream-contract.ts';
import type { Outcome } from './outcome.ts';

/** What the thread of the prober is started with. Plain data, as everything that crosses over. */
export interface ProbeThreadSettings {
  /** Networks of `--allow-upstream-cidr`. */
  readonly allowedNetworks: readonly string[];
  readonly credentialsDir: string | undefined;
  readonly ownPort: number;
  /** To how many clusters the connection stays open between two looks. */
  readonly keptConnections: number;
}

export interface Look {
  readonly id: number;
  readonly cluster: UpstreamCluster;
}

/** Several in one message, both ways: to wake the other thread costs as much as a good part of a look. */
export type ToProbeThread =
  | { readonly type: 'look'; readonly looks: readonly Look[] }
  | { readonly type: 'abort'; readonly id: number };

/** Without an outcome: the look was aborted, or broke for a reason that is ours. */
export interface LookAnswer {
  readonly id: number;
  readonly outcome?: Outcome;
  readonly problem?: string;
}

export type FromProbeThread = readonly LookAnswer[];
