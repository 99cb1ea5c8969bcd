import { isDeepStrictEqual } from 'node:util';
import { AUTHENTICATED, MASTERS } from '../api/caller.ts';
import type { Catalog } from '../api/catalog.ts';
import { type ApiObject, fleetKey, type Kind, type ObjectMeta } from '../api/kind.ts';
import { accessRequestKind } from '../api/kinds/access-request.ts';
import { APPROVE_VERB } from '../api/kinds/approval-kind.ts';
import { CLUSTER_GROUP } from '../api/kinds/cluster-spec.ts';
import { issuedTokenKind } from '../api/kinds/issued-token.ts';
import { passKind } from '../api/kinds/pass.ts';
import { RBAC_GROUP } from '../api/kinds/rbac.ts';
import { selfReviewTypes } from '../api/kinds/reviews.ts';
import { OVERVIEW_PATH } from '../api/overview.ts';
import { ApiError } from '../api/status.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { ObjectWriter } from '../objects/writer.ts';

/** The roles and bindings of a new fleet; install-bootstrap-roles.ts stores them. */

const meta = (name: string): ApiObject['metadata'] => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
  annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
});

const clusterRole = (name: string, rules: Record<string, string[]>[]): ApiObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'ClusterRole',
  metadata: meta(name),
  rules,
});

const groupBinding = (name: string, role: string, group: string): ApiObject => ({
  apiVersion: `${RBAC_GROUP}/v1`,
  kind: 'ClusterRoleBinding',
  metadata: meta(name),
  subjects: [{ kind: 'Group', apiGroup: RBAC_GROUP, name: group }],
  roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
});

export const BOOTSTRAP_CLUSTER_ROLES: readonly ApiObject[] = [
  clusterRole('cluster-admin', [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ]),
  clusterRole('clusterpass:viewer', [
    { verbs: ['get', 'list', 'watch'], apiGroups: [CLUSTER_GROUP], resources: ['clusters'] },
  ]),
  clusterRole('clusterpass:token-creator', [
    { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
  ]),
  clusterRole('clusterpass:token-revoker', [
    {
      verbs: ['get', 'list', 'watch', 'delete'],
      apiGroups: [issuedTokenKind.group],
      resources: [issuedTokenKind.resource],
    },
  ]),
  clusterRole('clusterpass:access-requester', [
    { verbs: ['create'], apiGroups: [accessRequestKind.group], resources: [accessRequestKind.resource] },
  ]),
  clusterRole('clusterpass:access-approver', [
    { verbs: [APPROVE_VERB], apiGroups: [accessRequestKind.group], resources: [accessRequestKind.resource] },
  ]),
  clusterRole('clusterpass:pass-approver', [
    { verbs: [APPROVE_VERB], apiGroups: [passKind.group], resources: [passKind.resource] },
  ]),
  // As in Kubernetes: reviews about the caller itself, not about others.
  clusterRole(
    'system:basic-user',
    selfReviewTypes.map(({ group, resource }) => ({ verbs: ['create'], apiGroups: [group], resources: [resource] })),
  ),
  // P-19. Only paths that describe the service: no object of the fleet can be read with it.
  clusterRole('system:discovery', [
    {
      verbs: ['get'],
      nonResourceURLs: [
        '/api',
        '/api/*',
        '/apis',
        '/apis/*',
        '/healthz',
        '/livez',
        '/openapi',
        '/openapi/*',
        '/readyz',
        '/version',
        '/version/',
      ],
    },
  ]),
  // For metrics collectors, bound to the same group as in Kubernetes.
  clusterRole('system:monitoring', [
    {
      verbs: ['get'],
      nonResourceURLs: [
        ...['/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', OVERVIEW_PATH, '/readyz', '/readyz/*'],
      ],
    },
  ]),
];

export const BOOTSTRAP_CLUSTER_ROLE_BINDINGS: readonly ApiObject[] = [
  groupBinding('cluster-admin', 'cluster-admin', MASTERS),
  groupBinding('system:basic-user', 'system:basic-user', AUTHENTICATED),
  groupBinding('system:discovery', 'system:discovery', AUTHENTICATED),
  groupBinding('system:monitoring', 'system:monitoring', 'system:monitoring'),
];

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
