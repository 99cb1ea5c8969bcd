import type { Grant } from '../../api/decision.ts';
import type { ApiObject } from '../../api/kind.ts';

/** A change of a stored role or binding. */
export interface PolicyChange {
  readonly kind: 'ClusterRole' | 'Role' | Grant['kind'];
  /** `""` for those that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted, or not in force. */
  readonly object: ApiObject | undefined;
  readonly revision: number;
}
