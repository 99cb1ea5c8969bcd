import { type Authorizer, namespaceAskedAbout } from '../api/authorization.ts';
import type { ApiRequest, Verb } from '../api/request.ts';
import type { ApiError } from '../api/status.ts';
import { parseFieldSelector } from '../objects/selectors/field-selector.ts';
import { forbiddenFor } from './forbidden.ts';

/**
 * Asks again, in the middle of a watch, what was asked when it began. For kinds that are allowed or not as
 * a whole; the list of clusters is filtered instead.
 */
export const watchRefusal = (authorizer: Authorizer, request: ApiRequest): ApiError | undefined =>
  refusalOf(authorizer, request, 'watch');

/** What a request is answered with that no rule allows; undefined when one does. */
export function refusalOf(
  authorizer: Authorizer,
  request: ApiRequest,
  verb: Verb = request.target.verb,
): ApiError | undefined {
  const { group, resource, cluster } = request.target;
  const selector = parseFieldSelector(request.query.get('fieldSelector') ?? '');
  const name = request.target.name || (selector.exactValue('metadata.name') ?? '');
  const namespace = namespaceAskedAbout(request.target);
  const question = { verb, group, resource, subresource: '', namespace, name, cluster };
  const decision = authorizer.decide(request.caller, question);
  return decision.allowed ? undefined : forbiddenFor(request.caller.as(cluster), question, decision);
}
