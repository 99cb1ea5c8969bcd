import type { ClusterLabels } from '../../api/visibility.ts';

export interface PolicyOptions {
  /** The labels of a cluster as it is now: `{}` when it has none, undefined when it does not exist. */
  readonly labelsOf: (cluster: string) => ClusterLabels | undefined;
  /** Epoch milliseconds, for bindings that end. */
  readonly now?: () => number;
  /** The size of the rule cache. */
  readonly maxRules?: number;
  /** How many subjects without bindings are kept, for the revision of their last change. */
  readonly maxIdleSubjects?: number;
}
