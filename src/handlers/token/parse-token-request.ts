import { type FieldError, forbiddenField, invalidValue, unsupportedValue } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import type { ApiEndpoints } from '../../api/kinds/cluster-spec.ts';
import { TOKEN_ANNOTATIONS, tokenRequestType } from '../../api/kinds/token-request.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import { validateDomainKeys } from '../../api/reserved-keys.ts';
import { clip } from '../../lib/text.ts';
import type { TokenInput } from './token-input.ts';
import {
  type AudienceCheck,
  DEFAULT_SECONDS,
  MAX_SECONDS,
  validateSpec,
  withoutDuplicates,
} from './validate-token-request.ts';

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

/** Options of a token request beyond the fields of Kubernetes, as annotations of the request. */
export interface TokenRequestAnnotations {
  /** The request is refused if the token would expire earlier. */
  readonly minExpirationSeconds: number | undefined;
  /** The token is for the API of the cluster. */
  readonly forCluster: boolean;
  /** The address that the token will be sent to; undefined if the request names none. */
  readonly forServer: string | undefined;
  /** The group of the person that the token has. */
  readonly group: string | undefined;
  /** A record of the token is stored until it expires. */
  readonly tracked: boolean;
}

interface ParsedTokenRequestAnnotations {
  readonly annotations: TokenRequestAnnotations;
  readonly errors: readonly FieldError[];
}

/** Characters of an address that an error repeats. */
const MAX_SHOWN = 256;

export const annotationField = (name: string): string => `metadata.annotations[${name}]`;
export const GROUP_FIELD = annotationField(TOKEN_ANNOTATIONS.group);

export function parseTokenRequestAnnotations(metadata: ObjectMeta): ParsedTokenRequestAnnotations {
  const { annotations = {} } = metadata;
  const errors: FieldError[] = [...validateDomainKeys(tokenRequestType.kind, metadata)];
  const sentValue = (name: string): string | undefined =>
    Object.hasOwn(annotations, name) ? (annotations[name] ?? '') : undefined;

  const minimum = sentValue(TOKEN_ANNOTATIONS.minExpirationSeconds);
  const minExpirationSeconds = minimum === undefined ? undefined : wholeSeconds(minimum);
  if (minimum !== undefined && minExpirationSeconds === undefined) {
    const why = `must be a whole number of seconds between 1 and ${MAX_SECONDS}, e.g. "3600"`;
    errors.push(invalidValue(annotationField(TOKEN_ANNOTATIONS.minExpirationSeconds), minimum, why));
  }
  const purpose = sentValue(TOKEN_ANNOTATIONS.for);
  if (purpose !== undefined && purpose !== 'cluster') {
    errors.push(unsupportedValue(annotationField(TOKEN_ANNOTATIONS.for), purpose, ['cluster']));
  }
  const tracked = sentValue(TOKEN_ANNOTATIONS.tracked);
  if (tracked !== undefined && tracked !== 'true' && tracked !== 'false') {
    errors.push(unsupportedValue(annotationField(TOKEN_ANNOTATIONS.tracked), tracked, ['true', 'false']));
  }
  if (sentValue(TOKEN_ANNOTATIONS.codeVerifier) !== undefined) {
    errors.push(forbiddenField(annotationField(TOKEN_ANNOTATIONS.codeVerifier), 'it is for passes/token only'));
  }
  return {
    annotations: {
      minExpirationSeconds,
      forCluster: purpose === 'cluster',
      forServer: sentValue(TOKEN_ANNOTATIONS.forServer),
      group: sentValue(TOKEN_ANNOTATIONS.group),
      tracked: tracked === 'true',
    },
    errors,
  };
}

function wholeSeconds(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds <= MAX_SECONDS ? seconds : undefined;
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '');

/**
 * CP-98: a token must not be sent to an address that is not the cluster's. A plugin learns the address from a profile,
 * which others may have written.
 */
export function serverErrors({ forServer }: TokenRequestAnnotations, endpoints: () => ApiEndpoints): FieldError[] {
  if (forServer === undefined) return [];
  const addresses = (endpoints().serverEndpoints ?? []).map(({ serverAddress = '' }) => withoutSlash(serverAddress));
  if (addresses.includes(withoutSlash(forServer))) return [];
  const shown = clip(forServer, MAX_SHOWN);
  return [invalidValue(annotationField(TOKEN_ANNOTATIONS.forServer), shown, 'must be an address of the cluster')];
}
