import type { User } from './caller.ts';
import { goQuote } from './codec/go-text/go-quote.ts';
import type { Given } from './reach.ts';

export interface Decision {
  readonly allowed: boolean;
  /** The binding that allowed it, for audit and for reviews. */
  readonly binding?: string;
  /** The content of that binding; absent when no binding was needed. */
  readonly grant?: Grant;
  /** How long a pass may last, if the question was about tokens; absent when nothing bounds it. */
  readonly passBounds?: PassBounds;
  /** Why some bindings could not be resolved, e.g. a role that does not exist; `""` otherwise (P-35). */
  readonly reason: string;
}

/** Of the binding that allows the longest pass of all that allow one. A pass lasts until the earlier of the two. */
export interface PassBounds {
  /** When the binding ends, in epoch milliseconds; Infinity when it does not. */
  readonly expiresAt: number;
  /** Infinity when the binding has no such bound. */
  readonly maxPassSeconds: number;
}

/** A binding: a role, and the subjects that it is granted to. */
export interface Grant {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding' | 'FleetRoleBinding';
  /** The namespace of the object; `""` for one of the fleet. */
  readonly namespace: string;
  readonly name: string;
  readonly roleRef: { readonly kind: string; readonly namespace: string; readonly name: string };
  readonly subjects: readonly BoundSubject[];
}

/** What a pass through a binding needs: `confirm` and `review` hold for agents, `review-always` for every caller. */
export type BindingApproval = 'none' | 'confirm' | 'review' | 'review-always';

/** Until when a binding holds, and for which passes. */
export interface GrantTerms extends PassBounds {
  /** Agents may ask for passes through it. */
  readonly agents: boolean;
  /** What a pass through it needs. */
  readonly approval: BindingApproval;
}

/** A grant that allows what was asked about. */
export interface FoundGrant {
  /** Undefined for those who need no binding. */
  readonly grant: (Grant & GrantTerms) | undefined;
  /** Those of its subjects whose names callers have there. */
  readonly subjects: readonly BoundSubject[];
  /** The question had no name, and the role allows it for these names only. */
  readonly resourceNames?: readonly string[];
  /** The question was what it gives. */
  readonly gives?: readonly Given[];
}

/** A subject of a binding, as callers present it. */
export interface BoundSubject {
  readonly kind: 'user' | 'group';
  readonly name: string;
  /** The service account that the binding names; `name` is then its user name. */
  readonly account?: { readonly namespace: string; readonly name: string };
}

/** Why a token request is refused that only bindings with `review-always` allow. */
export const NEEDS_APPROVAL =
  'a binding allows it only with an approval: ask for a pass with "clusterpass pass request", which others can approve';

/** Why a question is allowed, in kube-apiserver's words; `""` for a caller who needs no binding. */
export function whyAllowed({ grant }: Decision, user: User): string {
  if (grant === undefined) return '';
  const { kind, namespace, name, roleRef, subjects } = grant;
  const binding = `${kind} ${goQuote(namespace === '' ? name : `${name}/${namespace}`)}`;
  const subject = subjects.find((each) =>
    each.kind === 'user' ? each.name === user.name : user.groups.includes(each.name),
  );
  const to = subject === undefined ? '' : ` to ${subjectText(subject)}`;
  return `RBAC: allowed by ${binding} of ${roleRef.kind} ${goQuote(roleRef.name)}${to}`;
}

function subjectText({ kind, name, account }: BoundSubject): string {
  if (account !== undefined) return `ServiceAccount ${goQuote(`${account.name}/${account.namespace}`)}`;
  return `${kind === 'user' ? 'User' : 'Group'} ${goQuote(name)}`;
}
