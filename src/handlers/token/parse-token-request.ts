import type { FieldValidation } from '../../api/codec/decode.ts';
import type { FieldError } from '../../api/field-error.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import type { ApiRequest } from '../../api/request.ts';
import { readBody } from '../write/read-body.ts';
import { parseTokenRequestAnnotations, type TokenRequestAnnotations } from './token-request-annotations.ts';
import { type AudienceCheck, DEFAULT_SECONDS, validateSpec, withoutDuplicates } from './validate-token-request.ts';

/** A token request, with everything that follows from its body alone. */
export interface ParsedTokenRequest {
  readonly sent: TokenRequest;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly annotations: TokenRequestAnnotations;
  /** Errors in the spec and the annotations. The handler reports them in the order of T-12. */
  readonly errors: readonly FieldError[];
}

/** Sends unknown and duplicate fields of the body to the caller as warnings. */
export function parseTokenRequest(
  request: ApiRequest,
  mode: FieldValidation,
  audienceProblem: AudienceCheck,
  { needsAudiences = true }: { readonly needsAudiences?: boolean } = {},
): ParsedTokenRequest {
  const sent = readBody<TokenRequest>(request, tokenRequestType, mode);
  const { annotations, errors } = parseTokenRequestAnnotations(sent.metadata ?? {});
  const spec = needsAudiences ? sent.spec : { audiences: [], ...sent.spec };
  return {
    sent,
    audiences: withoutDuplicates(sent.spec?.audiences ?? []),
    expirationSeconds: sent.spec?.expirationSeconds ?? DEFAULT_SECONDS,
    annotations,
    errors: [...validateSpec(spec, audienceProblem), ...errors, ...validateRepeatedPairs(sent.metadata ?? {})],
  };
}
