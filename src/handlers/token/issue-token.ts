import { type Authorizer, tokenQuestion } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { encodeValue } from '../../api/codec/encode.ts';
import { endpointsInForce } from '../../api/confirmed-endpoint.ts';
import type { ApiObject, ObjectMeta } from '../../api/kind.ts';
import { type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import type { ApiRequest, ApiResponse } from '../../api/request.ts';
import { conflict, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import { requireOwners } from '../../objects/owners.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildClaims, type TokenClaims } from '../../tokens/claims.ts';
import { parseCreateOptions } from '../options/write-options.ts';
import { partialMetadata } from '../representation.ts';
import type { ActorClaim } from './actor-claim.ts';
import { resolveBinding } from './bound-object.ts';
import { type ForeignAudienceParts, foreignAudienceCheck } from './foreign-audiences.ts';
import { type ForwardToken, issuesOwnTokens } from './forward-token.ts';
import { type ParsedTokenRequest, parseTokenRequest } from './parse-token-request.ts';
import type { IssueToken } from './pass-use.ts';
import { CREATED, checkSignature, type ReleaseParts, releaseToken } from './release-token.ts';
import { lifetimeErrors, serverErrors } from './token-request-annotations.ts';
import { checkName, checkNamespace, requireValid, TOKEN_REQUEST } from './validate-token-request.ts';

export interface IssueTokenParts extends ForeignAudienceParts, ReleaseParts {
  readonly authorizer: Pick<Authorizer, 'decide'>;
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly productName: string;
  /** Throws while the clock is known to be wrong: a token would carry wrong times. */
  readonly requireRightClock: () => void;
  /** The issuer of a cluster's tokens, which is also the audience of its API. */
  readonly issuerOf: (cluster: string) => string;
  /** For clusters that issue their own tokens; undefined when all tokens are signed here. */
  readonly forward: ForwardToken | undefined;
  readonly maxExpirationSeconds: number;
  readonly actorClaim: ActorClaim;
  readonly now: () => number;
  readonly randomUuid: () => string;
}

/**
 * `POST /orchestrator/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`: a short-lived token for a
 * service account. The order of the checks is part of the contract (T-12): the first that fails decides the answer.
 * Without a record (`tracked`) nothing here waits for the store.
 */
export function createIssueTokenHandler(parts: IssueTokenParts): IssueToken {
  const { catalog, reader, forward } = parts;
  return async (request, pass) => {
    const { cluster = '', namespace, name } = request.target;
    const options = parseCreateOptions(request.query);
    const objectKey = { cluster, namespace, name };
    const mayIn = (other: string): boolean =>
      parts.authorizer.decide(request.caller, tokenQuestion({ ...objectKey, cluster: other })).allowed;
    const audienceProblem = foreignAudienceCheck(parts, objectKey, pass?.mayIn ?? mayIn);
    const tokenRequest = parseTokenRequest(request, options.fieldValidation, audienceProblem);
    const { sent, annotations } = tokenRequest;
    checkNamespace(sent, namespace);
    if (annotations.forServer !== undefined) await requireServer(parts, cluster, tokenRequest);
    if (forward !== undefined) {
      const found = reader.findFresh(catalog.clusters, { cluster: '', namespace: '', name: cluster });
      const stored = found instanceof Promise ? await found : found;
      if (stored !== undefined && issuesOwnTokens(stored)) {
        return respond(request, await forward(stored, request, tokenRequest, { ...options, pass }), sent);
      }
    }
    // What is in memory is not awaited: each `await` would cost a promise and a microtask.
    const owners = requireOwners(catalog, reader, catalog.serviceAccounts, objectKey);
    if (owners instanceof Promise) await owners;
    checkName(sent, name);
    const foundAccount = reader.findFresh(catalog.serviceAccounts, objectKey);
    const account = foundAccount instanceof Promise ? await foundAccount : foundAccount;
    if (account === undefined) throw notFound(catalog.serviceAccounts, name);
    checkUid(sent, account);
    requireValid(tokenRequest.errors);
    const issuer = parts.issuerOf(cluster);
    const audiences = tokenRequest.audiences.length === 0 ? [issuer] : tokenRequest.audiences;
    checkSignature(parts, audiences, request.warn);
    const requested = tokenRequest.expirationSeconds;
    const granted = Math.min(requested, parts.maxExpirationSeconds, pass?.seconds ?? requested);
    requireValid(lifetimeErrors(annotations, { requested, granted }));
    const reference = sent.spec?.boundObjectRef;
    const binding = reference && (await resolveBinding(parts, { reference, cluster, namespace, serviceAccount: name }));

    parts.requireRightClock();
    const now = parts.now();
    const claims = buildClaims({
      issuer,
      audiences,
      namespace,
      serviceAccount: { name, uid: account.uid },
      ...binding,
      now,
      expirationSeconds: granted,
      actor: parts.actorClaim(request, audiences, pass?.agent),
      randomUUID: parts.randomUuid,
    });
    // T-27: a token never expires earlier than requested without a warning.
    if (granted < requested && pass === undefined) {
      request.warn(`requested expiration of ${requested} seconds shortened to ${granted} seconds`);
    }
    if (annotations.forCluster && !claims.aud.includes(issuer)) request.warn(audienceWarning(cluster, issuer));
    if (!options.dryRun) request.annotate('authentication.kubernetes.io/issued-credential-id', `JTI=${claims.jti}`);
    await pass?.claim(claims.jti, claims.exp * 1000, 'ours');
    const token = await releaseToken(parts, request, claims, {
      dryRun: options.dryRun,
      tracked: annotations.tracked || pass !== undefined,
      cluster,
      kind: catalog.serviceAccounts,
    });
    return respond(request, answer(sent, { account, claims, token, now }), sent);
  };
}

async function requireServer(
  { catalog, reader, productName }: IssueTokenParts,
  name: string,
  { annotations }: ParsedTokenRequest,
): Promise<void> {
  const cluster = await reader.findFresh(catalog.clusters, { cluster: '', namespace: '', name });
  if (cluster === undefined) throw notFound(catalog.clusters, name);
  requireValid(serverErrors(annotations, () => endpointsInForce(cluster.object(), productName)));
}

/** The whole object, or the metadata if the request asks for no more. */
function respond({ accept }: ApiRequest, answered: ApiObject, sent: TokenRequest): ApiResponse {
  const { shape, style } = tokenRequestType;
  const object = accept.as === 'object' ? answered : partialMetadata(answered);
  // Most answers repeat no field of the request and are in the order of the schema already. A list of passes takes such
  // an answer as it is.
  if (!repeatsFields(sent)) return { type: 'value', code: CREATED, value: object };
  return { type: 'json', code: CREATED, json: encodeValue(object, shape, style) };
}

const repeatsFields = ({ metadata = {}, spec }: TokenRequest): boolean =>
  Object.keys(metadata).length > 0 || spec?.boundObjectRef !== undefined;

/** T-13 */
function checkUid({ metadata }: TokenRequest, account: StoredObject): void {
  const sent = metadata?.uid ?? '';
  if (sent === '' || sent === account.uid) return;
  throw conflict(
    TOKEN_REQUEST,
    account.name,
    `the UID in the token request (${sent}) does not match the UID of the service account (${account.uid})`,
  );
}

const audienceWarning = (cluster: string, audience: string): string =>
  `this token will not open the API of cluster "${cluster}": its audiences do not include "${audience}"`;

interface IssuedToken {
  readonly account: StoredObject;
  readonly claims: TokenClaims;
  readonly token: string;
  readonly now: number;
}

/** T-04, T-05, T-07: the request with what was granted. */
function answer(sent: TokenRequest, { account, claims, token, now }: IssuedToken): ApiObject {
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
