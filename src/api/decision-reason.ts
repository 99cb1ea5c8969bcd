import type { Decision } from './authorization.ts';
import type { User } from './caller.ts';
import { goQuote } from './codec/go-text/go-quote.ts';

type Grant = NonNullable<Decision['grant']>;

/** What was said last of each user: who asks again is mostly allowed by the same binding. */
const said = new WeakMap<User, { readonly grant: Grant; readonly text: string }>();

/** Why something is allowed, in the words of kube-apiserver, which has none for a caller who needs no binding. */
export function whyAllowed({ grant }: Decision, user: User): string {
  if (grant === undefined) return '';
  const known = said.get(user);
  if (known?.grant === grant) return known.text;
  const text = textOf(grant, user);
  said.set(user, { grant, text });
  return text;
}

function textOf(grant: Grant, user: User): string {
  const { kind, namespace, name, target, subjects } = grant;
  const binding = `${kind} ${goQuote(namespace === '' ? name : `${name}/${namespace}`)}`;
  const subject = subjects.find((each) =>
    each.kind === 'user' ? each.name === user.name : user.groups.includes(each.name),
  );
  const to = subject === undefined ? '' : ` to ${subject.kind === 'user' ? 'User' : 'Group'} ${goQuote(subject.name)}`;
  return `RBAC: allowed by ${binding} of ${target.kind} ${goQuote(target.name)}${to}`;
}
