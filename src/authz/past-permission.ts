import { MASTERS } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import type { Kind } from '../api/kind.ts';
import { kindPrefix } from '../api/object-key.ts';
import type { ApiRequest } from '../api/request.ts';
import { atRevision, compareMoments, type PolicyMoment } from '../api/visibility.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { questionOf } from './forbidden.ts';
import type { Policy } from './policy/policy.ts';

interface PastPermissionParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly policy: Pick<Policy, 'decideAt' | 'decideForAnyLabels' | 'changedAt'>;
  /** Kinds whose objects are filtered one by one. `Views` decides about those. */
  readonly isFiltered: (kind: Kind) => boolean;
  /** Undefined when they are no longer known. */
  readonly policyChangesBetween: (after: number, upTo: number) => readonly PolicyMoment[] | undefined;
}

/** Whether a request for a past state was allowed then, for kinds that are allowed or not as a whole. */
interface PastPermission {
  /** Throws a 410 when the rules of the revision are no longer known. */
  isRefusedAt(request: ApiRequest, kind: Kind, revision: number): boolean;
  /** Whether the caller was refused at any time between two revisions, or this is no longer known. */
  isRefusedBetween(request: ApiRequest, kind: Kind, from: number, upTo: number): boolean;
}

/** For each change the rules are evaluated again. A client that missed more changes has to list again. */
const MAX_CHANGES = 8;

export function createPastPermission(parts: PastPermissionParts): PastPermission {
  const { catalog, reader, policy, isFiltered } = parts;

  /** The moments at which a cluster got other labels, was created or deleted; undefined when they are unknown. */
  const labelChanges = (cluster: string, from: number, upTo: number): PolicyMoment[] | undefined => {
    const key = `${kindPrefix(catalog.clusters)}${cluster}`;
    return reader
      .cache(catalog.clusters)
      .eventsAfter(from)
      ?.filter(({ before, after, revision }) => {
        const isOfCluster = (after ?? before)?.key === key && revision <= upTo;
        return isOfCluster && JSON.stringify(before?.labels) !== JSON.stringify(after?.labels);
      })
      .map(({ revision }) => atRevision(revision));
  };

  return {
    isRefusedAt: (request, kind, revision) =>
      !isFiltered(kind) && !policy.decideAt(request.caller, questionOf(request), atRevision(revision)).allowed,

    isRefusedBetween: (request, kind, from, upTo) => {
      if (isFiltered(kind)) return false;
      const { caller, target } = request;
      // P-19: allowed by every set of rules.
      if (caller.as(target.cluster).groups.includes(MASTERS)) return false;
      const question = questionOf(request);
      const start = atRevision(from);
      const isUnchanged = compareMoments(policy.changedAt(caller), start) <= 0;
      if (isUnchanged && policy.decideForAnyLabels(caller, question).allowed) return false;
      const policyChanges = isUnchanged ? [] : parts.policyChangesBetween(from, upTo);
      const changesInCluster = target.cluster === undefined ? [] : labelChanges(target.cluster, from, upTo);
      if (policyChanges === undefined || policyChanges.length > MAX_CHANGES) return true;
      if (changesInCluster === undefined || changesInCluster.length > MAX_CHANGES) return true;
      const moments = [...[start, ...policyChanges].filter(hasEvents), ...changesInCluster];
      return moments.some((moment) => !policy.decideAt(caller, question, moment).allowed);
    },
  };
}

/**
 * Whether events can follow this change before the next one, which may be just after the same revision. The event of a
 * write follows the change that it makes; the client has that of the first moment.
 */
function hasEvents({ revision, change }: PolicyMoment, index: number, changes: readonly PolicyMoment[]): boolean {
  const next = changes[index + 1];
  return (index > 0 && change === 0) || next === undefined || next.revision > revision;
}
