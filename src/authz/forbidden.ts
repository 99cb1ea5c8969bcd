import type { Decision, PathQuestion, ResourceQuestion } from '../api/authorization.ts';
import type { User } from '../api/caller.ts';
import { goQuote } from '../api/codec/go-text/go-quote.ts';
import { ApiError, qualified, type StatusDetails } from '../api/status.ts';

/**
 * The 403 of a refusal (P-30..P-36). It is made from the question alone, before anything is looked up,
 * so it reads the same whether or not there is something behind it.
 */
export function forbiddenFor(user: User, question: ResourceQuestion | PathQuestion, decision: Decision): ApiError {
  const refused = withoutMarkup(refusal(user, question));
  // P-36: the reason is appended as it is. P-35: no suffix when there is none.
  const why = decision.reason === '' ? refused : `${refused}: ${decision.reason}`;
  if ('path' in question) return new ApiError(403, 'Forbidden', `forbidden: ${why}`, { details: {} });

  const { group, resource, name } = question;
  // The name comes from the URL and has not been validated: quoted, not pasted, or it could end the quotation.
  const subject = name === '' ? qualified(group, resource) : `${qualified(group, resource)} ${goQuote(name)}`;
  const details: StatusDetails = {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  };
  return new ApiError(403, 'Forbidden', `${subject} is forbidden: ${why}`, { details });
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
