import type { Caller } from '../../api/caller.ts';
import type { Catalog } from '../../api/catalog.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { Policy } from '../policy/policy.ts';
import { checkAnnotations } from './check-annotations.ts';
import { checkExpiry } from './check-expiry.ts';
import { checkLabels } from './check-labels.ts';
import { checkMirror } from './check-mirror.ts';
import { checkOrder } from './check-order.ts';
import { checkGrant } from './escalation.ts';

interface AdmissionParts {
  readonly policy: Policy;
  readonly catalog: Pick<Catalog, 'clusters'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * What a write needs beyond the permission to write the object. `old` is undefined on create; `cluster` is that of the
 * path.
 *
 * @throws ApiError of the first check that fails
 */
type Admission = (
  caller: Caller,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  cluster: string | undefined,
) => void;

/** The checks in order. Each returns at once for objects that it is not about. */
export function createAdmission({ policy, catalog, reader, now }: AdmissionParts): Admission {
  const idOf = (cluster: string): string | undefined =>
    reader.find(catalog.clusters, fleetKey(cluster))?.object().metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  return (caller, kind, object, old, cluster) => {
    checkGrant(policy, caller, kind, object, old);
    checkExpiry(kind, object, old, now());
    checkAnnotations(policy, caller, kind, object, old);
    checkLabels(policy, caller, kind, object, old);
    checkOrder(kind, object, old, now());
    checkMirror(policy, caller, kind, object, old, cluster, idOf);
  };
}
