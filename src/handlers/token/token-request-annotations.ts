import { validateDomainKeys } from '../../api/domain-keys.ts';
import { type FieldError, forbiddenField, invalidValue, unsupportedValue } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import type { ApiEndpoints } from '../../api/kinds/cluster-spec.ts';
import { TOKEN_ANNOTATIONS, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest } from '../../api/request.ts';
import { forbidden, unauthorized } from '../../api/status.ts';
import { quantity } from '../../lib/quantity.ts';
import { clip } from '../../lib/text.ts';
import {
  grantLifetime,
  type Lifetime,
  type LifetimeQuestion,
  lifetimeWarning,
  tooShort,
} from '../../tokens/grant-lifetime.ts';
import { MAX_SECONDS, requireValidRequest } from './validate-token-request.ts';

/** Options of a token request beyond the fields of Kubernetes, as annotations of the request. */
export interface TokenRequestAnnotations {
  /** The request is refused if the token would expire earlier. */
  readonly minExpirationSeconds: number | undefined;
  /** The token is for the API of the cluster. */
  readonly forCluster: boolean;
  /** The address that the token will be sent to; undefined if the request names none. */
  readonly forServer: string | undefined;
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

/** A token that would expire before `minExpirationSeconds` is an error, where Kubernetes would issue it. */
export function checkMinExpiration(
  { minExpirationSeconds: minimum }: TokenRequestAnnotations,
  { requested, granted }: { readonly requested: number; readonly granted: number },
): void {
  if (minimum === undefined || granted >= minimum) return;
  const why =
    granted < requested
      ? `the longest lifetime that is granted here is ${quantity(granted, 'second')}`
      : `must not be more than spec.expirationSeconds, which is ${requested}`;
  requireValidRequest([invalidValue(annotationField(TOKEN_ANNOTATIONS.minExpirationSeconds), minimum, why)]);
}

/** The lifetime of the token, by `grantLifetime`. Throws when there is none. */
export function requireLifetime(
  { target }: Pick<ApiRequest, 'target'>,
  annotations: TokenRequestAnnotations,
  question: LifetimeQuestion,
): Lifetime {
  const lifetime = grantLifetime(question);
  // A credential that has ended is no credential.
  if (lifetime.isTooShort && lifetime.bound === 'credentialEndsAt') throw unauthorized();
  if (lifetime.isTooShort) throw forbidden(target, target.name, tooShort(lifetime));
  checkMinExpiration(annotations, { requested: question.requested, granted: lifetime.seconds });
  return lifetime;
}

/** T-27: a token never expires earlier than requested without a warning. */
export function warnOfEarlierExpiry({ warn }: Pick<ApiRequest, 'warn'>, requested: number, granted: Lifetime): void {
  if (granted.seconds < requested) warn(lifetimeWarning(requested, granted));
}
