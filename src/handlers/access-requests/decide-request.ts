import { type FieldError, forbiddenField, invalid, required, unsupportedValue } from '../../api/field-error.ts';
import type { ApiObject } from '../../api/kind.ts';
import {
  type AccessRequestStatus,
  DECISIONS,
  isOpenPhase,
  type RequestCondition,
  type RequestDecision,
  requestedRule,
  requestScope,
  requestSpec,
  requestStatus,
} from '../../api/kinds/access-request-spec.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, conflict, forbidden, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { checkPreconditions } from '../../objects/writer.ts';
import type { Guard } from '../../storage/contract.ts';
import { isOwn } from '../issued-tokens/own-tokens.ts';
import { parseUpdateOptions } from '../options/write-options.ts';
import { readPatch } from '../write/patch.ts';
import { checkSameObject, preconditionsIn, readObject } from '../write/read-body.ts';
import { objectKeyOf, written } from '../write/write-parts.ts';
import { annotate } from './complete-request.ts';
import { type GrantOwner, grantName, grantObjects, RequestChanged } from './grant-objects.ts';
import { isPersonKnown, isSamePerson, unknownPerson, userOf } from './people.ts';
import type { AccessRequestParts } from './request-parts.ts';

/** Others may write the request between the read and the write. */
const ATTEMPTS = 8;

/**
 * A write of the subresource `approval`, as for a CertificateSigningRequest: it adds a condition `Approved`, `Denied` or
 * `Withdrawn`. The decision is one compare-and-swap of the request, so of two approvers one decides. The binding is
 * created after it, on the condition that the request is still what it was, and deleted after a withdrawal: a crash in
 * between leaves less than was granted, or is completed by the sweep. Repeating a decision completes it.
 */
export function createDecisionHandler(parts: AccessRequestParts): (request: ApiRequest) => Promise<ApiResponse> {
  const kind = parts.catalog.accessRequests;
  return async (request) => {
    const { dryRun, sentFor } = readBody(parts, request);
    for (let attempt = 1; ; attempt++) {
      try {
        const object = await decide(parts, request, sentFor, dryRun);
        if (!dryRun) annotate(request, object);
        return written(parts, request, kind, object, { code: 200 });
      } catch (error) {
        if (!(error instanceof RequestChanged)) throw error;
        if (attempt >= ATTEMPTS) throw conflict(kind, request.target.name, 'it is being changed; please try again');
      }
    }
  };
}

/** The object that the client wants, as a function of the current one. */
type SentFor = (current: ApiObject) => ApiObject;

function readBody(parts: AccessRequestParts, request: ApiRequest): { dryRun: boolean; sentFor: SentFor } {
  const kind = parts.catalog.accessRequests;
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
  parts: AccessRequestParts,
  request: ApiRequest,
  sentFor: SentFor,
  dryRun: boolean,
): Promise<ApiObject> {
  const { reader, rules, now } = parts;
  const { caller, target } = request;
  const kind = parts.catalog.accessRequests;
  await reader.catchUp();
  const entry = reader.find(kind, objectKeyOf(request, kind));
  // The same for a request that the caller does not see and for one that does not exist (decision 12).
  const hidden = rules.refuseDecision(caller, target.name);
  if (entry === undefined) throw hidden ?? notFound(kind, target.name);
  const old = entry.object();
  const scope = requestScope(requestSpec(old));
  const refusal = rules.refuseDecision(caller, target.name, scope) === undefined ? undefined : hidden;
  const isOwner = isOwn(entry, caller);
  if (refusal !== undefined && !isOwner) throw refusal;

  const wanted = decisionIn(parts, sentFor(old), old);
  const person = userOf(parts, caller, scope.cluster);
  if (wanted.type !== 'Withdrawn') {
    const { requestedBy } = requestSpec(old);
    if (isOwner || (requestedBy !== undefined && isSamePerson(person, requestedBy))) throw ownRequest(kind, entry);
    if (refusal !== undefined) throw refusal;
    if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, entry.name);
  }
  const { phase = 'Pending' } = requestStatus(old);
  if (wanted.type !== phase) {
    const isPossible = phase === 'Pending' || (phase === 'Approved' && wanted.type === 'Withdrawn');
    if (!isPossible) throw conflict(kind, entry.name, `it is ${phase}`);
  }
  const { expirationTimestamp = '' } = requestStatus(old);
  const isOver = isOpenPhase(phase) && !(Date.parse(expirationTimestamp) > now());
  if (isOver && wanted.type !== 'Withdrawn') throw conflict(kind, entry.name, 'it has expired');

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

