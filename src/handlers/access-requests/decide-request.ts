import type { ApiObject } from '../../api/kind.ts';
import {
  type AccessRequestStatus,
  DECISIONS,
  isOpenPhase,
  type RequestCondition,
  requestedRule,
  requestScope,
  requestSpec,
  requestStatus,
} from '../../api/kinds/access-request-spec.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { type ApiError, conflict, forbidden } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { Guard } from '../../storage/contract.ts';
import { checkNotDeleted } from '../approvals/check-not-deleted.ts';
import {
  createDecisionHandler,
  decisionIn,
  findDecidable,
  type SentFor,
  writeDecision,
} from '../approvals/decision.ts';
import { isPersonKnown, isSamePerson, unknownPerson, userOf } from '../approvals/people.ts';
import { annotate } from './complete-request.ts';
import { type GrantOwner, grantName, grantObjects } from './grant-objects.ts';
import type { AccessRequestParts } from './request-parts.ts';

/**
 * A decision about an access request: `Approved`, `Denied` or `Withdrawn`. The binding is created after it, on the
 * condition that the request is still what it was, and deleted after a withdrawal: a crash in between leaves less than
 * was granted, or is completed by the sweep. Repeating a decision completes it.
 */
export const createRequestDecisions = (parts: AccessRequestParts): ((request: ApiRequest) => Promise<ApiResponse>) =>
  createDecisionHandler(parts, parts.catalog.accessRequests, decide, annotate);

async function decide(
  parts: AccessRequestParts,
  request: ApiRequest,
  sentFor: SentFor,
  dryRun: boolean,
): Promise<ApiObject> {
  const { now } = parts;
  const { caller } = request;
  const kind = parts.catalog.accessRequests;
  const found = await findDecidable(parts, kind, request, (object) => requestScope(requestSpec(object)));
  const { entry, object: old, scope, isOwner, refusal } = found;
  const { phase = 'Pending', expirationTimestamp = '' } = requestStatus(old);
  const wanted = decisionIn(kind, DECISIONS, { sent: sentFor(old), old, taken: phase });
  const person = userOf(parts, caller, scope.cluster);
  if (wanted.type !== 'Withdrawn') {
    const { requestedBy } = requestSpec(old);
    if (isOwner || (requestedBy !== undefined && isSamePerson(person, requestedBy))) throw ownRequest(kind, entry);
    if (refusal !== undefined) throw refusal;
    if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, entry.name);
  }
  if (wanted.type !== phase) {
    const isPossible = phase === 'Pending' || (phase === 'Approved' && wanted.type === 'Withdrawn');
    if (!isPossible) throw conflict(kind, entry.name, `it is ${phase}`);
  }
  const hasExpired = isOpenPhase(phase) && !(Date.parse(expirationTimestamp) > now());
  if (hasExpired && wanted.type !== 'Withdrawn') throw conflict(kind, entry.name, 'it has expired');

  const time = toTimestamp(now());
  const condition: RequestCondition = { ...wanted, status: 'True', lastTransitionTime: time };
  const attempt: Attempt = { parts, request, entry, old, condition, dryRun };
  switch (wanted.type) {
    case 'Approved':
      return approve(attempt, { decidedBy: person, decisionTimestamp: time });
    case 'Denied':
      return finish(attempt, { decidedBy: person, decisionTimestamp: time });
    case 'Withdrawn':
      return finish(attempt, { withdrawnBy: person });
  }
}

interface Attempt {
  readonly parts: AccessRequestParts;
  readonly request: ApiRequest;
  readonly entry: StoredObject;
  readonly old: ApiObject;
  readonly condition: RequestCondition;
  readonly dryRun: boolean;
}

const ownRequest = (kind: AccessRequestParts['catalog']['accessRequests'], { name }: StoredObject): ApiError =>
  forbidden(
    kind,
    name,
    'requesters do not decide their own requests, nor through another identity; withdraw it instead',
  );

