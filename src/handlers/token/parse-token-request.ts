import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import type { ObjectKey, ObjectMeta } from '../../api/kind.ts';
import type { ApiEndpoints } from '../../api/kinds/cluster-spec.ts';
import { TOKEN_ANNOTATIONS, type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { validateRepeatedPairs } from '../../api/names.ts';
import { validateDomainKeys } from '../../api/reserved-keys.ts';
import {
  conflict,
  type FieldError,
  forbiddenField,
  invalid,
  invalidValue,
  required,
  requireValid,
  tooMany,
  unsupportedValue,
} from '../../api/status.ts';
import { clip, hasControl, truncateRunes } from '../../lib/text.ts';
import type { TokenInput } from './token-input.ts';

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
  readonly group: string | undefined;
  /** A record of the token is stored until it expires. */
  readonly tracked: boolean;
}

/** Characters of an address that an error repeats. */
const MAX_SHOWN = 256;

export const annotationField = (name: string): string => `metadata.annotations[${name}]`;
export const GROUP_FIELD = annotationField(TOKEN_ANNOTATIONS.group);

export function parseTokenRequestAnnotations(metadata: ObjectMeta) {
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

/** Checks of a token request that hold for local and for forwarded requests. */

/** The kind and group in errors about the request itself. */
export const TOKEN_REQUEST = {
  group: tokenRequestType.group,
  kind: tokenRequestType.kind,
  resource: tokenRequestType.kind,
};

const MIN_SECONDS = 10 * 60;
const MAX_SECONDS = 2 ** 32;
const DEFAULT_SECONDS = 3600;

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
type AudienceCheck = (audience: string, all: readonly string[]) => string | undefined;

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

export interface ForeignAudienceParts {
  /** The cluster of this fleet whose issuer, and so whose API audience, is exactly this text. */
  readonly clusterOfIssuer: (issuer: string) => string | undefined;
  readonly clusterOfPeopleIssuer: (issuer: string) => string | undefined;
  /** The audience of tokens for `/mcp`. It excludes all others (MC-43). */
  readonly mcpAudience: string;
}

/**
 * A3: the audience of another cluster of the fleet is refused, unless the caller may create tokens for the account of
 * the same name there: a cluster that trusts the issuers of other clusters would accept the token as that account. The
 * error is the same whether or not the other cluster exists.
 */
export function foreignAudienceCheck(
  { clusterOfIssuer, clusterOfPeopleIssuer, mcpAudience }: ForeignAudienceParts,
  account: ObjectKey,
  mayIn: (cluster: string) => boolean,
): AudienceCheck {
  return (audience, all) => {
    if (audience === mcpAudience && all.length > 1)
      return 'must be the only audience: a token for /mcp opens nothing else';
    if (clusterOfPeopleIssuer(audience) !== undefined) return 'is the audience of passes for people';
    const cluster = clusterOfIssuer(audience);
    if (cluster === undefined || cluster === account.cluster || mayIn(cluster)) return undefined;
    const named = goQuote(`${account.namespace}/${account.name}`);
    return `is the audience of cluster ${goQuote(cluster)}, where you may not create tokens of ${named}`;
  };
}
