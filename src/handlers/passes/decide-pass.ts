import type { ApiObject, Kind } from '../../api/kind.ts';
import type { RequestCondition } from '../../api/kinds/access-request-spec.ts';
import { PASS_DECISIONS, type PassStatus, passAccount, passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { conflict, forbidden } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { checkNotDeleted } from '../approvals/check-not-deleted.ts';
import {
  createDecisionHandler,
  decisionIn,
  findDecidable,
  type SentFor,
  writeDecision,
} from '../approvals/decision.ts';
import { isPersonKnown, isSamePerson, unknownPerson, userOf } from '../approvals/people.ts';
import { isOwn } from '../requester.ts';
import {
  ACCOUNT_DELETED,
  accountUID,
  annotate,
  hasBindingChanged,
  isAccountDeleted,
  type PassParts,
} from './pass-parts.ts';

/**
 * A decision about a pass: `Approved` or `Denied`. It is about what the pass says, which cannot be changed, and for
 * this one pass. The permission of the requester is asked for again when the pass is redeemed.
 */
export const createPassDecisions = (parts: PassParts): ((request: ApiRequest) => Promise<ApiResponse>) =>
  createDecisionHandler(parts, parts.catalog.passes, decide, annotate);

async function decide(parts: PassParts, request: ApiRequest, sentFor: SentFor, dryRun: boolean): Promise<ApiObject> {
  const { now } = parts;
  const { caller, target } = request;
  const kind = parts.catalog.passes;
  // An agent must not be the person that agrees.
  if (request.agent !== undefined) throw forbidden(kind, target.name, 'agents do not decide about passes');
  const found = await findDecidable(parts, kind, request, (object) => passAccount(passSpec(object)));
  const { entry, object: old, scope } = found;
  const status = passStatus(old);
  const { phase, approval = 'none' } = status;
  if (approval === 'none') throw conflict(kind, entry.name, 'it needs no approval');
  const taken = phase === 'Ready' ? 'Approved' : phase === 'Denied' ? 'Denied' : undefined;
  const wanted = decisionIn(kind, PASS_DECISIONS, { sent: sentFor(old), old, taken });
  if (approval === 'confirm') requireRequester(kind, entry, request);
  else requireReviewer(parts, entry, request);
  if (wanted.type === taken) return old;
  if (phase !== 'Pending') throw conflict(kind, entry.name, `it is ${phase}`);
  if (!(Date.parse(status.expirationTimestamp ?? '') > now())) throw conflict(kind, entry.name, 'it has expired');
  if (hasBindingChanged(parts, status)) {
    throw conflict(
      kind,
      entry.name,
      'the binding that allows it has changed: the requester has to ask for another pass',
    );
  }
  /** Throws the refusal. Asked again just before the write. */
  const checkAccount = (): void => {
    if (isAccountDeleted(parts, scope, status)) throw conflict(kind, entry.name, ACCOUNT_DELETED);
    if (wanted.type === 'Approved') checkNotDeleted(parts, entry, scope);
  };
  checkAccount();
  parts.requireRightClock();
  const decisionTimestamp = toTimestamp(now());
  const condition: RequestCondition = { ...wanted, status: 'True', lastTransitionTime: decisionTimestamp };
  const decided: Partial<PassStatus> = { decidedBy: userOf(parts, caller, scope.cluster), decisionTimestamp };
  const until = toTimestamp(now() + (passSpec(old).durationSeconds ?? 0) * 1000);
  return writeDecision(
    parts.writer,
    entry,
    (current): PassStatus => ({
      ...accountUID(parts, scope),
      ...passStatus(current),
      ...decided,
      ...(wanted.type === 'Approved' ? { phase: 'Ready', expirationTimestamp: until } : { phase: 'Denied' }),
      conditions: [...(passStatus(current).conditions ?? []), condition],
    }),
    { dryRun, request, admit: checkAccount },
  );
}

/** MC-91: `confirm` is the same person, not one who impersonates it. */
function requireRequester(kind: Kind, entry: StoredObject, { caller }: ApiRequest): void {
  if (isOwn(entry, caller) && caller.impersonator === undefined) return;
  throw forbidden(kind, entry.name, 'only the requester confirms it');
}

/** MC-91: `review` is another person, also under another identity. */
function requireReviewer(parts: PassParts, entry: StoredObject, { caller }: ApiRequest): void {
  const kind = parts.catalog.passes;
  const { cluster = '', requestedBy } = passSpec(entry.object());
  const person = userOf(parts, caller, cluster);
  if (isOwn(entry, caller) || (requestedBy !== undefined && isSamePerson(person, requestedBy))) {
    throw forbidden(kind, entry.name, 'requesters do not review their own passes, nor through another identity');
  }
  if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, entry.name);
}
