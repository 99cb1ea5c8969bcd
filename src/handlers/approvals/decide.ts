import type { Caller } from '../../api/caller.ts';
import { type ApiObject, fleetKey, type Kind, type ObjectKey, objectKeyOf } from '../../api/kind.ts';
import {
  accountText,
  approvalSpec,
  approvalStatus,
  isOpenPhase,
  type RequestCondition,
} from '../../api/kinds/approval.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import {
  ApiError,
  conflict,
  type FieldError,
  forbidden,
  forbiddenField,
  invalid,
  notFound,
  required,
  unsupportedValue,
} from '../../api/status.ts';
import { defined } from '../../lib/json.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { pauseAfter } from '../../objects/write-queue.ts';
import { parseUpdateOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import { readPatch } from '../write/patch.ts';
import { checkSameObject, preconditionsIn, readObject } from '../write/read-body.ts';
import { writeResponse } from '../write/write-parts.ts';
import type { Approvable, ApprovalParts } from './approvable.ts';
import { isPersonKnown, isSamePerson, unknownPerson, userOf } from './people.ts';

/**
 * Writes of the subresource `approval`, as for a CertificateSigningRequest: each adds a condition. A decision is one
 * compare-and-swap of the object, so of two approvers one decides. What it grants is created after it, and what it ends
 * is removed after it: a crash in between leaves less than was granted, or is completed by the sweep. Repeating a
 * decision completes it.
 */

/** The object was written by others meanwhile: decide again. */
export class ObjectChanged extends Error {
  override readonly name = 'ObjectChanged';
}

export const createDecisionHandler =
  (parts: ApprovalParts, row: Approvable): ((request: ApiRequest) => Promise<ApiResponse>) =>
  async (request) => {
    const { dryRun, sentFor } = readBody(parts, row.kind, request);
    for (let conflicts = 1; ; conflicts++) {
      try {
        const object = await decide(parts, row, request, sentFor, dryRun);
        if (!dryRun) row.annotate(request, object);
        return writeResponse(parts, request, row.kind, object, { code: 200 });
      } catch (error) {
        if (!(error instanceof ObjectChanged)) throw error;
      }
      await pauseAfter(conflicts, request);
    }
  };

/** The object that the client wants, as a function of the current one. */
type SentFor = (current: ApiObject) => ApiObject;

function readBody(parts: ApprovalParts, kind: Kind, request: ApiRequest): { dryRun: boolean; sentFor: SentFor } {
  if (request.target.verb === 'patch') {
    const { options, patched } = readPatch(parts, request, kind);
    return { dryRun: options.dryRun, sentFor: patched };
  }
  const { dryRun, fieldValidation } = parseUpdateOptions(request.query);
  const sent = readObject(request, kind, fieldValidation);
  checkSameObject(sent, kind, objectKeyOf(request, kind));
  const sentFor: SentFor = (current) => {
    checkPreconditions(kind, current, preconditionsIn(sent));
    return sent;
  };
  return { dryRun, sentFor };
}

async function decide(
  parts: ApprovalParts,
  row: Approvable,
  request: ApiRequest,
  sentFor: SentFor,
  dryRun: boolean,
): Promise<ApiObject> {
  const { kind } = row;
  const { caller } = request;
  const entry = await findDecidable(parts, row, request);
  const old = entry.object();
  const { phase = 'Pending', expirationTimestamp = '' } = approvalStatus(old);
  if (row.deciderOf(old) === undefined) throw conflict(kind, entry.name, 'it needs no approval');
  const taken = phase === row.granted ? 'Approved' : phase;
  const wanted = decisionIn(row, { sent: sentFor(old), old, taken });
  const isRepeated = wanted.type === taken;
  const isWithdrawal = wanted.type === 'Withdrawn';
  if (!isWithdrawal) checkDecider(parts, row, caller, entry);
  const isPossible = isRepeated || phase === 'Pending' || (isWithdrawal && phase === row.granted);
  if (!isPossible) throw conflict(kind, entry.name, `it is ${phase}`);
  const hasExpired = isOpenPhase(phase) && !(Date.parse(expirationTimestamp) > parts.now());
  if (hasExpired && !isWithdrawal) throw conflict(kind, entry.name, 'it has expired');

  const time = toTimestamp(parts.now());
  const condition: RequestCondition = { ...wanted, status: 'True', lastTransitionTime: time };
  const person = userOf(parts, caller, row.scopeOf(old).cluster);
  const decision = isWithdrawal ? { withdrawnBy: person } : { decidedBy: person, decisionTimestamp: time };
  const grant = wanted.type === 'Approved' ? grantFor() : undefined;
  if (grant !== undefined && accountState(parts, old) === 'Missing') {
    const spec = approvalSpec(old);
    const missing = `there is no service account ${accountText(spec)} in ${spec.cluster}`;
    request.warn(`${missing}: no token is issued until it exists`);
  }
  if (!dryRun) await grant?.prepare?.();
  const decided = isRepeated ? old : await write();
  if (dryRun) return decided;
  // The status is written first: from then on no approval in flight can grant anything.
  if (grant === undefined) await row.revoke(decided, caller.as(undefined));
  else await grant.complete?.(decided);
  return decided;

  function grantFor() {
    parts.requireRightClock();
    const { durationSeconds = 0 } = approvalSpec(old);
    const until = isRepeated ? Date.parse(expirationTimestamp) : Date.parse(time) + durationSeconds * 1000;
    return row.grant({ request, entry, object: old, until });
  }

  /** Only if the object is still what was read. */
  function write(): Promise<ApiObject> {
    const status = (current: ApiObject) => ({
      ...approvalStatus(current),
      phase: grant === undefined ? wanted.type : row.granted,
      ...decision,
      ...(grant === undefined ? {} : { ...grant.status, ...defined({ next: row.next(current) }) }),
      conditions: [...(approvalStatus(current).conditions ?? []), condition],
    });
    const preconditions = { resourceVersion: String(entry.revision) };
    const written = parts.writer.update(
      kind,
      fleetKey(entry.name),
      (current) => ({ ...current, status: status(current) }),
      { dryRun, part: 'status', preconditions, request, admit: () => grant?.check() },
    );
    return written.catch((error) => {
      throw error instanceof ApiError && error.status.code === 409 ? new ObjectChanged() : error;
    });
  }
}

/**
 * The object of a decision, for its owner and for callers who may decide in its scope. Others get the error that they
 * would get if it did not exist (decision 12).
 */
export async function findDecidable(parts: ApprovalParts, row: Approvable, request: ApiRequest): Promise<StoredObject> {
  const { reader, decisionRefusal } = parts;
  const { kind } = row;
  const { agent, caller, target } = request;
  // An agent must not be the person that agrees.
  if (agent !== undefined) throw forbidden(kind, target.name, `agents do not decide about ${kind.resource}`);
  await reader.catchUp();
  const entry = reader.find(kind, objectKeyOf(request, kind));
  const hidden = decisionRefusal(kind, caller, target.name);
  if (entry === undefined) throw hidden ?? notFound(kind, target.name);
  const isAllowed = decisionRefusal(kind, caller, target.name, row.scopeOf(entry.object())) === undefined;
  if (!isAllowed && hidden !== undefined && !isOwn(entry, caller)) throw hidden;
  return entry;
}

/** MC-91: the requester, and not one who impersonates it; or another person, also under another identity. */
export function checkDecider(parts: ApprovalParts, row: Approvable, caller: Caller, entry: StoredObject): void {
  const { kind, deciderOf, scopeOf, ownRefusal } = row;
  const object = entry.object();
  const isOwner = isOwn(entry, caller);
  if (deciderOf(object) === 'the requester') {
    if (isOwner && caller.impersonator === undefined) return;
    throw forbidden(kind, entry.name, 'only the requester confirms it');
  }
  const { requestedBy } = approvalSpec(object);
  const person = userOf(parts, caller, scopeOf(object).cluster);
  if (isOwner || (requestedBy !== undefined && isSamePerson(person, requestedBy))) {
    throw forbidden(kind, entry.name, ownRefusal);
  }
  if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, entry.name);
}

