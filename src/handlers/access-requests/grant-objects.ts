import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../../api/catalog.ts';
import { type ApiObject, apiVersionOf, type Kind, type ObjectKey } from '../../api/kind.ts';
import { ACCESS_GRANT_PREFIX, ACCESS_REQUEST_LABEL, accessRequestKind } from '../../api/kinds/access-request.ts';
import { type AccessRequestSpec, requestedAccess, requestSpec } from '../../api/kinds/access-request-spec.ts';
import { REQUEST_NAMESPACE_LABEL } from '../../api/kinds/approval-kind.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { ApiError, conflict, ignoreNotFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Guard } from '../../storage/contract.ts';
import { ObjectChanged } from '../approvals/decide.ts';

/** The role and the binding of a request in a scope. */
export const grantName = (request: string, namespace: string): string =>
  `${ACCESS_GRANT_PREFIX}${request}${namespace === '' ? '' : `:${namespace}`}`;

/** What identifies the grant of a request. */
export interface GrantOwner {
  readonly name: string;
  readonly uid: string;
  /** Where it can have bindings. `""`: the whole cluster, by a ClusterRole. */
  readonly namespaces: readonly string[];
}

/** From the metadata of the request. The server sets the label, and no client can change it. */
export function ownerOf(metadata: Partial<Pick<StoredObject, 'name' | 'uid' | 'labels'>>): GrantOwner {
  const { name = '', uid = '', labels } = metadata;
  const namespace = labels?.[REQUEST_NAMESPACE_LABEL];
  return { name, uid, namespaces: namespace === undefined ? [''] : [namespace, ''] };
}

/** Where a request needs bindings. */
export const grantScopes = (spec: AccessRequestSpec): string[] => [
  ...new Set(requestedAccess(spec).map(({ namespace }) => namespace)),
];

export interface GrantObjects {
  readonly namespace: string;
  readonly role: ApiObject;
  readonly binding: ApiObject;
}

/** The objects that grant what a request asks for, in this very cluster, until a time in epoch milliseconds. */
export function grantObjects(request: ApiObject, until: number, clusterUID: string): GrantObjects[] {
  const spec = requestSpec(request);
  const { name: owner = '', uid = '' } = request.metadata;
  const ownerReferences = [
    { apiVersion: apiVersionOf(accessRequestKind), kind: accessRequestKind.kind, name: owner, uid },
  ];
  return grantScopes(spec).map((namespace) => {
    const inNamespace = namespace === '' ? {} : { namespace };
    const roleRef = { kind: namespace === '' ? 'ClusterRole' : 'Role', name: grantName(owner, namespace) };
    const metadata = { name: roleRef.name, labels: { [ACCESS_REQUEST_LABEL]: owner }, ownerReferences };
    const role = {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: roleRef.kind,
      metadata: { ...metadata, ...inNamespace },
      rules: requestedAccess(spec).flatMap((asked) => (asked.namespace === namespace ? [asked.rule] : [])),
    };
    const binding = {
      apiVersion: apiVersionOf(fleetRoleBindingKind),
      kind: fleetRoleBindingKind.kind,
      metadata,
      spec: {
        subjects: [{ kind: 'User', name: spec.requestedBy?.username ?? '' }],
        roleRef,
        clusters: { names: [spec.cluster ?? ''], uid: clusterUID },
        ...(namespace === '' ? {} : { namespaces: [namespace] }),
        expiresAt: toTimestamp(until),
      },
    };
    return { namespace, role, binding };
  });
}

interface GrantParts {
  readonly catalog: Pick<Catalog, 'roles' | 'clusterRoles' | 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  /** Records each change in the audit log. */
  readonly writer: Pick<ObjectWriter, 'create' | 'remove'>;
}

/** Bindings are removed first: from then on nothing is granted. */
const PARTS = ['binding', 'role'] as const;

/** The roles and bindings of approved requests in the store. */
export function createGrantStore({ catalog, reader, writer }: GrantParts) {
  function kindOf(part: 'role' | 'binding', namespace: string): Kind {
    const { roles, clusterRoles, fleetRoleBindings } = catalog;
    if (part === 'binding') return fleetRoleBindings;
    return namespace === '' ? clusterRoles : roles;
  }

  function hasBindings(owner: GrantOwner, namespaces: readonly string[]): boolean {
    return namespaces.every((namespace) => findOwn(kindOf('binding', namespace), owner, namespace));
  }

  /** Whether a role or a binding is stored. */
  function isStored(owner: GrantOwner): boolean {
    return PARTS.some((part) =>
      owner.namespaces.some((namespace) => findOwn(kindOf(part, namespace), owner, namespace)),
    );
  }

  /** Roles alone grant nothing. */
  async function ensure(
    part: 'role' | 'binding',
    owner: GrantOwner,
    objects: readonly GrantObjects[],
    guard: Guard,
  ): Promise<void> {
    for (const { namespace, [part]: wanted } of objects) {
      await ensureObject(kindOf(part, namespace), owner, namespace, wanted, guard);
    }
  }

  async function remove(owner: GrantOwner, guards: readonly Guard[] = []): Promise<void> {
    for (const part of PARTS) {
      for (const namespace of owner.namespaces) {
        const kind = kindOf(part, namespace);
        const found = findOwn(kind, owner, namespace);
        if (found === undefined) continue;
        const preconditions = { uid: found.metadata.uid ?? '' };
        await writer
          .remove(kind, keyOf(kind, owner, namespace), { dryRun: false, preconditions, guards })
          .catch(ignoreNotFound);
      }
    }
  }

  /** The object, if it belongs to the request. */
  function findOwn(kind: Kind, owner: GrantOwner, namespace: string): ApiObject | undefined {
    const object = reader.find(kind, keyOf(kind, owner, namespace))?.object();
    return object?.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid) === true ? object : undefined;
  }

  async function ensureObject(kind: Kind, owner: GrantOwner, namespace: string, wanted: ApiObject, guard: Guard) {
    const key = keyOf(kind, owner, namespace);
    if (reader.find(kind, key) === undefined) {
      try {
        await writer.create(kind, key, wanted, { dryRun: false, guards: [guard] });
        return;
      } catch (error) {
        const reason = error instanceof ApiError ? error.status.reason : undefined;
        if (reason === 'Conflict') throw new ObjectChanged();
        if (reason !== 'AlreadyExists') throw error;
      }
    }
    const found = findOwn(kind, owner, namespace);
    const isSame = isDeepStrictEqual([found?.rules, found?.spec], [wanted.rules, wanted.spec]);
    if (found !== undefined && isSame) return;
    const why = `${kind.kind} ${JSON.stringify(key.name)} exists and is not that of the request: delete it first`;
    throw conflict(accessRequestKind, owner.name, why);
  }

  return { hasBindings, isStored, ensure, remove };
}

export type GrantStore = ReturnType<typeof createGrantStore>;

const keyOf = ({ namespaced }: Kind, { name }: GrantOwner, namespace: string): ObjectKey => ({
  cluster: '',
  namespace: namespaced ? namespace : '',
  name: grantName(name, namespace),
});
