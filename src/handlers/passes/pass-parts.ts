import type { PassDecision, PassHolder } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import type { ApiObject } from '../../api/kind.ts';
import type { RequestScope } from '../../api/kinds/access-request-spec.ts';
import {
  type PassApproval,
  type PassSpec,
  type PassStatus,
  passAccount,
  passSpec,
  passStatus,
} from '../../api/kinds/pass-spec.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ApiError } from '../../api/status.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { PublicView, StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import type { DecisionRules } from '../approvals/decision.ts';
import type { OwnedParts } from '../find-for-caller.ts';
import type { IssueToken } from '../token/pass-use.ts';

/** A service account of a cluster. */
export interface PassAccount extends RequestScope {
  readonly name: string;
}

/** What authz/ decides about passes. */
interface PassRules extends DecisionRules {
  decide(caller: Caller, account: PassAccount, holder: PassHolder): PassDecision;
  /** The 403 of a decision that is not allowed. */
  refusal(caller: Caller, account: PassAccount, decision: PassDecision): ApiError;
}

interface PassLimits {
  /** Live passes of one requester and client. */
  readonly maxHandles: number;
  /** How many of them may wait for an approval. */
  readonly maxPending: number;
  readonly maxDurationSeconds: number;
}

/** What the handlers of passes share. */
export interface PassParts extends OwnedParts {
  readonly catalog: Catalog;
  readonly writer: ObjectWriter;
  readonly publicView: PublicView;
  readonly rules: PassRules;
  readonly limits: PassLimits;
  readonly revocations: Revocations;
  readonly issueToken: IssueToken;
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly clusterOfPeopleIssuer: (issuer: string) => string | undefined;
  /** Whether the cluster issues its own tokens. */
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
  readonly randomBytes: (size: number) => Uint8Array;
  /** Throws while the clock is known to be wrong: a pass says when it ends. */
  readonly requireRightClock: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export const holderOf = (client: PassSpec['client']): PassHolder => (client === undefined ? 'person' : 'agent');

const LEVELS: Readonly<Record<PassApproval, number>> = { none: 0, confirm: 1, review: 2 };

/** Whether the pass has at least the approval that is needed now. */
export const isApprovedFor = (
  { approval = 'none' }: PassStatus,
  { approval: needed }: Pick<PassDecision, 'approval'>,
): boolean => LEVELS[needed] <= LEVELS[approval];

export const ACCOUNT_DELETED = 'the service account was deleted: ask for another pass';

type AccountParts = Pick<PassParts, 'catalog'> & { readonly reader: Pick<PassParts['reader'], 'find'> };

/** The UID of the account that a pass is bound to. */
export function accountUID(
  { catalog, reader }: AccountParts,
  account: PassAccount,
): Pick<PassStatus, 'serviceAccountUID'> {
  const uid = reader.find(catalog.serviceAccounts, account)?.uid;
  return uid === undefined ? {} : { serviceAccountUID: uid };
}

/** Whether the account of the pass was deleted. Another one may have its name by now, and other permissions. */
export const isAccountDeleted = (parts: AccountParts, account: PassAccount, status: PassStatus): boolean =>
  status.serviceAccountUID !== undefined && accountUID(parts, account).serviceAccountUID !== status.serviceAccountUID;

/** The event of a token request has these in its path. The path of a pass does not, and the pass is deleted soon. */
export function annotateAccount(
  { annotate: add }: Pick<ApiRequest, 'annotate'>,
  { cluster, namespace, name }: PassAccount,
): void {
  add('clusterpass.dev/cluster', cluster);
  add('clusterpass.dev/service-account', `${namespace}/${name}`);
}

/** The audit event says which pass, for whom and why. The purpose is the one text of a body that is logged. */
export function annotate(request: Pick<ApiRequest, 'annotate'>, object: ApiObject): void {
  const { annotate: add } = request;
  const { purpose = '', client, requestedBy } = passSpec(object);
  const { approval = 'none', decidedBy, phase } = passStatus(object);
  annotateAccount(request, passAccount(passSpec(object)));
  add('clusterpass.dev/pass', object.metadata.name ?? '');
  add('clusterpass.dev/purpose', purpose);
  add('clusterpass.dev/requester', requestedBy?.username ?? '');
  add('clusterpass.dev/phase', phase ?? '');
  if (client !== undefined) {
    add('clusterpass.dev/client', client.id ?? '');
    add('clusterpass.dev/client-name', client.name ?? '');
  }
  if (approval !== 'none') add('clusterpass.dev/approval', approval);
  if (decidedBy !== undefined) add('clusterpass.dev/approved-by', decidedBy.username);
}

/** Whether the binding is no longer the one that asked for the approval. */
export function hasBindingChanged(
  { catalog, reader }: { readonly catalog: Catalog; readonly reader: Pick<ObjectReader, 'find'> },
  { bindingRef }: PassStatus,
): boolean {
  if (bindingRef === undefined) return false;
  const { namespace = '', name, resourceVersion } = bindingRef;
  const kind = namespace === '' ? catalog.clusterRoleBindings : catalog.roleBindings;
  return String(reader.find(kind, { cluster: '', namespace, name })?.revision) !== resourceVersion;
}
