import { invalid, invalidValue } from '../../api/field-error.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { clientLabels, REQUEST_CLUSTER_LABEL, REQUEST_NAMESPACE_LABEL } from '../../api/kinds/access-request.ts';
import {
  type AccessRequestSpec,
  accessText,
  isOpenPhase,
  requestErrors,
  requestScope,
  requestSpec,
  requestStatus,
} from '../../api/kinds/access-request-spec.ts';
import { COUNTED_LABEL, REQUESTER_LABEL } from '../../api/kinds/issued-token.ts';
import type { ApiRequest } from '../../api/request.ts';
import { type ApiError, forbidden } from '../../api/status.ts';
import { quantity } from '../../lib/quantity.ts';
import { withoutTokenWords } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { PendingCreations } from '../../objects/quota.ts';
import { createdBefore } from '../../objects/stored-object.ts';
import { type CountedFor, countedFor, requesterId } from '../../tokens/revocations/tracked-tokens.ts';
import { isPersonKnown, unknownPerson, userOf } from '../approvals/people.ts';
import type { Completion } from '../write/write-parts.ts';
import type { AccessRequestParts } from './request-parts.ts';

const DEFAULT_DURATION_SECONDS = 3_600;

/** A request that is not decided within a long weekend is forgotten, and its reason with it. */
const PENDING_MS = 72 * 3_600_000;

/** Finished requests stay for a while, so all that are stored have a quota, too: that many times the open ones. */
const STORED_PER_OPEN = 10;

type CompletionParts = Pick<AccessRequestParts, 'catalog' | 'reader' | 'rules' | 'limits' | 'now'>;

/** The fields of a new request that the server sets. Refuses one that the caller may not make. */
export function createRequestCompletion(
  parts: CompletionParts,
): (request: ApiRequest, kind: Kind) => Completion | undefined {
  const { catalog, reader, rules, limits, now } = parts;
  const pending = new PendingCreations();

  function refusalOf({ id, who }: CountedFor, revision: number, writing: number): ApiError | undefined {
    const stored = [...reader.cache(catalog.accessRequests).current.withLabel(COUNTED_LABEL, id)].filter(
      createdBefore(revision),
    );
    const open = stored.filter((entry) => isOpenPhase(entry.field('status.phase'))).length;
    const { maxOpenPerCaller: max } = limits;
    if (open + writing >= max) return tooMany(catalog.accessRequests, `${who} ${quantity(max, 'open access request')}`);
    const maxStored = max * STORED_PER_OPEN;
    if (stored.length + writing >= maxStored) {
      return tooMany(catalog.accessRequests, `${who} ${maxStored} access requests, open and finished`);
    }
    return undefined;
  }

  return (request, kind) => {
    if (kind !== catalog.accessRequests) return undefined;
    const { caller } = request;
    // Limits are those of the impersonator (ADR 31).
    const counted = countedFor(reader, catalog.issuedTokens, caller.impersonator ?? caller);
    return {
      derive: (object) => {
        const name = object.metadata.name ?? '';
        const errors = requestErrors(object);
        if (errors.length > 0) throw invalid(kind, name, errors);
        const spec = requestSpec(object);
        const scope = requestScope(spec);
        annotateAccess(request, spec);
        rules.checkRequest(caller, scope);
        if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, name);
        const { maxDurationSeconds } = limits;
        const durationSeconds = spec.durationSeconds ?? Math.min(DEFAULT_DURATION_SECONDS, maxDurationSeconds);
        if (durationSeconds > maxDurationSeconds) {
          const why = `must be no more than ${maxDurationSeconds} seconds`;
          throw invalid(kind, name, [invalidValue('spec.durationSeconds', durationSeconds, why)]);
        }
        const labels = {
          ...clientLabels(object.metadata.labels),
          [REQUESTER_LABEL]: requesterId(caller.as(undefined)),
          [COUNTED_LABEL]: counted.id,
          [REQUEST_CLUSTER_LABEL]: scope.cluster,
          ...(scope.namespace === '' ? {} : { [REQUEST_NAMESPACE_LABEL]: scope.namespace }),
        };
        return {
          ...object,
          metadata: { ...object.metadata, labels },
          spec: { ...spec, durationSeconds, requestedBy: userOf(parts, caller, scope.cluster) },
          status: { phase: 'Pending', expirationTimestamp: toTimestamp(now() + PENDING_MS) },
        };
      },
      quota: { pending, key: counted.id, refusal: (revision, writing) => refusalOf(counted, revision, writing) },
      created: (object) => annotate(request, object),
    };
  };
}

const tooMany = (kind: Kind, what: string): ApiError =>
  forbidden(kind, '', `${what}, the most that one caller may have: withdraw or delete some, or wait until they end`);

/** Also of a refused request. The name of the object is free text, and may be a token that was sent by mistake. */
function annotateAccess({ annotate: add }: ApiRequest, spec: AccessRequestSpec): void {
  add('clusterpass.dev/requested-access', withoutTokenWords(accessText(spec)));
  add('clusterpass.dev/cluster', spec.cluster ?? '');
}

/** The audit event says what was requested, by whom and where. The reason is free text and stays in the object. */
export function annotate(request: ApiRequest, object: ApiObject): void {
  const { annotate: add } = request;
  const spec = requestSpec(object);
  const { phase, expirationTimestamp, bindingRef } = requestStatus(object);
  add('clusterpass.dev/access-request', object.metadata.name ?? '');
  add('clusterpass.dev/requester', spec.requestedBy?.username ?? '');
  annotateAccess(request, spec);
  add('clusterpass.dev/phase', phase ?? '');
  if (phase !== 'Approved') return;
  add('clusterpass.dev/binding', bindingRef?.name ?? '');
  add('clusterpass.dev/expires-at', expirationTimestamp ?? '');
}
