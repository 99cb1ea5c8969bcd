import type { Catalog } from '../api/catalog.ts';
import { type Kind, kindPrefix } from '../api/kind.ts';
import type { ApiRequest } from '../api/request.ts';
import type { ObjectReader } from '../objects/reader.ts';
import { questionOf } from './forbidden.ts';
import type { Policy } from './policy/policy.ts';

interface ChangeCheckParts {
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'cache'>;
  readonly policy: Pick<Policy, 'decideForAnyLabels'>;
  /** See `Views`. */
  readonly changedAt: (kind: Kind, caller: ApiRequest['caller']) => number;
}

/**
 * Tells whether a caller may have been allowed something else since a revision: its rules have changed, or the labels
 * of the cluster of the path, by which bindings hold. A list of that revision, or a watch from it, would be judged by
 * the present rules, so it is answered with a 410.
 */
export const createChangeCheck =
  ({ catalog, reader, policy, changedAt }: ChangeCheckParts) =>
  (request: ApiRequest, kind: Kind, revision: number): boolean => {
    const { caller, target } = request;
    if (changedAt(kind, caller) > revision) return true;
    if (target.cluster === undefined || policy.decideForAnyLabels(caller, questionOf(request)).allowed) return false;
    const key = `${kindPrefix(catalog.clusters)}${target.cluster}`;
    const events = reader.cache(catalog.clusters).eventsAfter(revision);
    return (
      events === undefined ||
      events.some(
        ({ before, after }) =>
          (after ?? before)?.key === key && JSON.stringify(before?.labels) !== JSON.stringify(after?.labels),
      )
    );
  };
