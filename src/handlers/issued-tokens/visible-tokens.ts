import type { Authorizer } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import { issuedTokenKind } from '../../api/kinds/issued-token.ts';
import { ALL_VISIBLE, type VisibilityRule } from '../../api/visibility.ts';
import { requestedBy } from '../requester.ts';

/** All issued tokens, if a rule allows the caller to list or watch them; otherwise the tokens of the caller. */
export function visibleTokens(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Caller,
  verb: 'list' | 'watch',
): VisibilityRule {
  const { group, resource } = issuedTokenKind;
  const question = { verb, group, resource, subresource: '', namespace: '', name: '', cluster: undefined };
  return authorizer.decide(caller, question).allowed ? ALL_VISIBLE : requestedBy(caller);
}
