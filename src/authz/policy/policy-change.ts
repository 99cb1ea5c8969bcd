import type { Grant } from '../../api/authorization.ts';
import type { ApiObject } from '../../api/kind.ts';

/** A change of a stored role or binding. */
export interface PolicyChange {
  readonly kind: 'ClusterRole' | 'Role' | Grant['kind'];
  /** `""` for those that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted, or `isOrphaned`. */
  readonly object: ApiObject | undefined;
  /** A binding that is stored, and bound to a cluster that was recreated since. */
  readonly isOrphaned?: boolean;
  readonly revision: number;
}
