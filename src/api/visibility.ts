import type { Caller } from './caller.ts';
import type { Kind } from './kind.ts';

export type ClusterLabels = Readonly<Record<string, string>>;

/** Which objects of a kind one caller sees with one verb: clusters, issued tokens, access requests or passes. */
export interface VisibilityRule {
  /**
   * Rules of the same fingerprint admit the same objects. Watches with equal fingerprints share their events, and a
   * permission change that keeps a caller's fingerprint changes nothing for that caller.
   */
  readonly fingerprint: string;
  /** True: admits every object. */
  readonly all: boolean;
  /** True: admits no object. */
  readonly none: boolean;
  /** `labels` are the object's own; the name of a cluster counts as its `kubernetes.io/metadata.name`. */
  admits(name: string, labels: Readonly<Record<string, string>> | undefined): boolean;
  /** A superset of the admitted objects that indexes can find. Undefined when there is none (`all`, `!=`, `notin`). */
  readonly candidates: ObjectLookup | undefined;
  /** True: every candidate is admitted, so `admits` need not be called. */
  readonly admitsCandidates?: boolean;
  /** A superset of the objects that only one of the two rules admits; undefined when there is no such superset. */
  differsFrom?(other: VisibilityRule): ObjectLookup | undefined;
  /** For rules that depend on the labels of clusters; as `ApprovalRule.changesWith`. */
  readonly changesWith?: ApprovalRule['changesWith'];
}

/** The objects with one of the names or one of the labels. */
export interface ObjectLookup {
  readonly names: readonly string[];
  readonly labels: readonly { readonly key: string; readonly value: string }[];
}

export const ALL_VISIBLE: VisibilityRule = {
  fingerprint: 'all',
  all: true,
  none: false,
  admits: () => true,
  candidates: undefined,
};

export const NONE_VISIBLE: VisibilityRule = {
  fingerprint: 'none',
  all: false,
  none: true,
  admits: () => false,
  candidates: { names: [], labels: [] },
};

/** Where a binding that selects clusters holds. */
export interface BindingReach {
  readonly clusters: VisibilityRule;
  /** Whether it selects by labels that callers who may patch a cluster can set. */
  readonly byUnprotectedLabels: boolean;
}

/** Which access requests or passes a caller may approve, by the bindings at the time when the rule was made. */
export interface ApprovalRule {
  /** Rules of the same fingerprint admit the same requests. */
  readonly fingerprint: string;
  readonly all: boolean;
  readonly none: boolean;
  /** By the present labels of the cluster. One that does not exist is admitted only by a rule for all clusters. */
  admits(cluster: string, namespace: string): boolean;
  /** Whether new labels of a cluster change what the rule admits. Undefined labels: the cluster does not exist. */
  changesWith(cluster: string, before: ClusterLabels | undefined, after: ClusterLabels | undefined): boolean;
}

/** The times between which none of a caller's permissions begins or ends, in epoch milliseconds. */
export interface TimeSpan {
  /** The last end so far; -Infinity when none of its bindings that are stored has ended. */
  readonly from: number;
  /** The next end; Infinity when there is none. */
  readonly until: number;
}

export interface ClusterVisibility {
  /** The rule in force now. */
  ruleFor(caller: Caller, verb: 'get' | 'list' | 'watch' | 'update'): VisibilityRule;
  /**
   * The revision of the last change that may have changed this caller's rules. Infinity while one of its bindings has
   * ended and is still stored: no revision says when, until the leader deletes it.
   */
  changedAt(caller: Caller): number;
  /** Watches that follow the changes of the policy are right until then. */
  spanOf(caller: Caller): TimeSpan;
  /** Made for each call: it costs what the caller is bound to. */
  approvalRule(caller: Caller, kind: Pick<Kind, 'group' | 'resource'>): ApprovalRule;
}
