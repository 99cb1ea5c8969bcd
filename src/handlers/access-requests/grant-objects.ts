import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../../api/catalog.ts';
import { type ApiObject, apiVersionOf, type Kind } from '../../api/kind.ts';
import { ACCESS_GRANT_PREFIX, ACCESS_REQUEST_LABEL, accessRequestKind } from '../../api/kinds/access-request.ts';
import { requestedRule, requestScope, requestSpec } from '../../api/kinds/access-request-spec.ts';
import { REQUEST_NAMESPACE_LABEL } from '../../api/kinds/approval-kind.ts';
import { fleetRoleBindingKind } from '../../api/kinds/fleet-role-binding.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import type { ObjectKey } from '../../api/object-key.ts';
import { ApiError, conflict, ignoreNotFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { ObjectWriter } from '../../objects/writer.ts';
import type { Guard } from '../../storage/contract.ts';
import { ObjectChanged } from '../approvals/decide.ts';

/** The role and the binding of a request. */
export const grantName = (request: string): string => `${ACCESS_GRANT_PREFIX}${request}`;

/** What identifies the grant of a request. */
export interface GrantOwner {
  readonly name: string;
  readonly uid: string;
  /** `""`: the role is a ClusterRole. */
  readonly namespace: string;
}

/** From the metadata of the request. The server sets the label, and no client can change it. */
export const ownerOf = ({
  name = '',
  uid = '',
  labels,
}: {
  readonly name?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}): GrantOwner => ({
  name,
  uid,
  namespace: labels?.[REQUEST_NAMESPACE_LABEL] ?? '',
});

/** The objects that grant what a request asks for, in this very cluster, until a time in epoch milliseconds. */
export function grantObjects(
  request: ApiObject,
  until: number,
  clusterUID: string,
): { readonly role: ApiObject; readonly binding: ApiObject } {
  const spec = requestSpec(request);
  const { cluster, namespace } = requestScope(spec);
  const { name = '', uid = '' } = request.metadata;
  const roleKind = namespace === '' ? 'ClusterRole' : 'Role';
  const metadata = {
    name: grantName(name),
    labels: { [ACCESS_REQUEST_LABEL]: name },
    ownerReferences: [{ apiVersion: apiVersionOf(accessRequestKind), kind: accessRequestKind.kind, name, uid }],
  };
  return {
    role: {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: roleKind,
      metadata: { ...metadata, ...(namespace === '' ? {} : { namespace }) },
      rules: [requestedRule(spec)],
    },
    binding: {
      apiVersion: apiVersionOf(fleetRoleBindingKind),
      kind: fleetRoleBindingKind.kind,
      metadata,
      spec: {
        subjects: [{ kind: 'User', name: spec.requestedBy?.username ?? '' }],
        roleRef: { kind: roleKind, name: grantName(name) },
        clusters: { names: [cluster], uid: clusterUID },
        ...(namespace === '' ? {} : { namespaces: [namespace] }),
        expiresAt: toTimestamp(until),
      },
    },
  };
}

interface GrantParts {
  readonly catalog: Pick<Catalog, 'roles' | 'clusterRoles' | 'fleetRoleBindings'>;
  readonly reader: Pick<ObjectReader, 'find'>;
  /** Records each change in the audit log. */
  readonly writer: Pick<ObjectWriter, 'create' | 'remove'>;
}

/** The roles and bindings of approved requests in the store. */
export class GrantStore {
  readonly #parts: GrantParts;

  constructor(parts: GrantParts) {
    this.#parts = parts;
  }

  #rolesOf({ namespace }: Pick<GrantOwner, 'namespace'>): Kind {
    const { roles, clusterRoles } = this.#parts.catalog;
    return namespace === '' ? clusterRoles : roles;
  }

  hasBinding(owner: GrantOwner): boolean {
    return this.#find(this.#parts.catalog.fleetRoleBindings, owner) !== undefined;
  }

  /** Whether the role or the binding is stored. */
  isStored(owner: GrantOwner): boolean {
    return this.hasBinding(owner) || this.#find(this.#rolesOf(owner), owner) !== undefined;
  }

  /** A role alone grants nothing. */
  ensureRole(owner: GrantOwner, role: ApiObject, guard: Guard): Promise<void> {
    return this.#ensure(this.#rolesOf(owner), owner, role, guard, (found) =>
      isDeepStrictEqual(found.rules, role.rules),
    );
  }

  ensureBinding(owner: GrantOwner, binding: ApiObject, guard: Guard): Promise<void> {
    const kind = this.#parts.catalog.fleetRoleBindings;
    return this.#ensure(kind, owner, binding, guard, (found) => isDeepStrictEqual(found.spec, binding.spec));
  }

  /** Removes the binding first: from then on nothing is granted. */
  async remove(owner: GrantOwner, guards: readonly Guard[] = []): Promise<void> {
    for (const kind of [this.#parts.catalog.fleetRoleBindings, this.#rolesOf(owner)]) {
      const found = this.#find(kind, owner);
      if (found === undefined) continue;
      const preconditions = { uid: found.metadata.uid ?? '' };
      await this.#parts.writer
        .remove(kind, keyOf(kind, owner), { dryRun: false, preconditions, guards })
        .catch(ignoreNotFound);
    }
  }

  /** The object, if it belongs to the request. */
  #find(kind: Kind, owner: GrantOwner): ApiObject | undefined {
    const object = this.#parts.reader.find(kind, keyOf(kind, owner))?.object();
    return object?.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid) === true ? object : undefined;
  }

  async #ensure(
    kind: Kind,
    owner: GrantOwner,
    wanted: ApiObject,
    guard: Guard,
    isSame: (found: ApiObject) => boolean,
  ): Promise<void> {
    const key = keyOf(kind, owner);
    if (this.#parts.reader.find(kind, key) === undefined) {
      try {
        await this.#parts.writer.create(kind, key, wanted, { dryRun: false, guards: [guard] });
        return;
      } catch (error) {
        const reason = error instanceof ApiError ? error.status.reason : undefined;
        if (reason === 'Conflict') throw new ObjectChanged();
        if (reason !== 'AlreadyExists') throw error;
      }
    }
    const found = this.#find(kind, owner);
    if (found !== undefined && isSame(found)) return;
    const why = `${kind.kind} ${JSON.stringify(key.name)} exists and is not that of the request: delete it first`;
    throw conflict(accessRequestKind, owner.name, why);
  }
}

const keyOf = ({ namespaced }: Kind, { name, namespace }: GrantOwner): ObjectKey => ({
  cluster: '',
  namespace: namespaced ? namespace : '',
  name: grantName(name),
});
