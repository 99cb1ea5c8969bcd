import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../api/catalog.ts';
import type { ApiObject, Kind, ObjectMeta } from '../api/kind.ts';
import { fleetKey } from '../api/object-key.ts';
import { ApiError } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { BOOTSTRAP_CLUSTER_ROLE_BINDINGS, BOOTSTRAP_CLUSTER_ROLES } from './bootstrap-roles.ts';

const ATTEMPTS = 5;
const AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';

/**
 * Creates the bootstrap roles and bindings, and resets their rules and subjects to those of this release. P-21:
 * Kubernetes keeps rules and subjects that were added. As in Kubernetes, an object whose autoupdate annotation is
 * "false" keeps all its changes.
 */
export async function installBootstrapRoles(
  catalog: Catalog,
  reader: ObjectReader,
  writer: Pick<ObjectWriter, 'create' | 'update' | 'remove'>,
): Promise<void> {
  for (const object of BOOTSTRAP_CLUSTER_ROLES) await reconcile(catalog.clusterRoles, object);
  for (const object of BOOTSTRAP_CLUSTER_ROLE_BINDINGS) await reconcile(catalog.clusterRoleBindings, object);

  /** Replicas that start together write the same objects: the one that loses a conflict reads again and retries. */
  async function reconcile(kind: Kind, object: ApiObject): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await install(kind, object);
      } catch (error) {
        const isConflict = error instanceof ApiError && [404, 409].includes(error.status.code);
        if (!isConflict || attempt >= ATTEMPTS) throw error;
        await reader.catchUp();
      }
    }
  }

  async function install(kind: Kind, object: ApiObject): Promise<void> {
    const key = fleetKey(object.metadata.name ?? '');
    // An operator has to delete it first: it may have had an autoupdate annotation.
    if (reader.findUnreadable(kind, key) !== undefined) return;
    const existing = reader.find(kind, key);
    const stored = existing?.object();
    if (stored?.metadata.annotations?.[AUTO_UPDATE] === 'false') return;
    // roleRef is immutable, so a binding to another role is deleted and created, as Kubernetes does.
    const refersElsewhere = stored !== undefined && !isDeepStrictEqual(stored.roleRef, object.roleRef);
    // With finalizers it is deleted later, and the next start creates ours.
    if (refersElsewhere && !(await writer.remove(kind, key, { dryRun: false })).gone) return;
    if (stored === undefined || refersElsewhere) {
      await writer.create(kind, key, structuredClone(object), { dryRun: false });
      return;
    }
    await writer.update(
      kind,
      key,
      ({ metadata }) => ({ ...structuredClone(object), metadata: withOurs(metadata, object.metadata) }),
      { dryRun: false, part: 'object' },
    );
  }
}

/** Labels and annotations that others added are kept. */
const withOurs = (theirs: ObjectMeta, ours: ObjectMeta): ObjectMeta => ({
  ...theirs,
  labels: { ...theirs.labels, ...ours.labels },
  annotations: { ...theirs.annotations, ...ours.annotations },
});