export const grantOwner = (object: ApiObject): GrantOwner => ({
  name: object.metadata.name ?? '',
  uid: object.metadata.uid ?? '',
  namespace: requestScope(requestSpec(object)).namespace,
});

async function approve(attempt: Attempt, decision: Partial<AccessRequestStatus>): Promise<ApiObject> {
  const { parts, request, entry, old, dryRun } = attempt;
  const { catalog, reader, grants, rules } = parts;
  parts.requireRightClock();
  const spec = requestSpec(old);
  const status = requestStatus(old);
  const isRepeated = status.phase === 'Approved';
  const until = isRepeated
    ? Date.parse(status.expirationTimestamp ?? '')
    : Date.parse(decision.decisionTimestamp ?? '') + (spec.durationSeconds ?? 0) * 1000;
  /** Throws the refusal. Asked again just before the write. Returns the uid of the cluster. */
  const checkGrant = (wantedUid: string | undefined): string => {
    const scope = requestScope(spec);
    const cluster = reader.find(catalog.clusters, fleetKey(scope.cluster));
    const labels = cluster === undefined ? undefined : (cluster.labels ?? {});
    const grant = { ...scope, name: entry.name, rules: [requestedRule(spec)], role: grantName(entry.name) };
    // First: only approvers who hold the permission learn whether the cluster exists (decision 12).
    rules.checkApproval(request.caller, { ...grant, labels, until });
    if (cluster === undefined) {
      throw conflict(catalog.accessRequests, entry.name, `there is no cluster ${JSON.stringify(scope.cluster)}`);
    }
    if (cluster.uid !== (wantedUid ?? cluster.uid)) {
      const why = `the cluster ${JSON.stringify(scope.cluster)} was deleted, and another of its name was created`;
      throw conflict(catalog.accessRequests, entry.name, why);
    }
    checkNotDeleted(parts, entry, { ...scope, name: spec.serviceAccount?.name ?? '' });
    return cluster.uid;
  };
  const clusterUID = checkGrant(status.clusterUID);
  const { role, binding } = grantObjects(old, until, clusterUID);
  const owner = grantOwner(old);
  if (!dryRun) await grants.ensureRole(owner, role, guardOf(entry.key, entry.revision));
  const { namespace } = owner;
  const bindingRef = { kind: binding.kind, ...(namespace === '' ? {} : { namespace }), name: grantName(entry.name) };
  const approved = isRepeated
    ? old
    : await writeStatus(attempt, { ...decision, bindingRef, clusterUID, expirationTimestamp: toTimestamp(until) }, () =>
        checkGrant(clusterUID),
      );
  if (!dryRun) {
    await grants.ensureBinding(owner, binding, guardOf(entry.key, Number(approved.metadata.resourceVersion)));
  }
  return approved;
}

const guardOf = (key: string, modRevision: number): Guard => ({ key, expect: { modRevision } });

/** Denied or withdrawn. The status is written first: then no approval in flight can create the binding any more. */
async function finish(attempt: Attempt, decision: Partial<AccessRequestStatus>): Promise<ApiObject> {
  const { parts, old, condition, dryRun } = attempt;
  const isRepeated = requestStatus(old).phase === condition.type;
  const finished = isRepeated ? old : await writeStatus(attempt, decision);
  if (!dryRun) await parts.grants.remove(grantOwner(old));
  return finished;
}

const writeStatus = (
  { parts, request, entry, condition, dryRun }: Attempt,
  changes: Partial<AccessRequestStatus>,
  refuse: () => void = () => {},
): Promise<ApiObject> =>
  writeDecision(
    parts.writer,
    entry,
    (current) => ({ ...withDecision(requestStatus(current), condition), ...changes }),
    { dryRun, request, admit: refuse },
  );

/** The status after a decision, or at the end of the request. */
export const withDecision = (status: AccessRequestStatus, condition: RequestCondition): AccessRequestStatus => ({
  ...status,
  phase: condition.type as NonNullable<AccessRequestStatus['phase']>,
  conditions: [...(status.conditions ?? []), condition],
});
