import type { Catalog } from '../../api/catalog.ts';
import { encodeValue, toJson } from '../../api/codec/encode.ts';
import type { ApiRequest, ApiResponse } from '../../api/exchange.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { ApiError, conflict, notFound } from '../../api/status.ts';
import { requireParents } from '../../objects/parents.ts';
import { toTimestamp } from '../../objects/prepare.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildClaims, type TokenClaims } from '../../tokens/claims.ts';
import type { Signer } from '../../tokens/signer.ts';
import type { TrackedTokens } from '../../tokens/tracked-tokens.ts';
import { parseCreateOptions } from '../options/create-options.ts';
import { partialMetadata } from '../representation.ts';
import { resolveBinding } from './bound-object.ts';
import type { Forwarding } from './forward-token.ts';
import { readTokenRequest } from './read-token-request.ts';
import { ABOUT, checkName, checkNamespace, refuseIfInvalid } from './request-checks.ts';
import { lifetimeErrors } from './wishes.ts';

export interface CreateTokenParts {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly signer: Signer;
  /** Throws while nothing is to be signed because the time that it would say is known to be wrong. */
  readonly requireRightClock: () => void;
  readonly tracked: TrackedTokens;
  /** The issuer of a cluster's tokens, which is also its API audience. */
  readonly issuerOf: (cluster: string) => string;
  /** Answers for the clusters that issue their tokens themselves; undefined when there are none. */
  readonly forward: Forwarding | undefined;
  readonly maxExpirationSeconds: number;
  readonly now: () => number;
  readonly randomUuid: () => string;
}

/**
 * Operation 1: a short-lived token for a service account. The order of the checks is part of the contract
 * (T-12): the first that fails decides the answer. Nothing here waits for the store, unless a record is to be kept.
 */
export function createTokenHandler(parts: CreateTokenParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader } = parts;
  return async (request) => {
    const { cluster = '', namespace, name } = request.target;
    const options = parseCreateOptions(request.query);
    const asked = readTokenRequest(request, options.fieldValidation);
    const { sent, wishes } = asked;
    checkNamespace(sent, namespace);
    const forwarded = await parts.forward?.(request, asked, options);
    if (forwarded !== undefined) return respond(request, forwarded);
    await requireParents(catalog, reader, catalog.serviceAccounts, { cluster, namespace, name });
    checkName(sent, name);
    const account = await reader.findFresh(catalog.serviceAccounts, { cluster, namespace, name });
    if (account === undefined) throw notFound(catalog.serviceAccounts, name);
    checkUid(sent, account);
    refuseIfInvalid(asked.errors);
    const wanted = asked.expirationSeconds;
    const granted = Math.min(wanted, parts.maxExpirationSeconds);
    refuseIfInvalid(lifetimeErrors(wishes, { asked: wanted, granted }));
    const reference = sent.spec?.boundObjectRef;
    const binding = await resolveBinding(parts, { reference, cluster, namespace, serviceAccount: name });

    const issuer = parts.issuerOf(cluster);
    parts.requireRightClock();
    const now = parts.now();
    const claims = buildClaims({
      issuer,
      audiences: asked.audiences.length === 0 ? [issuer] : asked.audiences,
      namespace,
      serviceAccount: { name, uid: account.uid },
      ...binding,
      now,
      expirationSeconds: granted,
      randomUUID: parts.randomUuid,
    });
    for (const name of asked.unknown) request.warn(`unknown annotation ${JSON.stringify(name)} is ignored`);
    // T-27: never silently.
    if (granted < wanted) request.warn(`requested expiration of ${wanted} seconds shortened to ${granted} seconds`);
    if (wishes.forCluster && !claims.aud.includes(issuer)) request.warn(doesNotOpen(cluster, issuer));
    if (!options.dryRun) request.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${claims.jti}`);
    const token = await issue(parts, request, claims, { ...options, tracked: wishes.tracked });
    return respond(request, answer(sent, account, claims, token, now), asked.isBare);
  };
}

const CREATED = 201;

/** `isInOrder`: its keys are in the order of the schema, in which they are to be written. */
function respond({ accept }: ApiRequest, answered: ApiObject, isInOrder = false): ApiResponse {
  const isWhole = accept.as === 'object';
  const { schema, style } = tokenRequestType;
  const json =
    isWhole && isInOrder
      ? toJson(answered)
      : encodeValue(isWhole ? answered : partialMetadata(answered), schema, style);
  return { type: 'bytes', code: CREATED, json: Buffer.from(json) };
}

/** T-13 */
function checkUid({ metadata }: TokenRequest, account: StoredObject): void {
  const sent = metadata?.uid ?? '';
  if (sent === '' || sent === account.uid) return;
  throw conflict(
    ABOUT,
    account.name,
    `the UID in the token request (${sent}) does not match the UID of the service account (${account.uid})`,
  );
}

const doesNotOpen = (cluster: string, audience: string): string =>
  `this token will not open the API of cluster "${cluster}": its audiences do not include "${audience}"`;

/** A9: what is to be known of a token is durable before anybody has it. */
async function issue(
  { signer, tracked }: CreateTokenParts,
  { caller, target, willAnswer }: ApiRequest,
  claims: TokenClaims,
  how: { readonly dryRun: boolean; readonly tracked: boolean },
): Promise<string> {
  if (!how.tracked) {
    if (how.dryRun) return '';
    // From here on only signing could fail, and then a second line would say so.
    if (signer.isSure) willAnswer(CREATED);
    return sign(signer, claims);
  }
  const place = tracked.reserve(caller.as(undefined), target.name);
  try {
    if (how.dryRun) return '';
    const token = await sign(signer, claims);
    await place.record(target.cluster ?? '', claims);
    return token;
  } finally {
    place.release();
  }
}

/** T-25 */
async function sign(signer: Signer, claims: TokenClaims): Promise<string> {
  try {
    return await signer.sign(claims);
  } catch (cause) {
    const message = 'failed to generate token';
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, {
      details: { causes: [{ message }] },
      cause,
    });
  }
}

/** T-04, T-05, T-07: the request comes back with what was granted. */
function answer(sent: TokenRequest, account: StoredObject, claims: TokenClaims, token: string, now: number): ApiObject {
  const { managedFields: _, ...metadata }: ObjectMeta = sent.metadata ?? {};
  return {
    kind: tokenRequestType.kind,
    apiVersion: `${tokenRequestType.group}/${tokenRequestType.version}`,
    metadata: {
      ...metadata,
      name: account.name,
      namespace: account.namespace,
      uid: account.uid,
      creationTimestamp: toTimestamp(now),
    },
    spec: {
      audiences: claims.aud,
      expirationSeconds: claims.exp - claims.iat,
      boundObjectRef: sent.spec?.boundObjectRef ?? null,
    },
    status: { token, expirationTimestamp: toTimestamp(claims.exp * 1000) },
  };
}
