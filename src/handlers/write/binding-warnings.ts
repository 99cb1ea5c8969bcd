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

const SEEN_PER_CLOCK_READ = 64;

/**
 * Warns the writer of a binding for other clusters than before. Labels that clusters have already are not checked when
 * the binding is written, so a caller who may patch a cluster could have set the label before. Clusters that the writer
 * may not list do not count. Awaited after the write, dry runs included.
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
    const visible = parts.views.rule(parts.clusters, request.caller, 'list');
    const isOfSome = await holdsInSome(parts, reach.clusters, visible, request.work);
    if (!isOfSome) {
      const listed = visible === undefined || visible.all ? '' : ' that you may list';
      request.warn(`${binding} holds in no cluster${listed} now`);
    } else if (reach.byUnprotectedLabels) {
      request.warn(
        `${binding} selects labels that callers who may patch a cluster can set: to prevent that, select labels below ` +
          PROTECTED_LABEL_PREFIX,
      );
    }
  };

async function holdsInSome(
  { clusters, reader }: BindingWarningParts,
  rule: VisibilityRule,
  visible: VisibilityRule | undefined,
  work: Work,
): Promise<boolean> {
  const snapshot = reader.cache(clusters).current;
  const prefix = kindPrefix(clusters);
  const candidates = rule.candidates && entriesAt(snapshot, prefix, rule.candidates);
  let seen = 0;
  // A copy, because the snapshot may change between two ticks.
  for (const { name, ruleLabels } of candidates ?? snapshot.copy().scan(prefix)) {
    if (++seen % SEEN_PER_CLOCK_READ === 0 && work.isUsedUp) await work.turn();
    if (rule.admits(name, ruleLabels) && visible?.admits(name, ruleLabels) !== false) return true;
  }
  return false;
}