/**
 * The condition that the client adds; if it adds none, the one of the decision that was taken, or of an earlier one
 * that it repeats.
 */
function decisionIn(
  { kind, decisions }: Approvable,
  { sent, old, taken }: { readonly sent: ApiObject; readonly old: ApiObject; readonly taken: string },
) {
  const { conditions = [] } = approvalStatus(sent);
  const { conditions: known = [] } = approvalStatus(old);
  const added = conditions.filter(({ type }) => !known.some((each) => each.type === type));
  const errors: FieldError[] = [];
  const isDecision = ({ type = '' }: RequestCondition): boolean => decisions.includes(type);
  const repeated = conditions.find(({ type }) => type === taken) ?? conditions.findLast(isDecision);
  const [first = repeated, second] = added;
  const at = 'status.conditions';
  if (first === undefined) {
    errors.push(required(at, `add a condition of type ${decisions.join(', ')}, with the status True`));
  } else if (second !== undefined) {
    errors.push(forbiddenField(at, 'add one condition only'));
  } else if (!isDecision(first)) {
    errors.push(unsupportedValue(`${at}.type`, first.type ?? '', decisions));
  } else if ((first.status ?? '') !== 'True') {
    errors.push(unsupportedValue(`${at}.status`, first.status ?? '', ['True']));
  }
  if (first === undefined || errors.length > 0) throw invalid(kind, old.metadata.name ?? '', errors);
  const { type = '', reason = '', message = '' } = first;
  return { type, ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }) };
}

/** Whether the account of a request exists; undefined without one. */
export function accountState({ catalog, reader, issuesOwnTokens }: ApprovalParts, object: ApiObject) {
  const { cluster = '', serviceAccount } = approvalSpec(object);
  if (serviceAccount === undefined) return undefined;
  const { namespace = '', name = '' } = serviceAccount;
  if (reader.find(catalog.serviceAccounts, { cluster, namespace, name }) !== undefined) return 'Exists';
  const stored = reader.find(catalog.clusters, fleetKey(cluster));
  return stored !== undefined && issuesOwnTokens(stored) ? 'Unknown' : 'Missing';
}

/**
 * 409 for the approval of a cluster, namespace or account that finalizers keep: nothing could be issued for it. A
 * namespace or account of `""` is none.
 */
export function checkNotDeleted(
  { catalog, reader }: Pick<ApprovalParts, 'catalog' | 'reader'>,
  approved: StoredObject,
  { cluster, namespace, name }: ObjectKey,
): void {
  const objects: [string, Kind, ObjectKey][] = [
    ['cluster', catalog.clusters, fleetKey(cluster)],
    ['namespace', catalog.namespaces, { cluster, namespace: '', name: namespace }],
    ['service account', catalog.serviceAccounts, { cluster, namespace, name }],
  ];
  const found = objects.find(([, kind, key]) => reader.find(kind, key)?.deletionTimestamp !== undefined);
  if (found === undefined) return;
  const [word, , key] = found;
  throw conflict(approved.kind, approved.name, `the ${word} ${JSON.stringify(key.name)} is being deleted`);
}
