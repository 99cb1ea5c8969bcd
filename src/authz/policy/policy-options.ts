import type { ClusterLabels } from '../../api/visibility.ts';
import type { PastRbacSnapshot } from './reference-evaluator.ts';

export interface PolicyOptions {
  /** The labels of a cluster as it is now: `{}` when it has none, undefined when it does not exist. */
  readonly labelsOf: (cluster: string) => ClusterLabels | undefined;
  /** As `labelsOf`, at a past revision. May throw as `snapshot` does. */
  readonly labelsAt: (cluster: string, revision: number) => ClusterLabels | undefined;
  /**
   * The objects at a past revision. May throw when the revision is too old; `ruleAt` and `decideAt` then throw the same
   * error.
   */
  readonly snapshot: (revision: number) => PastRbacSnapshot;
  /** Epoch milliseconds, for bindings that expire. */
  readonly now?: () => number;
  /** The size of the rule cache. */
  readonly maxRules?: number;
  /** How many subjects without bindings are kept, for the revision of their last change. */
  readonly maxIdleSubjects?: number;
}
