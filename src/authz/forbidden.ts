import {
  type Authorizer,
  namespaceAskedAbout,
  type PathQuestion,
  questionAbout,
  type ResourceQuestion,
} from '../api/authorization.ts';
import type { Identity, User } from '../api/caller.ts';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import type { Decision } from '../api/decision.ts';
import type { ApiRequest, Verb } from '../api/request.ts';
import { ApiError, forbidden } from '../api/status.ts';
import { parseFieldSelector } from '../objects/selectors/field-selector.ts';

/**
 * Authorizes a request a second time: a watch after a policy change (`verb` is then `watch`), and a request about
 * issued tokens, which was let through for owners. Returns the 403, or undefined when a rule allows the request.
 */
export function refusalOf(
  authorizer: Pick<Authorizer, 'decide'>,
  request: ApiRequest,
  verb: Verb = request.target.verb,
): ApiError | undefined {
  const question = questionOf(request, verb);
  const decision = authorizer.decide(request.caller, question);
  return decision.allowed ? undefined : forbiddenFor(request.caller.as(question.cluster), question, decision);
}

/** The decision that allows what is asked. @throws ApiError 403 when no rule does. */
export function requirePermission(
  authorizer: Pick<Authorizer, 'decide'>,
  caller: Identity,
  question: ResourceQuestion,
): Decision {
  const decision = authorizer.decide(caller, question);
  if (!decision.allowed) throw forbiddenFor(caller.as(question.cluster), question, decision);
  return decision;
}

/** The question of a request to read or write objects: P-13, a list of one name is about that name. */
export function questionOf(request: ApiRequest, verb: string = request.target.verb): ResourceQuestion {
  const selector = parseFieldSelector(request.query.get('fieldSelector') ?? '');
  const name = request.target.name || (selector.exactValue('metadata.name') ?? '');
  const { cluster } = request.target;
  return questionAbout(request.target, verb, { namespace: namespaceAskedAbout(request.target), name, cluster });
}

/**
 * The 403 of a refusal (P-30..P-36). It is made from the question alone, before any lookup, so it is the same whether
 * or not the object exists.
 */
export function forbiddenFor(user: User, question: ResourceQuestion | PathQuestion, decision: Decision): ApiError {
  const refused = withoutMarkup(refusal(user, question));
  // P-36: the reason is appended as it is. P-35: no suffix when there is none.
  const why = decision.reason === '' ? refused : `${refused}: ${decision.reason}`;
  if ('path' in question) return new ApiError(403, 'Forbidden', `forbidden: ${why}`, { details: {} });
  return forbidden(question, question.name, why);
}

function refusal(user: User, question: ResourceQuestion | PathQuestion): string {
  const who = `User ${goQuote(user.name)} cannot ${question.verb}`;
  if ('path' in question) return `${who} path ${goQuote(question.path)}`;
  const { group, resource, subresource, namespace } = question;
  const what = goQuote(subresource === '' ? resource : `${resource}/${subresource}`);
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${what} in API group ${goQuote(group)} ${where}`;
}

const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** P-36: an error must not look like HTML to a browser that sniffs. Quotes are harmless. */
const withoutMarkup = (text: string): string => text.replace(/[&<>]/g, (character) => MARKUP[character] ?? character);
