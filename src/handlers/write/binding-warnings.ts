import type { Caller } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { NAME_LABEL, PROTECTED_LABEL_PREFIX, sameNameElsewhere } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { CLUSTERS_ANNOTATION, RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { fleetKey, kindPrefix } from '../../api/object-key.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { BindingReach, VisibilityRule } from '../../api/visibility.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { entriesAt } from '../selection.ts';
import type { Views } from '../views.ts';

interface BindingWarningParts {
  readonly clusters: Kind;
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  readonly views: Pick<Views, 'rule'>;
  /** Undefined for a binding without a selector. */
  readonly bindingReach: (binding: ApiObject) => BindingReach | undefined;
}

/** Clusters that one warning names. */
const MAX_NAMES = 5;
/** Clusters that one warning looks at; the labels of the index lead to those that can match. */
const MAX_SEEN = 10_000;
const SEEN_PER_CLOCK_READ = 64;

/**
 * Warns the writer of a binding with a new selector of where it holds. Labels that clusters have already are not
 * checked when the binding is written, so a caller who may patch a cluster could have set the label before. Clusters
 * that the writer may not list do not count. Awaited after the write, dry runs included.
 */
export const createBindingWarnings =
  (parts: BindingWarningParts) =>
  async (request: ApiRequest, kind: Kind, object: ApiObject, before?: ApiObject): Promise<void> => {
    if (kind.group !== RBAC_GROUP) return;
    warnOfOtherDomains(request, kind, object, before);
    const selector = object.metadata.annotations?.[CLUSTERS_ANNOTATION];
    if (selector === undefined || selector === before?.metadata.annotations?.[CLUSTERS_ANNOTATION]) return;
    const reach = parts.bindingReach(object);
    if (reach === undefined) return;
    const { namespace, name = '' } = object.metadata;
    const binding = `${kind.kind} ${goQuote(namespace === undefined ? name : `${namespace}/${name}`)}`;
    if (!reach.grantsInClusters) {
      request.warn(
        `${binding} grants nothing: its role is about objects of the fleet, and the annotation ${CLUSTERS_ANNOTATION} ` +
          'limits it to requests about clusters',
      );
      return;
    }
    const visible = parts.views.rule(parts.clusters, request.caller, 'list');
    const { count, names, isShortened } = await findClusters(parts, reach.clusters, visible);
    const listed = visible === undefined || visible.all ? '' : ' that you may list';
    if (count === 0) {
      if (isShortened) return;
      request.warn(`${binding} holds in no cluster${listed} now${meantName(parts, request.caller, selector)}`);
    } else if (reach.byUnprotectedLabels) {
      const number = `${isShortened ? 'at least ' : ''}${count} ${count === 1 ? 'cluster' : 'clusters'}`;
      const examples = `${count > names.length ? 'e.g. ' : ''}${names.join(', ')}`;
      request.warn(
        `${binding} holds in ${number}${listed} now${names.length === 0 ? '' : `: ${examples}`}; callers who may patch a ` +
          `cluster can set the labels that it selects: to prevent that, select labels below ${PROTECTED_LABEL_PREFIX}`,
      );
    }
  };

/** Another program may have an annotation of that name, and its domain may be a mistake. */
function warnOfOtherDomains({ warn }: ApiRequest, kind: Kind, { metadata }: ApiObject, before?: ApiObject): void {
  for (const key of Object.keys(metadata.annotations ?? {})) {
    if (before?.metadata.annotations?.[key] !== undefined) continue;
    const meant = sameNameElsewhere(kind.kind, key);
    if (meant === undefined) continue;
    const why = 'is of another program and does not limit the binding';
    warn(`the annotation ${goQuote(key)} ${why}; did you mean ${goQuote(meant)}?`);
  }
}

interface Found {
  readonly count: number;
  readonly names: readonly string[];
  /** There may be more. */
  readonly isShortened: boolean;
}

async function findClusters(
  { clusters, reader }: BindingWarningParts,
  rule: VisibilityRule,
  visible: VisibilityRule | undefined,
): Promise<Found> {
  const snapshot = reader.cache(clusters).current;
  const prefix = kindPrefix(clusters);
  const candidates = rule.candidates && entriesAt(snapshot, prefix, rule.candidates);
  const names: string[] = [];
  let [count, seen] = [0, 0];
  const slice = new TimeSlice();
  // A copy, because the snapshot may change between two ticks.
  for (const { name, ruleLabels } of candidates ?? snapshot.copy().scan(prefix)) {
    if (++seen > MAX_SEEN) return { count, names, isShortened: true };
    if (seen % SEEN_PER_CLOCK_READ === 0 && slice.isUsedUp) await slice.next();
    if (!rule.admits(name, ruleLabels) || visible?.admits(name, ruleLabels) === false) continue;
    if (++count <= MAX_NAMES) names.push(name);
  }
  return { count, names, isShortened: false };
}

/** A selector that is the name of a cluster selects clusters that have a label of that name. */
function meantName({ clusters, reader, views }: BindingWarningParts, caller: Caller, selector: string): string {
  const name = selector.trim();
  const found = reader.find(clusters, fleetKey(name));
  const isListed =
    found !== undefined && views.rule(clusters, caller, 'list')?.admits(name, found.ruleLabels) !== false;
  return isListed ? `; did you mean ${NAME_LABEL}=${name}?` : '';
}
