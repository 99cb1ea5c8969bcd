import type { Catalog } from '../api/catalog.ts';
import { kindPrefix } from '../api/object-key.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import { bindingId, readReach } from './rbac-objects.ts';

/** For one read of all bindings. */
const MAX_REPORTS = 20;

/** A binding of an earlier release, or of another writer of the store, that holds nowhere. */
export interface UnusableBinding {
  readonly binding: string;
  readonly reason: string;
}

/**
 * Reports stored bindings that hold nowhere because of a mistake, at the start and when one is written. The API refuses
 * them, so only the operator can find out.
 */
export function reportUnusableBindings(
  { clusterRoleBindings, roleBindings }: Pick<Catalog, 'clusterRoleBindings' | 'roleBindings'>,
  reader: Pick<ObjectReader, 'cache'>,
  report: (unusable: UnusableBinding) => void,
): ReflectorListener<StoredObject> {
  const kinds = [clusterRoleBindings, roleBindings];
  const check = (entry: StoredObject): boolean => {
    const reach = readReach(entry.object());
    if (reach.kind !== 'nowhere') return false;
    report({ binding: bindingId(entry.namespace, entry.name), reason: reach.reason });
    return true;
  };
  return {
    onEvent: ({ after }) => {
      if (after !== undefined && kinds.includes(after.kind)) check(after);
    },
    onProgress: () => {},
    onReset: () => {
      let reports = 0;
      for (const kind of kinds) {
        for (const entry of reader.cache(kind).current.scan(kindPrefix(kind))) {
          if (check(entry) && ++reports >= MAX_REPORTS) return;
        }
      }
    },
  };
}
