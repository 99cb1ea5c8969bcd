import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../api/catalog.ts';
import type { ApiObject, Kind, ObjectMeta } from '../api/kind.ts';
import { ApiError } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import { BOOTSTRAP_CLUSTER_ROLE_BINDINGS, BOOTSTRAP_CLUSTER_ROLES } from './bootstrap-roles.ts';

const ATTEMPTS = 5;
const AUTO_UPDATE = 'rbac.authorization.kubernetes.io/autoupdate';

/**
 * Makes sure that the roles exist which a fleet starts with. Whoever has changed one keeps the change by
 * setting the annotation to "false", as in Kubernetes; the others follow the release.
 */
export async function installBootstrapRoles(
  catalog: Catalog,
  reader: ObjectReader,
  writer: ObjectWriter,
): Promise<void> {
  for (const object of BOOTSTRAP_CLUSTER_ROLES) await settle(catalog.clusterRoles, object);
  for (const object of BOOTSTRAP_CLUSTER_ROLE_BINDINGS) await settle(catalog.clusterRoleBindings, object);

  /** Replicas that start together do the same at the same time: who comes second looks again. */
  async function settle(kind: Kind, object: ApiObject): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await install(kind, object);
      } catch (error) {
        const overtaken = error instanceof ApiError && [404, 409].includes(error.status.code);
        if (!overtaken || attempt >= ATTEMPTS) throw error;
        await reader.catchUp();
      }
    }
  }

  async function install(kind: Kind, object: ApiObject): Promise<void> {
    const objectKey = { cluster: '', namespace: '', name: object.metadata.name ?? '' };
    const existing = reader.find(kind, objectKey);
    const stored = existing?.object();
    if (stored?.metadata.annotations?.[AUTO_UPDATE] === 'false') return;
    // The role of a binding can not be changed, so one that refers to another is made anew, as Kubernetes does.
    const isAnother = stored !== undefined && !isDeepStrictEqual(stored.roleRef, object.roleRef);
    // With finalizers it goes when they do, and the next start makes the one that belongs here.
    if (isAnother && !(await writer.remove(kind, objectKey, { dryRun: false })).gone) return;
    if (stored === undefined || isAnother) {
      await writer.create(kind, objectKey, structuredClone(object), { dryRun: false });
      return;
    }
    await writer.update(
      kind,
      objectKey,
      ({ metadata }) => ({ ...structuredClone(object), metadata: withOurs(metadata, object.metadata) }),
      { dryRun: false, part: 'object' },
    );
  }
}

/** What others have added to the metadata stays. */
const withOurs = (theirs: ObjectMeta, ours: ObjectMeta): ObjectMeta => ({
  ...theirs,
  labels: { ...theirs.labels, ...ours.labels },
  annotations: { ...theirs.annotations, ...ours.annotations },
});
