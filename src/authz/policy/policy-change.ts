import type { ApiObject } from '../../api/kind.ts';

/** A change of a stored role or binding. */
export interface PolicyChange {
  readonly resource: 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings';
  /** `""` for the two that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted, or `isOrphaned`. */
  readonly object: ApiObject | undefined;
  /** A binding that is stored, and bound to a cluster that was recreated since. */
  readonly isOrphaned?: boolean;
  readonly revision: number;
}
