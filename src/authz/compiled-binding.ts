import type { ApiObject } from '../api/kind.ts';
import { pinText, type Reach, reachText, readReach } from './cluster-selector.ts';
import type { CompiledRole } from './compiled-role.ts';
import { field, textOf } from './plain-json.ts';
import { type RoleTarget, troubleOf } from './reasons.ts';
import { readSubjects, type Subject } from './subjects.ts';

/** What a binding says, read once. */
export interface BindingFacts {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  /** `""` for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly name: string;
  readonly subjects: readonly Subject[];
  readonly target: RoleTarget;
  readonly reach: Reach;
}

export function readBinding(object: ApiObject, namespace: string, name: string): BindingFacts {
  return {
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    namespace,
    name,
    subjects: readSubjects(object.subjects, namespace),
    target: readTarget(object.roleRef, namespace),
    reach: readReach(object),
  };
}

/** A Role is looked for in the binding's namespace, so a ClusterRoleBinding can never find one. */
export function readTarget(roleRef: unknown, bindingNamespace: string): RoleTarget {
  const kind = textOf(field(roleRef, 'kind'));
  return { kind, namespace: kind === 'Role' ? bindingNamespace : '', name: textOf(field(roleRef, 'name')) };
}

/** How a decision names the binding that allowed it: `ClusterRoleBinding/x`, `RoleBinding/ns/x`. */
export const bindingId = (namespace: string, name: string): string =>
  namespace === '' ? `ClusterRoleBinding/${name}` : `RoleBinding/${namespace}/${name}`;

/** The pool of restricted bindings that no label leads to. */
export const UNPINNED = '';

export class CompiledBinding {
  readonly id: string;
  readonly facts: BindingFacts;
  readonly role: CompiledRole;
  /** Equal when role and reach are: then a change concerns only the subjects that came or went. */
  readonly grantText: string;
  /** Under which pins it is found among the restricted ones; undefined for an unrestricted one. */
  readonly pins: readonly string[] | undefined;

  constructor(facts: BindingFacts, role: CompiledRole) {
    this.id = bindingId(facts.namespace, facts.name);
    this.facts = facts;
    this.role = role;
    this.grantText = JSON.stringify([facts.target.kind, facts.target.name, reachText(facts.reach)]);
    this.pins = pinsOf(facts.reach);
  }

  get trouble(): string | undefined {
    return troubleOf(this.facts, this.role.exists);
  }
}

function pinsOf(reach: Reach): readonly string[] | undefined {
  switch (reach.kind) {
    case 'everywhere':
      return undefined;
    case 'clusters':
      return reach.selector.pins?.map(pinText) ?? [UNPINNED];
    case 'nowhere':
      return [];
  }
}
