import { type FieldError, invalid, invalidValue, required, requireValid, tooMany } from '../../api/field-error.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { conflict } from '../../api/status.ts';
import { clip, hasControl, truncateRunes } from '../../lib/text.ts';

/** Checks of a token request that hold for local and for forwarded requests. */

/** The kind and group in errors about the request itself. */
export const TOKEN_REQUEST = {
  group: tokenRequestType.group,
  kind: tokenRequestType.kind,
  resource: tokenRequestType.kind,
};

const MIN_SECONDS = 10 * 60;
export const MAX_SECONDS = 2 ** 32;
export const DEFAULT_SECONDS = 3600;

const MAX_AUDIENCES = 32;
/** With duplicates, which a review repeats. */
const MAX_REPEATED = 4 * MAX_AUDIENCES;
const MAX_AUDIENCE_CHARACTERS = 1024;
/** Characters of a refused audience that the error message repeats. */
const SHOWN_CHARACTERS = 64;

/** Of the refusal for an account that was deleted. */
export const WAITS_FOR_FINALIZERS = 'it was deleted, and waits for its finalizers';

/** T-12l */
export function checkName({ metadata }: Pick<TokenRequest, 'metadata'>, name: string, of = 'service account'): void {
  const sent = metadata?.name ?? '';
  if (sent === '' || sent === name) return;
  throw invalid(TOKEN_REQUEST, name, [invalidValue('metadata.name', sent, `must match the ${of} name if specified`)]);
}

/** T-13 */
export function checkUid({ metadata }: Pick<TokenRequest, 'metadata'>, account: { name: string; uid: string }): void {
  const sent = metadata?.uid ?? '';
  if (sent === '' || sent === account.uid) return;
  throw conflict(
    TOKEN_REQUEST,
    account.name,
    `the UID in the token request (${sent}) does not match the UID of the service account (${account.uid})`,
  );
}

/** T-14: Kubernetes leaves the name of the invalid request empty. */
export const requireValidRequest = (errors: readonly FieldError[]): void => requireValid(TOKEN_REQUEST, '', errors);

/** What is wrong with one audience of these; undefined when nothing is. */
export type AudienceCheck = (audience: string, all: readonly string[]) => string | undefined;

/** `otherProblem` is called for audiences of a valid form, at most `MAX_AUDIENCES` times. */
export function validateSpec(spec: TokenRequest['spec'], otherProblem: AudienceCheck): FieldError[] {
  return [...validateAudiences(spec, otherProblem), ...validateExpiration(spec?.expirationSeconds ?? DEFAULT_SECONDS)];
}

/**
 * The field must be present: a request without audiences is a mistake, not a request for all of them. Null or empty is
 * how `kubectl create token` asks for the audience of the cluster's API.
 */
function validateAudiences(spec: TokenRequest['spec'], otherProblem: AudienceCheck): FieldError[] {
  if (spec?.audiences === undefined) return [required('spec.audiences')];
  return audienceErrors(spec.audiences ?? [], otherProblem);
}

/** The bounds of `spec.audiences`, in a token request and in a token review. */
export function audienceErrors(sent: readonly string[], otherProblem: AudienceCheck = () => undefined): FieldError[] {
  const audiences = withoutDuplicates(sent);
  if (audiences.length > MAX_AUDIENCES) return [tooMany('spec.audiences', audiences.length, MAX_AUDIENCES)];
  if (sent.length > MAX_REPEATED) return [tooMany('spec.audiences', sent.length, MAX_REPEATED)];
  return audiences.flatMap((audience) => {
    const problem = audienceProblem(audience) ?? otherProblem(audience, audiences);
    const index = sent.indexOf(audience);
    return problem === undefined
      ? []
      : [invalidValue(`spec.audiences[${index}]`, clip(audience, SHOWN_CHARACTERS), problem)];
  });
}

function audienceProblem(audience: string): string | undefined {
  if (audience === '') return 'must not be empty';
  if (truncateRunes(audience, MAX_AUDIENCE_CHARACTERS) !== audience) {
    return `must be no more than ${MAX_AUDIENCE_CHARACTERS} characters`;
  }
  if (hasControl(audience)) return 'must not contain control characters';
  return undefined;
}

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

export const withoutDuplicates = (audiences: readonly string[]): readonly string[] =>
  audiences.length < 2 ? audiences : [...new Set(audiences)];
