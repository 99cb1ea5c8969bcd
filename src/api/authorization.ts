import type { Caller, Identity } from './caller.ts';
import { PROFILE_GROUP, PROFILE_RESOURCE } from './clusters/profile-of-cluster.ts';
import type { Decision, FoundGrant, Grant } from './decision.ts';
import { accessRequestKind } from './kinds/access-request.ts';
import { bootstrapTokenKind, JOIN_SUBRESOURCE } from './kinds/bootstrap-token.ts';
import { CLUSTER_GROUP, isClusters } from './kinds/cluster-spec.ts';
import { issuedTokenKind } from './kinds/issued-token.ts';
import { passKind } from './kinds/pass.ts';
import type { PassApproval } from './kinds/pass-spec.ts';
import { tokenRequestListType } from './kinds/token-request.ts';
import type { Target } from './request.ts';
import type { ClusterLabels } from './visibility.ts';

/** May this caller do this? The attributes of a Kubernetes request (P-01..P-04). */
export interface ResourceQuestion extends Omit<Target, 'verb' | 'version' | 'alwaysPublic'> {
  readonly verb: string;
}

/** About a resource: all objects of it at the fleet, unless `more` says otherwise. */
export const questionAbout = (
  { group, resource }: Pick<ResourceQuestion, 'group' | 'resource'>,
  verb: string,
  more: Partial<ResourceQuestion> = {},
): ResourceQuestion => ({
  verb,
  group,
  resource,
  subresource: '',
  namespace: '',
  name: '',
  cluster: undefined,
  ...more,
});

/** About one cluster of the fleet, whose bindings count. */
export const clusterQuestion = (verb: string, name: string): ResourceQuestion =>
  questionAbout({ group: CLUSTER_GROUP, resource: 'clusters' }, verb, { name, cluster: name });

export interface PathQuestion {
  readonly verb: string;
  readonly path: string;
}

export interface Authorizer {
  decide(caller: Identity, question: ResourceQuestion): Decision;
  decidePath(caller: Identity, question: PathQuestion): Decision;
}

/** A decision about passes of an account. */
export interface PassDecision extends Decision {
  /** What a pass needs that the caller asks for. */
  readonly approval: PassApproval;
}

/** Who holds a pass: the caller, or an agent that asks for the caller. */
export type PassHolder = 'person' | 'agent';

export interface PassAuthorizer {
  decidePass(caller: Identity, question: ResourceQuestion, holder: PassHolder): PassDecision;
}

/** About tokens of a service account. */
export const tokenQuestion = (account: Readonly<Record<'cluster' | 'namespace' | 'name', string>>): ResourceQuestion =>
  questionAbout({ group: '', resource: 'serviceaccounts' }, 'create', { subresource: 'token', ...account });

/** Finds the bindings that allow something, to any subject. */
export interface GrantFinder {
  /**
   * Unordered. For a question without a name, bindings that allow it for some names, too. Yields undefined now and
   * then, where the reader may pause; later changes may then be included. Unless `isKnown`, the cluster of the question
   * counts as one that does not exist, with no labels.
   */
  grantsOf(
    question: ResourceQuestion | PathQuestion,
    cluster: Pick<ClusterLabelChange, 'isKnown'>,
  ): Iterable<FoundGrant | undefined>;
  /** The bindings that hold in a cluster with its labels or with others. Undefined as above. */
  grantsIn(cluster: ClusterLabelChange): Iterable<GrantInCluster | undefined>;
  /** Who reaches what in a cluster; of a user, what that user reaches there. `isKnown` and undefined as above. */
  reach(of?: Identity): (cluster: string, isKnown: boolean) => Iterable<FoundGrant | undefined>;
}

/** A cluster, and the labels that it might have. */
export interface ClusterLabelChange {
  readonly cluster: string;
  /** False: the cluster counts as one that does not exist, with no labels. */
  readonly isKnown: boolean;
  /** Undefined: they stay as they are. */
  readonly labels: ClusterLabels | undefined;
}

export interface GrantInCluster {
  readonly grant: Grant;
  /** Whether it holds now. */
  readonly before: boolean;
  /** Whether it holds with the other labels. */
  readonly after: boolean;
}

/** The rules of a caller in one cluster and namespace. */
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
  /** True when the caller holds further rules in some clusters only. */
  readonly restricted: boolean;
  /** True when rules are left out because there are too many. */
  readonly shortened: boolean;
  /** True when a binding gives further permissions only with an approval. */
  readonly needsApproval: boolean;
  /** As `Decision.reason`. */
  readonly reason: string;
}

