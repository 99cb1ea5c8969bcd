import type { BoundSubject, Decision } from './authorization.ts';
import type { User } from './caller.ts';
import { goQuote } from './codec/go-text/go-quote.ts';

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
