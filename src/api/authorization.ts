import type { Caller } from './caller.ts';
import { CLUSTER_GROUP } from './kinds/cluster.ts';
import { issuedTokenKind } from './kinds/issued-token.ts';

/** What is asked of authz/: may this caller do this? Mirrors the attributes of a Kubernetes request (P-01..P-04). */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** `""` when the question is about the resource itself. */
  readonly subresource: string;
  /** `""` for cluster scope, or all namespaces. */
  readonly namespace: string;
  /** `""` for a collection. */
  readonly name: string;
  /** The cluster the request is about; undefined for the fleet's own objects. */
  readonly cluster: string | undefined;
}

export interface PathQuestion {
  readonly verb: string;
  readonly path: string;
}

export interface Decision {
  readonly allowed: boolean;
  /** The binding that allowed it, for audit and for people who ask why. */
  readonly binding?: string;
  /** What that binding says; absent when no binding was needed. */
  readonly grant?: Grant;
  /** Why nothing could be decided for a part of the rules, e.g. a role that does not exist; `""` otherwise (P-35). */
  readonly reason: string;
}

/** A binding: which role it gives, and to whom. */
export interface Grant {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: 'user' | 'group'; readonly name: string }[];
}

export interface Authorizer {
  decide(caller: Caller, question: ResourceQuestion): Decision;
  decidePath(caller: Caller, question: PathQuestion): Decision;
}

/** Everything a caller may do in one place, as far as rules can say it. */
export interface CallerRules {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
  }[];
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[];
    readonly nonResourceURLs: readonly string[];
  }[];
  /** True when the caller holds more than this, in some clusters only. */
  readonly restricted: boolean;
  /** True when there are too many to list them all. */
  readonly shortened: boolean;
  /** As `Decision.reason`: bindings that cannot be followed. */
  readonly reason: string;
}

export interface RuleLister {
  rulesFor(caller: Caller, place: { readonly cluster: string | undefined; readonly namespace: string }): CallerRules;
}

/** A cluster's entry in the registry is a matter of that cluster: bindings for it hold. */
export const clusterAskedAbout = (
  question: Pick<ResourceQuestion, 'group' | 'resource' | 'name'>,
  pathCluster: string | undefined,
): string | undefined => pathCluster ?? (isClusters(question) && question.name !== '' ? question.name : undefined);

/** As in requestinfo.go: a request about one namespace is a request in it, so its own roles count. */
export const namespaceAskedAbout = ({
  group,
  resource,
  namespace,
  name,
}: Omit<ResourceQuestion, 'verb' | 'subresource' | 'cluster'>): string =>
  group === '' && resource === 'namespaces' ? name : namespace;

type Asked = Pick<ResourceQuestion, 'verb' | 'group' | 'resource' | 'subresource' | 'cluster'>;

/**
 * Decision 9: listing clusters is never refused as a whole; what is listed is filtered cluster by cluster. Nor is
 * listing issued tokens: whoever may not see all of them is shown their own.
 */
export const isFilteredList = (asked: Asked): boolean =>
  asked.cluster === undefined &&
  (isClusters(asked) || isIssuedTokens(asked)) &&
  asked.subresource === '' &&
  (asked.verb === 'list' || asked.verb === 'watch');

/** One's own issued tokens can be seen and revoked without a rule, so the handler has to look whose it is. */
export const isForOwners = (asked: Asked): boolean =>
  asked.cluster === undefined &&
  isIssuedTokens(asked) &&
  asked.subresource === '' &&
  (asked.verb === 'get' || asked.verb === 'delete');

const isIssuedTokens = ({ group, resource }: Pick<ResourceQuestion, 'group' | 'resource'>): boolean =>
  group === issuedTokenKind.group && resource === issuedTokenKind.resource;

const isClusters = ({ group, resource }: Pick<ResourceQuestion, 'group' | 'resource'>): boolean =>
  group === CLUSTER_GROUP && resource === 'clusters';

/** Labels as they count for selectors over clusters: the cluster's own plus its name. */
export type ClusterLabels = Readonly<Record<string, string>>;

/** Which clusters one caller sees with one verb. */
export interface ClusterRule {
  /**
   * Rules of the same fingerprint admit the same clusters. Watches with equal fingerprints share their events, and a
   * permission change that keeps a caller's fingerprint changes nothing for that caller.
   */
  readonly fingerprint: string;
  /** Everything, without looking. */
  readonly all: boolean;
  /** Nothing, without looking. */
  readonly none: boolean;
  /** `labels` are the cluster's own labels; the name counts as `kubernetes.io/metadata.name`. */
  admits(name: string, labels: ClusterLabels | undefined): boolean;
  /**
   * A superset of what is admitted that can be looked up without walking the fleet: names, and
   * labels one of which an admitted cluster must carry. Undefined when there is none (`all`, `!=`, `notin`).
   */
  readonly candidates: Places | undefined;
  /** Every candidate is admitted, so none needs to be asked about. Without a promise of it they are. */
  readonly admitsCandidates?: boolean;
  /** Where to look for what only one of the two rules admits; undefined when that can not be told. */
  differsFrom?(other: ClusterRule): Places | undefined;
}

/** Clusters by name, and by labels of which they carry one. */
export interface Places {
  readonly names: readonly string[];
  readonly labels: readonly { readonly key: string; readonly value: string }[];
}

export const ALL_CLUSTERS: ClusterRule = {
  fingerprint: 'all',
  all: true,
  none: false,
  admits: () => true,
  candidates: undefined,
};

export const NO_CLUSTERS: ClusterRule = {
  fingerprint: 'none',
  all: false,
  none: true,
  admits: () => false,
  candidates: { names: [], labels: [] },
};

export interface ClusterVisibility {
  /** The rule in force now. */
  ruleFor(caller: Caller, verb: 'get' | 'list' | 'watch' | 'update'): ClusterRule;
  /** The revision of the last change that may have changed this caller's rules. */
  changedAt(caller: Caller): number;
  /** The rule as it was at a past revision, for a watch that resumes across a permission change. */
  ruleAt(caller: Caller, verb: 'get' | 'list' | 'watch' | 'update', revision: number): ClusterRule;
}
