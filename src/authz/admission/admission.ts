import type { Catalog } from '../../api/catalog.ts';
import { ID_KEY } from '../../api/clusters/identities.ts';
import { CLUSTER_ID_ANNOTATION } from '../../api/domain-keys.ts';
import type { ApiObject, Kind } from '../../api/kind.ts';
import { fleetKey } from '../../api/object-key.ts';
import type { ApiRequest } from '../../api/request.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { Policy } from '../policy/policy.ts';
import { checkAnnotations, checkMirror } from './check-annotations.ts';
import { checkExpiry } from './check-expiry.ts';
import { checkLabels } from './check-labels.ts';
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
  return ({ caller, target, warn }, kind, object, old) => {
    checkGrant(policy, caller, kind, object, old);
    checkExpiry(kind, object, old, now());
    checkAnnotations(policy, caller, kind, object, old);
    checkLabels(policy, caller, kind, object, old);
    checkOrder(kind, object, old, now());
    checkMirror(policy, caller, kind, object, old, target.cluster, idOf);
    if (kind !== catalog.clusters) return;
    findSecondNames(parts, caller, object, (what, names) => warn(`${what} is registered as ${names}`), old);
  };
}

/** Clusters that are looked at for one address or id, also hidden ones, and that one warning names. */
const MAX_SEEN = 200;
const MAX_NAMES = 5;

/**
 * Tells under which other names a cluster is registered, those that the caller may list. The id of a cluster of which
 * the caller sees the public view does not count: a warning would tell what is hidden.
 */
export function findSecondNames(
  { policy, catalog: { clusters }, reader }: Pick<AdmissionParts, 'policy' | 'catalog' | 'reader'>,
  caller: Parameters<Policy['ruleFor']>[0],
  object: ApiObject,
  tell: (what: string, names: string) => void,
  old?: ApiObject,
): void {
  const known = new Map(old && clusters.identities?.(old));
  for (const [key, value] of new Map(clusters.identities?.(object))) {
    if (known.get(key) === value) continue;
    const verbs = key === ID_KEY ? (['list', 'update'] as const) : (['list'] as const);
    const rules = verbs.map((verb) => policy.ruleFor(caller, verb));
    const entries = reader.cache(clusters).current.withLabel(key, value).take(MAX_SEEN);
    const others = entries.filter(({ name }) => name !== object.metadata.name);
    const visible = others.filter(({ name, labels }) => rules.every((rule) => rule.admits(name, labels)));
    const names = Array.from(visible.take(MAX_NAMES), ({ name }) => name);
    const what = key === ID_KEY ? 'the same cluster id' : `${key} with the same CA`;
    if (names.length > 0) tell(what, names.join(', '));
  }
}
