import { type FieldError, forbiddenField } from '../../api/field-error.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import type { TokenInput } from './token-input.ts';
import {
  GROUP_FIELD,
  parseTokenRequestAnnotations,
  type TokenRequestAnnotations,
} from './token-request-annotations.ts';
import { type AudienceCheck, DEFAULT_SECONDS, validateSpec, withoutDuplicates } from './validate-token-request.ts';

/** A token request, with everything that follows from its body alone. */
export interface ParsedTokenRequest extends TokenInput {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly annotations: TokenRequestAnnotations;
  /** Errors in the spec and the annotations. They are reported in the order of T-12. */
  readonly errors: readonly FieldError[];
}

export function parseTokenRequest(
  input: TokenInput,
  audienceProblem: AudienceCheck,
  { isPerson = false }: { readonly isPerson?: boolean } = {},
): ParsedTokenRequest {
  const { metadata = {}, spec } = input.sent;
  const { annotations, errors } = parseTokenRequestAnnotations(metadata);
  const checked = isPerson ? { audiences: [], ...spec } : spec;
  const hasGroup = annotations.group !== undefined && !isPerson;
  return {
    ...input,
    audiences: withoutDuplicates(spec?.audiences ?? []),
    expirationSeconds: spec?.expirationSeconds ?? DEFAULT_SECONDS,
    annotations,
    errors: [
      ...validateSpec(checked, audienceProblem),
      ...errors,
      ...(hasGroup ? [forbiddenField(GROUP_FIELD, 'it is for passes of people only')] : []),
      ...validateRepeatedPairs(metadata),
    ],
  };
}