export const ownerOf = ({ metadata, ...object }: ApiObject): GrantOwner => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  namespace: requestScope(requestSpec({ ...object, metadata } as ApiObject)).namespace,
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
  const { role, binding } = grantObjects(old, until);
  /** Throws the refusal. Asked again just before the write. Returns the uid of the cluster. */
  const checkGrant = (wantedUid: string | undefined): string => {
    const scope = requestScope(spec);
    const cluster = reader.find(catalog.clusters, { cluster: '', namespace: '', name: scope.cluster });
    const labels = cluster === undefined ? undefined : (cluster.labels ?? {});
    const grant = { ...scope, name: entry.name, rules: [requestedRule(spec)], role: grantName(entry.name) };
    const refusal = rules.refuseApproval(request.caller, { ...grant, labels, until });
    // First: only approvers who hold the permission learn whether the cluster exists (decision 12).
    if (refusal !== undefined) throw refusal;
    if (cluster === undefined) {
      throw conflict(catalog.accessRequests, entry.name, `there is no cluster ${JSON.stringify(scope.cluster)}`);
    }
    if (cluster.uid !== (wantedUid ?? cluster.uid)) {
      const why = `the cluster ${JSON.stringify(scope.cluster)} was deleted, and another of its name was created`;
      throw conflict(catalog.accessRequests, entry.name, why);
    }
    return cluster.uid;
  };
  const clusterUID = checkGrant(status.clusterUID);
  const owner = ownerOf(old);
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
  if (!dryRun) await parts.grants.remove(ownerOf(old));
  return finished;
}

async function writeStatus(
  { parts, entry, condition, dryRun }: Attempt,
  changes: Partial<AccessRequestStatus>,
  refuse: () => void = () => {},
): Promise<ApiObject> {
  const key = { cluster: '', namespace: '', name: entry.name };
  try {
    return await parts.writer.update(
      parts.catalog.accessRequests,
      key,
      (current) => ({ ...current, status: { ...withCondition(requestStatus(current), condition), ...changes } }),
      { dryRun, part: 'status', preconditions: { resourceVersion: String(entry.revision) }, admit: refuse },
    );
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 409) throw new RequestChanged();
    throw error;
  }
}

/** The status after a decision, or at the end of the request. */
export const withCondition = (status: AccessRequestStatus, condition: RequestCondition): AccessRequestStatus => ({
  ...status,
  phase: condition.type as NonNullable<AccessRequestStatus['phase']>,
  conditions: [...(status.conditions ?? []), condition],
});

interface WantedDecision {
  readonly type: RequestDecision;
  readonly reason?: string;
  readonly message?: string;
}

/** The condition that the client adds; the one of the present phase if it adds none. */
function decisionIn({ catalog }: AccessRequestParts, sent: ApiObject, old: ApiObject): WantedDecision {
  const { conditions = [] } = requestStatus(sent);
  const { conditions: known = [], phase } = requestStatus(old);
  const added = conditions.filter(({ type }) => !known.some((each) => each.type === type));
  const errors: FieldError[] = [];
  const [first = conditions.find(({ type }) => type === phase), second] = added;
  const at = 'status.conditions';
  if (first === undefined) {
    errors.push(required(at, `add a condition of type ${DECISIONS.join(', ')}, with the status True`));
  } else if (second !== undefined) {
    errors.push(forbiddenField(at, 'add one condition only'));
  } else if (!DECISIONS.some((type) => type === first.type)) {
    errors.push(unsupportedValue(`${at}.type`, first.type ?? '', DECISIONS));
  } else if ((first.status ?? '') !== 'True') {
    errors.push(unsupportedValue(`${at}.status`, first.status ?? '', ['True']));
  }
  if (first === undefined || errors.length > 0) throw invalid(catalog.accessRequests, old.metadata.name ?? '', errors);
  const { type, reason = '', message = '' } = first;
  return {
    type: type as RequestDecision,
    ...(reason === '' ? {} : { reason }),
    ...(message === '' ? {} : { message }),
  };
}
