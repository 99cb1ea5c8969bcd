import { type FieldError, invalidValue, unsupportedValue } from '../../api/field-error.ts';
import type { ObjectMeta } from '../../api/kind.ts';
import { TOKEN_ANNOTATIONS } from '../../api/kinds/token-request.ts';
import { clipped } from '../../api/status.ts';
import { MAX_SECONDS } from './validate-spec.ts';

/** What a caller can ask for beyond Kubernetes' own fields, in annotations of the request. */
export interface TokenRequestAnnotations {
  /** Rather no token than one for less. */
  readonly minExpirationSeconds: number | undefined;
  /** The token is to be used at the cluster's own API. */
  readonly forCluster: boolean;
  /** A record of it is kept until it ends. */
  readonly tracked: boolean;
}

export interface ReadTokenRequestAnnotations {
  readonly wishes: TokenRequestAnnotations;
  readonly errors: readonly FieldError[];
  /** Annotations that look like a wish and are none: whoever misspelled one should hear of it. */
  readonly unknown: readonly string[];
}

const PREFIX = 'clusterpass.dev/';
const KNOWN: ReadonlySet<string> = new Set(Object.values(TOKEN_ANNOTATIONS));
/** Of a name that is repeated to the caller. */
const MAX_SHOWN = 128;

export const annotationField = (name: string): string => `metadata.annotations[${name}]`;

export function readTokenRequestAnnotations({ annotations = {} }: ObjectMeta): ReadTokenRequestAnnotations {
  const errors: FieldError[] = [];
  const given = (name: string): string | undefined =>
    Object.hasOwn(annotations, name) ? (annotations[name] ?? '') : undefined;

  const minimum = given(TOKEN_ANNOTATIONS.minExpirationSeconds);
  const minExpirationSeconds = minimum === undefined ? undefined : wholeSeconds(minimum);
  if (minimum !== undefined && minExpirationSeconds === undefined) {
    const why = `must be a whole number of seconds between 1 and ${MAX_SECONDS}, e.g. "3600"`;
    errors.push(invalidValue(annotationField(TOKEN_ANNOTATIONS.minExpirationSeconds), minimum, why));
  }
  const purpose = given(TOKEN_ANNOTATIONS.for);
  if (purpose !== undefined && purpose !== 'cluster') {
    errors.push(unsupportedValue(annotationField(TOKEN_ANNOTATIONS.for), purpose, ['cluster']));
  }
  const tracked = given(TOKEN_ANNOTATIONS.tracked);
  if (tracked !== undefined && tracked !== 'true' && tracked !== 'false') {
    errors.push(unsupportedValue(annotationField(TOKEN_ANNOTATIONS.tracked), tracked, ['true', 'false']));
  }
  return {
    wishes: { minExpirationSeconds, forCluster: purpose === 'cluster', tracked: tracked === 'true' },
    errors,
    unknown: Object.keys(annotations)
      .filter((name) => name.startsWith(PREFIX) && !KNOWN.has(name))
      .map((name) => clipped(name, MAX_SHOWN)),
  };
}

function wholeSeconds(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds <= MAX_SECONDS ? seconds : undefined;
}

/** Whoever insists on a lifetime is refused, not given less. */
export function lifetimeErrors(
  { minExpirationSeconds: minimum }: TokenRequestAnnotations,
  { asked, granted }: { readonly asked: number; readonly granted: number },
): FieldError[] {
  if (minimum === undefined || granted >= minimum) return [];
  const why =
    granted < asked
      ? `the longest lifetime that is granted here is ${granted} seconds`
      : `must not be more than the ${asked} seconds that are asked for in spec.expirationSeconds`;
  return [invalidValue(annotationField(TOKEN_ANNOTATIONS.minExpirationSeconds), minimum, why)];
}
