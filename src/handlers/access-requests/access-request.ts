import { type Caller, isSystemName } from '../../api/caller.ts';
import { exactDuration } from '../../api/codec/go-text/human-duration.ts';
import { type ApiObject, fleetKey, type Kind } from '../../api/kind.ts';
import {
  type AccessRequestSpec,
  accessText,
  DECISIONS,
  nextCommand,
  requestErrors,
  requestedAccess,
  requestScope,
  requestSpec,
  requestStatus,
} from '../../api/kinds/access-request-spec.ts';
import type { RequestScope } from '../../api/kinds/approval.ts';
import type { PolicyRule } from '../../api/kinds/rbac.ts';
import type { ApiRequest } from '../../api/request.ts';
import { conflict, forbiddenField, invalid, invalidValue } from '../../api/status.ts';
import { quantity, withoutTokenWords } from '../../lib/text.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { hasPassed } from '../../objects/sweep-objects.ts';
import {
  type Approvable,
  type ApprovalParts,
  type Ending,
  type Grant,
  type Granting,
  labelsFor,
} from '../approvals/approvable.ts';
import { checkNotDeleted } from '../approvals/decide.ts';
import { isPersonKnown, unknownPerson, userOf } from '../approvals/people.ts';
import { createCounts, limitsOf } from '../stored-quota.ts';
import type { Completion } from '../write/write-parts.ts';
import { type GrantStore, grantName, grantObjects, grantScopes, ownerOf } from './grant-objects.ts';

const DEFAULT_DURATION_SECONDS = 3_600;

/** A request that is not decided within a long weekend is forgotten, and its reason with it. */
const PENDING_MS = 72 * 3_600_000;

/** Between an approval and its binding. If that takes longer, the server that was to create it has failed. */
const BINDING_MS = 60_000;

export interface AccessRequestParts extends ApprovalParts {
  /** What authz/ decides about access requests. `check…` throws the 403. */
  readonly rules: {
    checkRequest(caller: Caller, scope: RequestScope): void;
    checkApproval(
      caller: Caller,
      grant: RequestScope & {
        readonly name: string;
        readonly rules: readonly PolicyRule[];
        readonly role: string;
        readonly labels: Readonly<Record<string, string>> | undefined;
        readonly until: number;
      },
    ): void;
  };
  readonly grants: GrantStore;
  readonly limits: {
    /** The longest grant. */
    readonly maxDurationSeconds: number;
    readonly maxOpenPerCaller: number;
    /** How long finished requests are kept. */
    readonly retentionMs: number;
  };
}

export const accessRequestEnding = ({
  catalog,
  grants,
  limits,
}: Pick<AccessRequestParts, 'catalog' | 'grants' | 'limits'>): Ending => ({
  kind: catalog.accessRequests,
  ended: 'Expired',
  timeOver: 'the access has expired',
  deletion: { type: 'Withdrawn', reason: 'Deleted' },
  retentionMs: limits.retentionMs,
  endsEarly: (entry, time) => {
    if (entry.field('status.phase') === 'Pending') return undefined;
    const object = entry.object();
    if (grants.hasBindings(ownerOf(entry), grantScopes(requestSpec(object)))) return undefined;
    const decided = requestStatus(object).decisionTimestamp ?? '';
    return hasPassed(decided, time - BINDING_MS)
      ? { reason: 'BindingDeleted', message: 'the binding was deleted' }
      : undefined;
  },
  leftover: (entry) => (grants.isStored(ownerOf(entry)) ? 'grant' : undefined),
  revoke: async ({ metadata }, _, guards) => {
    await grants.remove(ownerOf(metadata), guards);
    return [];
  },
});

export const accessRequests = (parts: AccessRequestParts): Approvable => ({
  ...accessRequestEnding(parts),
  granted: 'Approved',
  decisions: DECISIONS,
  scopeOf: (object) => requestScope(requestSpec(object)),
  deciderOf: () => 'another person',
  accessOf: (object) => requestedAccess(requestSpec(object)),
  next: (object) => nextCommand(requestSpec(object)),
  ownRefusal: 'requesters do not decide their own requests, nor through another identity; withdraw it instead',
  grant: (asked) => grantOf(parts, asked),
  annotate,
});

