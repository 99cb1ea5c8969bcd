import { isDeepStrictEqual } from 'node:util';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { PROTECTED_LABEL_PREFIX } from '../../api/domain-keys.ts';
import { type ApiObject, type Kind, kindPrefix } from '../../api/kind.ts';
import { bindingSpec } from '../../api/kinds/fleet-role-binding.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { BindingReach, VisibilityRule } from '../../api/visibility.ts';
import type { Work } from '../../lib/work-queue.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import { entriesAt } from '../selection.ts';
import type { Views } from '../views.ts';

interface BindingWarningParts {
  readonly bindings: Kind;
  readonly clusters: Kind;
  readonly reader: Pick<ObjectReader, 'cache'>;
  readonly views: Pick<Views, 'rule'>;
  /** Undefined for a binding that holds everywhere. */
  readonly bindingReach: (binding: ApiObject) => BindingReach | undefined;
}

/** Clusters that one warning names. */
const MAX_NAMES = 5;
/** Clusters that one warning looks at; the labels of the index lead to those that can match. */
const MAX_SEEN = 10_000;
const SEEN_PER_CLOCK_READ = 64;

/**
 * Warns the writer of a binding for other clusters than before of where it holds. Labels that clusters have already are
 * not checked when the binding is written, so a caller who may patch a cluster could have set the label before.
 * Clusters that the writer may not list do not count. Awaited after the write, dry runs included.
 */
export const createBindingWarnings =
  (parts: BindingWarningParts) =>
  async (request: ApiRequest, kind: Kind, object: ApiObject, before?: ApiObject): Promise<void> => {
    if (kind !== parts.bindings) return;
    const { clusters } = bindingSpec(object);
    if (before !== undefined && isDeepStrictEqual(clusters, bindingSpec(before).clusters)) return;
    const reach = parts.bindingReach(object);
    if (reach === undefined) return;
    const binding = `${kind.kind} ${goQuote(object.metadata.name ?? '')}`;
    if (!reach.grantsInClusters) {
      request.warn(
        `${binding} grants nothing: its role is about objects of the fleet, and spec.clusters limits it to requests ` +
          'about clusters; all: true does not',
      );
      return;
    }
    const visible = parts.views.rule(parts.clusters, request.caller, 'list');
    const { count, names, isShortened } = await findClusters(parts, reach.clusters, visible, request.work);
    const listed = visible === undefined || visible.all ? '' : ' that you may list';
    if (count === 0) {
      if (isShortened) return;
      request.warn(`${binding} holds in no cluster${listed} now`);
    } else if (reach.byUnprotectedLabels) {
      const number = `${isShortened ? 'at least ' : ''}${count} ${count === 1 ? 'cluster' : 'clusters'}`;
      const examples = `${count > names.length ? 'e.g. ' : ''}${names.join(', ')}`;
      request.warn(
        `${binding} holds in ${number}${listed} now${names.length === 0 ? '' : `: ${examples}`}; callers who may patch a ` +
          `cluster can set the labels that it selects: to prevent that, select labels below ${PROTECTED_LABEL_PREFIX}`,
      );
    }
  };

/** `isShortened`: there may be more. */
async function findClusters(
  { clusters, reader }: BindingWarningParts,
  rule: VisibilityRule,
  visible: VisibilityRule | undefined,
  work: Work,
) {
  const snapshot = reader.cache(clusters).current;
  const prefix = kindPrefix(clusters);
  const candidates = rule.candidates && entriesAt(snapshot, prefix, rule.candidates);
  const names: string[] = [];
  let [count, seen] = [0, 0];
  // A copy, because the snapshot may change between two ticks.
  for (const { name, ruleLabels } of candidates ?? snapshot.copy().scan(prefix)) {
    if (++seen > MAX_SEEN) return { count, names, isShortened: true };
    if (seen % SEEN_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
    if (!rule.admits(name, ruleLabels) || visible?.admits(name, ruleLabels) === false) continue;
    if (++count <= MAX_NAMES) names.push(name);
  }
  return { count, names, isShortened: false };
}
