import type { Catalog } from '../api/catalog.ts';
import { kindPrefix } from '../api/kind.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Logger } from '../observability/logger.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import { readBinding } from './policy/binding-facts.ts';

/** For one read of all bindings. The others are counted. */
const MAX_REPORTS = 20;

/**
 * Reports stored bindings that hold nowhere because of a mistake, at the start and when one is written. The API refuses
 * them, so only the operator can find out.
 */
export function reportUnusableBindings(
  catalog: Pick<Catalog, 'clusterRoleBindings' | 'roleBindings' | 'fleetRoleBindings'>,
  reader: Pick<ObjectReader, 'cache'>,
  logger: Pick<Logger, 'warn'>,
): ReflectorListener<StoredObject> {
  const kinds = [catalog.clusterRoleBindings, catalog.roleBindings, catalog.fleetRoleBindings];
  const report = (found: object) => logger.warn(found, 'a stored binding grants nothing: correct it');
  const unusable = (entry: StoredObject) => {
    // Its deletion is no mistake. A finalizer keeps the object for a while.
    if (entry.deletionTimestamp !== undefined) return undefined;
    const facts = readBinding(entry.object(), entry.namespace, entry.name);
    const { reach } = facts;
    if (reach.kind !== 'nowhere') return undefined;
    return { binding: facts.id, reason: reach.reason };
  };
  return {
    onEvent: ({ after }) => {
      if (after === undefined || !kinds.includes(after.kind)) return;
      const found = unusable(after);
      if (found !== undefined) report(found);
    },
    onReset: () => {
      let count = 0;
      for (const kind of kinds) {
        for (const entry of reader.cache(kind).current.scan(kindPrefix(kind))) {
          const found = unusable(entry);
          if (found !== undefined && ++count <= MAX_REPORTS) report(found);
        }
      }
      const more = count - MAX_REPORTS;
      if (more > 0) logger.warn({ count: more }, 'more stored bindings grant nothing: correct them');
    },
  };
}