/** Roles and bindings in this very cluster. They exist only while their request does. */
function grantOf(parts: AccessRequestParts, { request: { caller }, entry, object, until }: Granting): Grant {
  const { catalog, reader, grants, rules } = parts;
  const spec = requestSpec(object);
  const scope = requestScope(spec);
  const account = { ...scope, name: spec.serviceAccount?.name ?? '' };
  const check = (wantedUid: string | undefined): StoredObject => {
    const cluster = reader.find(catalog.clusters, fleetKey(scope.cluster));
    const labels = cluster === undefined ? undefined : (cluster.labels ?? {});
    // First: only approvers who hold the permission learn whether the cluster exists (decision 12).
    for (const { namespace, rule } of requestedAccess(spec)) {
      const role = grantName(entry.name, namespace);
      const wanted = { cluster: scope.cluster, namespace, name: entry.name, rules: [rule], role, labels, until };
      rules.checkApproval(caller, wanted);
    }
    const quoted = JSON.stringify(scope.cluster);
    if (cluster === undefined) throw conflict(entry.kind, entry.name, `there is no cluster ${quoted}`);
    if (cluster.uid !== (wantedUid ?? cluster.uid)) {
      const why = `the cluster ${quoted} was deleted, and another of its name was created`;
      throw conflict(entry.kind, entry.name, why);
    }
    checkNotDeleted(parts, entry, account);
    return cluster;
  };
  const clusterUID = check(requestStatus(object).clusterUID).uid;
  const objects = grantObjects(object, until, clusterUID);
  const owner = ownerOf(entry);
  const bindingRef = { kind: catalog.fleetRoleBindings.kind, name: grantName(entry.name, scope.namespace) };
  const guardOf = (modRevision: number) => ({ key: entry.key, expect: { modRevision } });
  return {
    check: () => void check(clusterUID),
    status: { bindingRef, clusterUID, expirationTimestamp: toTimestamp(until) },
    prepare: () => grants.ensure('role', owner, objects, guardOf(entry.revision)),
    complete: ({ metadata }) => grants.ensure('binding', owner, objects, guardOf(Number(metadata.resourceVersion))),
  };
}

/** The fields of a new request that the server sets. Refuses one that the caller may not make. */
export function createRequestCompletion(
  parts: AccessRequestParts,
): (request: ApiRequest, kind: Kind) => Completion | undefined {
  const { catalog, rules, limits, now } = parts;
  const countsFor = createCounts(parts, catalog.accessRequests);
  const quotas = limitsOf(
    { quota: 'accessRequests', max: limits.maxOpenPerCaller, advice: 'withdraw or delete some' },
    (max, which) =>
      which === 'open' ? quantity(max, 'open access request') : `${max} access requests, open and finished`,
  );

  return (request, kind) => {
    if (kind !== catalog.accessRequests) return undefined;
    const { caller } = request;
    const counted = countsFor(caller);
    return {
      derive: (object) => {
        const name = object.metadata.name ?? '';
        const errors = requestErrors(object);
        const spec = requestSpec(object);
        if (spec.userpass === true && isSystemName(caller.as(undefined).name)) {
          errors.push(forbiddenField('spec.userpass', 'only people get passes for themselves'));
        }
        if (errors.length > 0) throw invalid(kind, name, errors);
        const scope = requestScope(spec);
        annotateAccess(request, spec);
        rules.checkRequest(caller, scope);
        if (!isPersonKnown(parts, caller)) throw unknownPerson(kind, name);
        const { maxDurationSeconds } = limits;
        const groups = [...caller.as(scope.cluster).groups].sort();
        const durationSeconds = spec.durationSeconds ?? Math.min(DEFAULT_DURATION_SECONDS, maxDurationSeconds);
        if (durationSeconds > maxDurationSeconds) {
          const why = `must be no more than ${exactDuration(maxDurationSeconds)}`;
          throw invalid(kind, name, [invalidValue('spec.durationSeconds', durationSeconds, why)]);
        }
        return {
          ...object,
          metadata: { ...object.metadata, labels: labelsFor(object.metadata, caller, counted.id, scope) },
          spec: { ...spec, durationSeconds, requestedBy: { ...userOf(parts, caller, scope.cluster), groups } },
          status: { phase: 'Pending', expirationTimestamp: toTimestamp(now() + PENDING_MS) },
        };
      },
      quota: counted.quota(quotas),
      created: (object) => annotate(request, object),
    };
  };
}

/** Also of a refused request. The name of the object is free text, and may be a token that was sent by mistake. */
function annotateAccess({ annotate: add }: ApiRequest, spec: AccessRequestSpec): void {
  add('clusterpass.dev/requested-access', withoutTokenWords(accessText(spec)));
  add('clusterpass.dev/cluster', spec.cluster ?? '');
}

/** The reason is free text and stays in the object. */
function annotate(request: ApiRequest, object: ApiObject): void {
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
