import type { ApiObject } from '../api/kind.ts';

/** A change of a stored role or binding. */
export interface PolicyChange {
  readonly resource: 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings';
  /** `""` for the two that are not namespaced. */
  readonly namespace: string;
  readonly name: string;
  /** Undefined: deleted, or `isEnded`. */
  readonly object: ApiObject | undefined;
  /** A binding that is stored, and has ended with its cluster. */
  readonly isEnded?: boolean;
  readonly revision: number;
}
