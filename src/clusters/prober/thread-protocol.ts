import type { UpstreamCluster } from '../upstream/contract.ts';
import type { Outcome } from './outcome.ts';

/** What the thread of the prober is started with. Plain data, as everything that crosses over. */
export interface ProbeThreadSettings {
  /** Networks of `--allow-address`. */
  readonly allowedNetworks: readonly string[];
  readonly credentialsDir: string | undefined;
  readonly ownPort: number;
  /** To how many clusters the connection stays open between two looks. */
  readonly keptConnections: number;
}

export type ToProbeThread =
  | { readonly type: 'look'; readonly id: number; readonly cluster: UpstreamCluster }
  | { readonly type: 'abort'; readonly id: number };

/** Without an outcome: the look was aborted, or broke for a reason that is ours. */
export interface FromProbeThread {
  readonly id: number;
  readonly outcome?: Outcome;
  readonly problem?: string;
}
