import type { Caller } from './caller.ts';
import type { Kind } from './kind.ts';

/** The labels of a cluster object. */
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
  /** False when its role is about objects of the fleet only. */
  readonly grantsInClusters: boolean;
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

/** When permissions change: with the write of a revision, or after it without a write. */
export interface PolicyMoment {
  readonly revision: number;
  /** 0: the write of the revision. From 1 on: the changes after it without a write, in order. */
  readonly change: number;
}

export const atRevision = (revision: number): PolicyMoment => ({ revision, change: 0 });

/** Before every change. */
export const BEGINNING = atRevision(0);

/** Negative if `a` is before `b`, 0 if they are the same moment. */
export const compareMoments = (a: PolicyMoment, b: PolicyMoment): number =>
  a.revision - b.revision || a.change - b.change;

export const laterMoment = (a: PolicyMoment, b: PolicyMoment): PolicyMoment => (compareMoments(a, b) < 0 ? b : a);

/**
 * A permission changed without a write, because its time was over: between this revision and the next. State and events
 * up to the revision are from before the change. `last` is the moment of the change before this one.
 */
export const justAfter = (revision: number, last: PolicyMoment = BEGINNING): PolicyMoment => ({
  revision,
  change: last.revision === revision ? last.change + 1 : 1,
});

/** The last revision whose state and events are from before a change at this moment. */
export const revisionBefore = ({ revision, change }: PolicyMoment): number => (change === 0 ? revision - 1 : revision);

/** Permissions with an expiry. A decision never counts one that has expired; open watches have to follow. */
export interface ExpiringPermissions {
  /**
   * Records those that have expired since the last call, and those that hold again because the clock went back. Returns
   * the moments, in order.
   */
  recordExpired(): readonly PolicyMoment[];
  /** Whether decisions follow a change that is not recorded yet. */
  readonly hasUnrecorded: boolean;
}

export interface ClusterVisibility {
  /** The rule in force now. */
  ruleFor(caller: Caller, verb: 'get' | 'list' | 'watch' | 'update'): VisibilityRule;
  /** The last change that may have changed this caller's rules. */
  changedAt(caller: Caller): PolicyMoment;
  /** Made for each call: it costs what the caller is bound to. */
  approvalRule(caller: Caller, kind: Pick<Kind, 'group' | 'resource'>): ApprovalRule;
  /** The rule as it was in the past, for a watch that resumes across a permission change. */
  ruleAt(caller: Caller, verb: 'get' | 'list' | 'watch' | 'update', moment: PolicyMoment): VisibilityRule;
}
