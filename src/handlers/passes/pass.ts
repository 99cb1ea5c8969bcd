import type { PassDecision, PassHolder } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { type ApiObject, fleetKey, type ObjectKey } from '../../api/kind.ts';
import { REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import {
  PASS_DECISIONS,
  type PassApproval,
  type PassSpec,
  type PassStatus,
  passAccount,
  passSpec,
  passStatus,
  redeemCommand,
} from '../../api/kinds/pass-spec.ts';
import type { ApiRequest } from '../../api/request.ts';
import { type ApiError, conflict } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { Revocations } from '../../tokens/revocations/revocations.ts';
import type { Approvable, ApprovalParts, Ending, Grant, Granting } from '../approvals/approvable.ts';
import { checkNotDeleted } from '../approvals/decide.ts';
import { warnOfAccepted } from '../revoked-tokens.ts';
import type { ForeignAudienceParts } from '../token/parse-token-request.ts';
import type { IssueToken } from '../token/token-input.ts';

/** Passes that have ended are listed for that long. */
const RETENTION_MS = 3_600_000;

/** What the handlers of passes share. */
export interface PassParts extends ApprovalParts, ForeignAudienceParts {
  /** What authz/ decides about passes. */
  readonly rules: {
    decide(caller: Caller, account: ObjectKey, holder: PassHolder): PassDecision;
    /** The 403 of a decision that is not allowed. */
    refusal(caller: Caller, account: ObjectKey, decision: PassDecision): ApiError;
  };
  /** Live passes of one requester and client, and how many of them may wait for an approval. */
  readonly limits: { readonly maxHandles: number; readonly maxPending: number };
  readonly revocations: Revocations;
  readonly issueToken: IssueToken;
  readonly randomBytes: (size: number) => Uint8Array;
}

/** How passes and their tokens end. */
export const passEnding = (parts: Pick<PassParts, 'catalog' | 'reader' | 'revocations'>): Ending => ({
  kind: parts.catalog.passes,
  ended: 'Ended',
  timeOver: 'it has expired',
  deletion: DELETION,
  retentionMs: RETENTION_MS,
  endsEarly: (entry) => {
    const object = entry.object();
    const status = passStatus(object);
    if (isAccountDeleted(parts, passAccount(passSpec(object)), status)) {
      return { reason: 'AccountDeleted', message: ACCOUNT_DELETED };
    }
    return hasBindingChanged(parts, status)
      ? { reason: 'BindingChanged', message: 'the binding that allows it has changed: ask for another pass' }
      : undefined;
  },
  leftover: (entry) => {
    const { type, reason } = passStatus(entry.object()).conditions?.at(-1) ?? {};
    // The reason of a denial is the approver's.
    return type === DELETION.type && reason === DELETION.reason ? 'deletion' : undefined;
  },
  revoke: async ({ metadata, status }, by) => {
    const { revocations } = parts;
    const revoked: string[] = [];
    // Expired ones, too: the clock may be ahead, and nothing revokes them after the pass is removed.
    for (const { id, expirationTimestamp, revocable } of (status as PassStatus | undefined)?.tokens ?? []) {
      if (revocable === false || id === undefined) continue;
      await revocations.revoke(id, by, Date.parse(expirationTimestamp), metadata.labels?.[REQUESTER_LABEL]);
      revoked.push(id);
    }
    return revoked;
  },
});

const DELETION = { type: 'Ended', reason: 'Revoked' };

export const passes = (parts: PassParts): Approvable => ({
  ...passEnding(parts),
  granted: 'Ready',
  decisions: PASS_DECISIONS,
  scopeOf: (object) => passAccount(passSpec(object)),
  deciderOf: (object) => {
    const { approval = 'none' } = passStatus(object);
    return { none: undefined, confirm: 'the requester' as const, review: 'another person' as const }[approval];
  },
  accessOf: () => [],
  next: ({ metadata }) => redeemCommand(metadata.name ?? ''),
  ownRefusal: 'requesters do not review their own passes, nor through another identity',
  grant: (asked) => grantOf(parts, asked),
  annotate,
  warnAfterDeletion: (...deletion) => warnAfterDeletion(parts, ...deletion),
});

/**
 * An approval is about what the pass says, which cannot be changed, and for this one pass. It grants nothing by itself:
 * the permission of the requester is asked for again when the pass is redeemed.
 */
function grantOf(parts: PassParts, { entry, object, until }: Granting): Grant {
  const account = passAccount(passSpec(object));
  const status = passStatus(object);
  if (hasBindingChanged(parts, status)) {
    const why = 'the binding that allows it has changed: the requester has to ask for another pass';
    throw conflict(entry.kind, entry.name, why);
  }
  const check = (): void => {
    if (isAccountDeleted(parts, account, status)) throw conflict(entry.kind, entry.name, ACCOUNT_DELETED);
    checkNotDeleted(parts, entry, account);
  };
  check();
  const { serviceAccountUID: uid } = status;
  return {
    check,
    status: {
      ...(uid === undefined ? accountUID(parts, account) : {}),
      expirationTimestamp: toTimestamp(until),
    },
  };
}

export const holderOf = (client: PassSpec['client']): PassHolder => (client === undefined ? 'person' : 'agent');

const LEVELS: Readonly<Record<PassApproval, number>> = { none: 0, confirm: 1, review: 2 };

/** Whether the pass has at least the approval that is needed now. */
export const isApprovedFor = (
  { approval = 'none' }: PassStatus,
  { approval: needed }: Pick<PassDecision, 'approval'>,
): boolean => LEVELS[needed] <= LEVELS[approval];

export const ACCOUNT_DELETED = 'the service account was deleted: ask for another pass';

type AccountParts = Pick<PassParts, 'catalog' | 'reader'>;

/** The UID of the account that a pass is bound to. */
export function accountUID(
  { catalog, reader }: AccountParts,
  account: ObjectKey,
): Pick<PassStatus, 'serviceAccountUID'> {
  const uid = reader.find(catalog.serviceAccounts, account)?.uid;
  return uid === undefined ? {} : { serviceAccountUID: uid };
}

/** Whether the account of the pass was deleted. Another one may have its name by now, and other permissions. */
export const isAccountDeleted = (parts: AccountParts, account: ObjectKey, status: PassStatus): boolean =>
  status.serviceAccountUID !== undefined && accountUID(parts, account).serviceAccountUID !== status.serviceAccountUID;

/** The event of a token request has these in its path. The path of a pass does not, and the pass is deleted soon. */
export function annotateAccount(
  { annotate: add }: Pick<ApiRequest, 'annotate'>,
  { cluster, namespace, name }: ObjectKey,
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

/** Whether the binding of a pending pass is no longer the one that asked for the approval. */
function hasBindingChanged({ catalog, reader }: AccountParts, { bindingRef, phase }: PassStatus): boolean {
  if (bindingRef === undefined || phase !== 'Pending') return false;
  // Only bindings of this kind ask for approvals.
  const found = reader.find(catalog.fleetRoleBindings, fleetKey(bindingRef.name))?.object().metadata;
  return found?.uid !== bindingRef.uid || found?.generation !== bindingRef.generation;
}

function warnAfterDeletion(parts: PassParts, request: ApiRequest, pass: ApiObject, revoked: readonly string[]): void {
  const { cluster = '' } = passSpec(pass);
  if (passStatus(pass).tokens?.some(({ revocable }) => revocable === false)) {
    request.warn(`cluster "${cluster}" has issued tokens of this pass itself, and accepts them until they expire`);
  }
  const { audiences = [] } = passSpec(pass);
  const tokens = (passStatus(pass).tokens ?? [])
    .filter(({ id = '' }) => revoked.includes(id))
    .map(({ expirationTimestamp }) => ({ cluster, expirationTimestamp, isForClusterOnly: audiences.length === 0 }));
  warnOfAccepted(parts, request, 'the tokens of this pass', tokens);
}
