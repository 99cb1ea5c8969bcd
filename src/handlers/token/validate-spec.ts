import { type FieldError, invalidValue, required, tooMany } from '../../api/field-error.ts';
import type { TokenRequest } from '../../api/kinds/token-request.ts';

const MIN_SECONDS = 10 * 60;
export const MAX_SECONDS = 2 ** 32;
export const DEFAULT_SECONDS = 3600;

const MAX_AUDIENCES = 32;
const MAX_AUDIENCE_CHARACTERS = 1024;
/** Of an audience that is refused, in the message. */
const SHOWN_CHARACTERS = 64;

/** Everything that can be said of the request without looking anything up. */
export function validateSpec(spec: TokenRequest['spec']): FieldError[] {
  return [...validateAudiences(spec), ...validateExpiration(spec?.expirationSeconds ?? DEFAULT_SECONDS)];
}

/**
 * The list must be there: a token without audience is a mistake, not a wish for all. Null or empty is
 * how `kubectl create token` asks for the cluster's own API.
 */
function validateAudiences(spec: TokenRequest['spec']): FieldError[] {
  if (spec?.audiences === undefined) return [required('spec.audiences')];
  const audiences = foldAudiences(spec.audiences ?? []);
  if (audiences.length > MAX_AUDIENCES) return [tooMany('spec.audiences', audiences.length, MAX_AUDIENCES)];
  return audiences.flatMap((audience) => {
    const problem = audienceProblem(audience);
    const index = (spec.audiences ?? []).indexOf(audience);
    return problem === undefined ? [] : [invalidValue(`spec.audiences[${index}]`, shorten(audience), problem)];
  });
}

function audienceProblem(audience: string): string | undefined {
  if (audience === '') return 'must not be empty';
  if (hasMoreThan(MAX_AUDIENCE_CHARACTERS, audience)) {
    return `must be no more than ${MAX_AUDIENCE_CHARACTERS} characters`;
  }
  if (/\p{Cc}/u.test(audience)) return 'must not contain control characters';
  return undefined;
}

/** An error message is no place for a kilobyte of somebody's text. */
function shorten(text: string): string {
  if (!hasMoreThan(SHOWN_CHARACTERS, text)) return text;
  return `${[...text.slice(0, 2 * SHOWN_CHARACTERS)].slice(0, SHOWN_CHARACTERS).join('')}...`;
}

/** Characters are code points, of at most two code units each: a text of megabytes is not taken apart to see it is long. */
const hasMoreThan = (characters: number, text: string): boolean =>
  text.length > characters && (text.length > 2 * characters || [...text].length > characters);

/** T-14, T-15 */
function validateExpiration(seconds: number): FieldError[] {
  if (seconds < MIN_SECONDS) {
    return [invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes')];
  }
  if (seconds > MAX_SECONDS) {
    return [invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds')];
  }
  return [];
}

export const foldAudiences = (audiences: readonly string[]): string[] => [...new Set(audiences)];
