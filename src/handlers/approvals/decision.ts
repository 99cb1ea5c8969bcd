import type { Caller } from '../../api/caller.ts';
import { type FieldError, forbiddenField, invalid, required, unsupportedValue } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import type { RequestCondition, RequestScope } from '../../api/kinds/access-request-spec.ts';
import { fleetKey, objectKeyOf } from '../../api/object-key.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, notFound } from '../../api/status.ts';
import { checkPreconditions } from '../../objects/preconditions.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { PublicView, StoredObject } from '../../objects/stored-object.ts';
import { pauseAfter } from '../../objects/write-queue.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import { parseUpdateOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import type { Views } from '../views.ts';
import { readPatch } from '../write/patch.ts';
import { checkSameObject, preconditionsIn, readObject } from '../write/read-body.ts';
import { writeResponse } from '../write/write-parts.ts';

/**
 * Writes of the subresource `approval` of access requests and passes, as for a CertificateSigningRequest: each adds a
 * condition. A decision is one compare-and-swap of the object, so of two approvers one decides.
 */

/** The object was written by others meanwhile: decide again. */
export class ObjectChanged extends Error {
  override readonly name = 'ObjectChanged';
}

/** The object that the client wants, as a function of the current one. */
export type SentFor = (current: ApiObject) => ApiObject;

interface DecisionParts {
  readonly views: Views;
  readonly publicView: PublicView;
}

/** `decide` reads and writes the object; it throws ObjectChanged to be called again. */
export function createDecisionHandler<P extends DecisionParts>(
  parts: P,
  kind: Kind,
  decide: (parts: P, request: ApiRequest, sentFor: SentFor, dryRun: boolean) => Promise<ApiObject>,
  annotate: (request: ApiRequest, object: ApiObject) => void,
): (request: ApiRequest) => Promise<ApiResponse> {
  return async (request) => {
    const { dryRun, sentFor } = readBody(parts, kind, request);
    for (let conflicts = 1; ; conflicts++) {
      try {
        const object = await decide(parts, request, sentFor, dryRun);
        if (!dryRun) annotate(request, object);
        return writeResponse(parts, request, kind, object, { code: 200 });
      } catch (error) {
        if (!(error instanceof ObjectChanged)) throw error;
      }
      await pauseAfter(conflicts, request);
    }
  };
}

function readBody(parts: DecisionParts, kind: Kind, request: ApiRequest): { dryRun: boolean; sentFor: SentFor } {
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

/** What authz/ decides about decisions. */
export interface DecisionRules {
  /** The 403 of a caller who may not decide this object; without a scope, of one who may not decide every one. */
  decisionRefusal(caller: Caller, name: string, scope?: RequestScope): ApiError | undefined;
}

interface Decidable<Scope> {
  readonly entry: StoredObject;
  readonly object: ApiObject;
  readonly scope: Scope;
  readonly isOwner: boolean;
  /** The 403 of an owner who may not decide; undefined for a caller who may decide in this scope. */
  readonly refusal: ApiError | undefined;
}

/**
 * The object of a decision, for its owner and for callers who may decide in its scope. Others get the error that they
 * would get if it did not exist (decision 12).
 */
export async function findDecidable<Scope extends RequestScope>(
  { reader, rules }: { readonly reader: ObjectReader; readonly rules: DecisionRules },
  kind: Kind,
  request: ApiRequest,
  scopeOf: (object: ApiObject) => Scope,
): Promise<Decidable<Scope>> {
  const { caller, target } = request;
  await reader.catchUp();
  const entry = reader.find(kind, objectKeyOf(request, kind));
  const hidden = rules.decisionRefusal(caller, target.name);
  if (entry === undefined) throw hidden ?? notFound(kind, target.name);
  const object = entry.object();
  const scope = scopeOf(object);
  const refusal = rules.decisionRefusal(caller, target.name, scope) === undefined ? undefined : hidden;
  const isOwner = isOwn(entry, caller);
  if (refusal !== undefined && !isOwner) throw refusal;
  return { entry, object, scope, isOwner, refusal };
}

interface WantedDecision<T extends string> {
  readonly type: T;
  readonly reason?: string;
  readonly message?: string;
}

const conditionsOf = (object: ApiObject): readonly RequestCondition[] =>
  (object.status as { conditions?: RequestCondition[] } | undefined)?.conditions ?? [];

/**
 * The condition that the client adds; if it adds none, the one of the decision that was taken, or of an earlier one
 * that it repeats.
 */
export function decisionIn<T extends string>(
  kind: Kind,
  decisions: readonly T[],
  { sent, old, taken }: { readonly sent: ApiObject; readonly old: ApiObject; readonly taken: string | undefined },
): WantedDecision<T> {
  const conditions = conditionsOf(sent);
  const known = conditionsOf(old);
  const added = conditions.filter(({ type }) => !known.some((each) => each.type === type));
  const errors: FieldError[] = [];
  const isDecision = ({ type }: RequestCondition): boolean => decisions.some((each) => each === type);
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
  const { type, reason = '', message = '' } = first;
  return { type: type as T, ...(reason === '' ? {} : { reason }), ...(message === '' ? {} : { message }) };
}

interface DecisionWrite {
  readonly dryRun: boolean;
  /** A request that ends while its write waits writes nothing. */
  readonly request: ApiRequest;
  readonly admit?: () => void;
}

/** Writes the status if the object is still what was read. */
export async function writeDecision(
  writer: Pick<ObjectWriter, 'update'>,
  { kind, name, revision }: StoredObject,
  status: (current: ApiObject) => object,
  { dryRun, request, admit = () => {} }: DecisionWrite,
): Promise<ApiObject> {
  try {
    return await writer.update(kind, fleetKey(name), (current) => ({ ...current, status: status(current) }), {
      dryRun,
      part: 'status',
      preconditions: { resourceVersion: String(revision) },
      request,
      admit,
    });
  } catch (error) {
    if (error instanceof ApiError && error.status.code === 409) throw new ObjectChanged();
    throw error;
  }
}
