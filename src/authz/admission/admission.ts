import type { Catalog } from '../../api/catalog.ts';
import { ID_KEY } from '../../api/clusters/identities.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest } from '../../api/request.ts';
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
  readonly reader: Pick<ObjectReader, 'cache' | 'find'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * What a write needs beyond the permission to write the object, and what its writer is warned of. `old` is undefined on
 * create.
 *
 * @throws ApiError of the first check that fails
 */
type Admission = (
  request: Pick<ApiRequest, 'caller' | 'target' | 'warn'>,
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
) => void;

/** The checks in order. Each returns at once for objects that it is not about. */
export function createAdmission(parts: AdmissionParts): Admission {
  const { policy, catalog, reader, now } = parts;
  const idOf = (cluster: string): string | undefined =>
    reader.find(catalog.clusters, fleetKey(cluster))?.object().metadata.annotations?.[CLUSTER_ID_ANNOTATION];
  return (request, kind, object, old) => {
    const { caller, target } = request;
    checkGrant(policy, caller, kind, object, old);
    checkExpiry(kind, object, old, now());
    checkAnnotations(policy, caller, kind, object, old);
    checkLabels(policy, caller, kind, object, old);
    checkOrder(kind, object, old, now());
    checkMirror(policy, caller, kind, object, old, target.cluster, idOf);
    if (kind === catalog.clusters) warnOfSecondName(parts, request, object, old);
  };
}

/** Clusters that are looked at for one address or id, also hidden ones, and that one warning names. */
const MAX_SEEN = 200;
const MAX_NAMES = 5;

/**
 * Warns the writer of a cluster that has another name already. A name that the writer may not list is not said, and
 * neither is the id of a cluster of which the writer sees the public view: the warning would tell what is hidden.
 */
function warnOfSecondName(
  { policy, catalog: { clusters }, reader }: AdmissionParts,
  { caller, warn }: Pick<ApiRequest, 'caller' | 'warn'>,
  object: ApiObject,
  old: ApiObject | undefined,
): void {
  const known = new Map(old && clusters.identities?.(old));
  for (const [key, value] of new Map(clusters.identities?.(object))) {
    if (known.get(key) === value) continue;
    const verbs = key === ID_KEY ? (['list', 'update'] as const) : (['list'] as const);
    const rules = verbs.map((verb) => policy.ruleFor(caller, verb));
    const names: string[] = [];
    let seen = 0;
    for (const { name, labels } of reader.cache(clusters).current.withLabel(key, value)) {
      if (++seen > MAX_SEEN || names.length === MAX_NAMES) break;
      if (name !== object.metadata.name && rules.every((rule) => rule.admits(name, labels))) names.push(name);
    }
    const what = key === ID_KEY ? 'the same cluster id' : `${key} with the same CA`;
    if (names.length > 0) warn(`${what} is registered as ${names.join(', ')}`);
  }
}