export interface RuleLister {
  rulesFor(caller: Caller, scope: { readonly cluster: string | undefined; readonly namespace: string }): CallerRules;
}

export const READ_VERBS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/**
 * The permission that a question is about. To read a cluster profile is to read its cluster (CP-61): profiles have no
 * separate permissions, so the two cannot disagree. Writes of profiles are not served, and stay as they are.
 */
export function permissionAskedFor(question: ResourceQuestion): ResourceQuestion {
  if (!isProfiles(question) || question.cluster !== undefined || !READ_VERBS.has(question.verb)) return question;
  const { verb, name } = question;
  return { ...clusterQuestion(verb, name), cluster: name === '' ? undefined : name };
}

/** The cluster of a question. A Cluster object belongs to the cluster it describes: bindings restricted to it hold. */
export const clusterAskedAbout = (
  question: Pick<ResourceQuestion, 'group' | 'resource' | 'name'>,
  pathCluster: string | undefined,
): string | undefined => pathCluster ?? (isClusters(question) && question.name !== '' ? question.name : undefined);

/** Why a question below the path of a cluster that names another cluster, or its profile, has no answer there. */
export const ASKED_AT_ANOTHER_CLUSTER =
  'clusters are objects of the fleet: ask at the address of the fleet, without --cluster';

/**
 * Whether a question below the path of a cluster names another cluster. Such a request is 404. By the bindings of the
 * path's cluster it would be allowed to callers who may not see the named one.
 */
export const isAskedAtAnotherCluster = (
  question: Pick<ResourceQuestion, 'group' | 'resource' | 'name'>,
  pathCluster: string | undefined,
): boolean =>
  (isClusters(question) || isProfiles(question)) &&
  pathCluster !== undefined &&
  question.name !== '' &&
  question.name !== pathCluster;

/** As in requestinfo.go: a request about a Namespace object is a request in that namespace, so its roles count. */
export const namespaceAskedAbout = (asked: Omit<ResourceQuestion, 'verb' | 'subresource' | 'cluster'>): string =>
  asked.group === '' && asked.resource === 'namespaces' ? asked.name : asked.namespace;

type Asked = Pick<ResourceQuestion, 'verb' | 'group' | 'resource' | 'subresource' | 'cluster'>;

/**
 * Decision 9: a list of clusters, or of their profiles, is never refused as a whole, but filtered cluster by cluster.
 * Nor is a list of issued tokens, access requests or passes: a caller who may not see all of them gets those it
 * requested, and those that it may approve.
 */
export const isFilteredList = (asked: Asked): boolean =>
  asked.cluster === undefined &&
  (isClusters(asked) || isIssuedTokens(asked) || isApprovable(asked) || isProfiles(asked)) &&
  asked.subresource === '' &&
  (asked.verb === 'list' || asked.verb === 'watch');

/**
 * Requests that the handler authorizes. A caller may get and revoke the issued tokens it requested without a rule, and
 * get and delete its access requests and passes. The permission to create or to decide one of these is asked for in the
 * cluster that the object names, and so is the one to redeem a pass. A bootstrap token registers its cluster with the
 * permissions of its creator.
 */
export const isDecidedByHandler = (asked: Asked): boolean => {
  const { verb, subresource, cluster } = asked;
  if (cluster !== undefined) return false;
  const isOwners = subresource === '' && (verb === 'get' || verb === 'delete');
  if (isIssuedTokens(asked)) return isOwners;
  if (isBootstrapTokens(asked)) return subresource === JOIN_SUBRESOURCE && verb === 'create';
  if (isPasses(asked) && subresource === 'token') return true;
  return isApprovable(asked) && (isOwners || (subresource === '' ? verb === 'create' : subresource === 'approval'));
};

/** `/auth/v1/passes`: each token of the list is authorized by itself. */
export const isTokenRequestList = ({ group, resource, alwaysPublic }: Target): boolean =>
  alwaysPublic && group === tokenRequestListType.group && resource === tokenRequestListType.resource;

type GroupResource = Pick<ResourceQuestion, 'group' | 'resource'>;

const isAbout =
  (kind: GroupResource) =>
  ({ group, resource }: GroupResource): boolean =>
    group === kind.group && resource === kind.resource;

const isIssuedTokens = isAbout(issuedTokenKind);
const isAccessRequests = isAbout(accessRequestKind);
const isBootstrapTokens = isAbout(bootstrapTokenKind);
const isPasses = isAbout(passKind);
const isProfiles = isAbout({ group: PROFILE_GROUP, resource: PROFILE_RESOURCE });
const isApprovable = (asked: GroupResource): boolean => isAccessRequests(asked) || isPasses(asked);
