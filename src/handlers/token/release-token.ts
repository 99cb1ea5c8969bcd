import { invalidValue } from '../../api/field-error.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ApiError, type GroupResource } from '../../api/status.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { SignedClaims, Signer } from '../../tokens/signer.ts';
import { requireValidRequest } from './validate-token-request.ts';

export interface ReleaseParts {
  readonly signer: Signer;
  readonly tracked: TrackedTokens;
  /** Records every token. Default: those whose request asks for it. */
  readonly trackAll?: boolean;
}

interface ReleaseOptions {
  readonly dryRun: boolean;
  /** The request asks for a record. */
  readonly tracked: boolean;
  readonly cluster: string;
  /** The kind of the object in the path, for the refusal of a record. */
  readonly kind: GroupResource;
}

export const CREATED = 201;

/** Refuses audiences that no signature suits, and warns of one that differs from what they demand. In dry runs too. */
export function checkSignature(
  { signer }: Pick<ReleaseParts, 'signer'>,
  audiences: readonly string[],
  warn: (text: string) => void,
): void {
  const { problem, warning } = signer.check(audiences);
  if (problem !== undefined) requireValidRequest([invalidValue('spec.audiences', audiences, problem)]);
  if (warning !== undefined) warn(warning);
}

/** Signs the claims; `""` for a dry run. A9: the records of a token are durable before the caller gets it. */
export function releaseToken(
  parts: ReleaseParts,
  request: ApiRequest,
  claims: SignedClaims,
  options: ReleaseOptions,
): Promise<string> {
  if (options.tracked || parts.trackAll === true) return releaseTracked(parts, request, claims, options);
  if (options.dryRun) return Promise.resolve('');
  // From here on only signing could fail, and a second line of the audit log would say so.
  if (parts.signer.isLocal) request.willAnswer(CREATED);
  return sign(parts.signer, claims);
}

async function releaseTracked(
  { signer, tracked, trackAll = false }: ReleaseParts,
  { caller, target }: ApiRequest,
  claims: SignedClaims,
  { dryRun, cluster, kind }: ReleaseOptions,
): Promise<string> {
  const record = tracked.requireRoom(caller.impersonator ?? caller, target.name, { isRequired: trackAll, kind });
  if (dryRun) return '';
  const token = await sign(signer, claims);
  await record(cluster, claims);
  return token;
}

/** T-25 */
const sign = (signer: Signer, claims: SignedClaims): Promise<string> =>
  signer.sign(claims).catch((cause: unknown) => {
    const message = 'failed to generate token';
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, {
      details: { causes: [{ message }] },
      cause,
    });
  });
