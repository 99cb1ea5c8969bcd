import type { Catalog } from '../../api/catalog.ts';
import { encodeValue, toJson } from '../../api/codec/encode.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { ApiError, conflict, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { requireOwners } from '../../objects/owners.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildClaims, type TokenClaims } from '../../tokens/claims.ts';
import type { TrackedTokens } from '../../tokens/revocations/tracked-tokens.ts';
import type { Signer } from '../../tokens/signer.ts';
import { parseCreateOptions } from '../options/create-options.ts';
import { partialMetadata } from '../representation.ts';
import { resolveBinding } from './bound-object.ts';
import type { Forwarding } from './forward-token.ts';
import { type AskedToken, readTokenRequest } from './read-token-request.ts';
import { ABOUT, checkName, checkNamespace, refuseIfInvalid } from './request-checks.ts';
import { lifetimeErrors } from './token-request-annotations.ts';

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
    const objectKey = { cluster, namespace, name };
    const forwarded = await parts.forward?.(request, asked, options);
    if (forwarded !== undefined) return respond(encodeFor(request, forwarded));
    await requireOwners(catalog, reader, catalog.serviceAccounts, objectKey);
    checkName(sent, name);
    const account = await reader.findFresh(catalog.serviceAccounts, objectKey);
    if (account === undefined) throw notFound(catalog.serviceAccounts, name);
    checkUid(sent, account);
    refuseIfInvalid(asked.errors);
    const wanted = asked.expirationSeconds;
    const granted = Math.min(wanted, parts.maxExpirationSeconds);
    refuseIfInvalid(lifetimeErrors(wishes, { asked: wanted, granted }));
    const reference = sent.spec?.boundObjectRef;
    const binding = reference && (await resolveBinding(parts, { reference, cluster, namespace, serviceAccount: name }));

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
    return answer(request, asked, { account, claims, token, now });
  };
}

const CREATED = 201;

const respond = (json: string): ApiResponse => ({ type: 'json', code: CREATED, json });

const { shape, style } = tokenRequestType;

/** The whole of it, or as much of it as the request asks for. */
const encodeFor = ({ accept }: ApiRequest, answered: ApiObject): string =>
  encodeValue(accept.as === 'object' ? answered : partialMetadata(answered), shape, style);

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
function issue(
  parts: CreateTokenParts,
  request: ApiRequest,
  claims: TokenClaims,
  how: { readonly dryRun: boolean; readonly tracked: boolean },
): Promise<string> {
  if (how.tracked) return issueTracked(parts, request, claims, how.dryRun);
  if (how.dryRun) return Promise.resolve('');
  // From here on only signing could fail, and then a second line would say so.
  if (parts.signer.isSure) request.willAnswer(CREATED);
  return sign(parts.signer, claims);
}

async function issueTracked(
  { signer, tracked }: CreateTokenParts,
  { caller, target }: ApiRequest,
  claims: TokenClaims,
  dryRun: boolean,
): Promise<string> {
  const reservation = tracked.reserve(caller.as(undefined), target.name);
  try {
    if (dryRun) return '';
    const token = await sign(signer, claims);
    await reservation.record(target.cluster ?? '', claims);
    return token;
  } finally {
    reservation.release();
  }
}

/** T-25 */
const sign = (signer: Signer, claims: TokenClaims): Promise<string> =>
  signer.sign(claims).catch((cause: unknown) => {
    const message = 'failed to generate token';
    throw new ApiError(500, 'InternalError', `Internal error occurred: ${message}`, {
      details: { causes: [{ message }] },
      cause,
    });
  });

interface Issued {
  readonly account: StoredObject;
  readonly claims: TokenClaims;
  readonly token: string;
  readonly now: number;
}

/** T-04, T-05, T-07: the request comes back with what was granted. */
function answer(request: ApiRequest, { sent, isBare }: AskedToken, issued: Issued): ApiResponse {
  const { account, claims, token, now } = issued;
  const { managedFields: _, ...metadata }: ObjectMeta = sent.metadata ?? {};
  const answered = {
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
  };
  const isWhole = request.accept.as === 'object';
  // What is bare is written here in the order of the schema already.
  const json = isWhole && isBare ? toJson(answered) : encodeFor(request, answered);
  return respond(isWhole ? withStatus(json, token, toTimestamp(claims.exp * 1000)) : json);
}

/**
 * The last member of all. A token has no character that JSON escapes: to look at each of them takes as long as the rest of the
 * answer.
 */
const withStatus = (json: string, token: string, expirationTimestamp: string): string =>
  `${json.slice(0, -1)},"status":{"token":"${token}","expirationTimestamp":"${expirationTimestamp}"}}`;
