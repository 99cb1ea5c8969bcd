import { type Authorizer, tokenQuestion } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { endpointsInForce } from '../../api/clusters/confirmed-endpoint.ts';
import { credentialIdOf, ISSUED_CREDENTIAL_ID } from '../../api/credential-id.ts';
import { isGone } from '../../api/deletion.ts';
import type { TokenRequest } from '../../api/kinds/token-request.ts';
import { fleetKey } from '../../api/object-key.ts';
import { conflict, forbidden } from '../../api/status.ts';
import { requireParents } from '../../objects/parents.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildClaims } from '../../tokens/claims.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { checkNamespace } from '../write/read-body.ts';
import type { ActorClaim } from './actor-claim.ts';
import { answerTokenRequest, grantedTokenRequest } from './answer-token-request.ts';
import { resolveBoundObject } from './bound-object.ts';
import { type ForeignAudienceParts, foreignAudienceCheck } from './foreign-audiences.ts';
import { type ForwardToken, issuesOwnTokens } from './forward-token.ts';
import { type ParsedTokenRequest, parseTokenRequest } from './parse-token-request.ts';
import type { IssueToken } from './pass-use.ts';
import { checkSignature, type ReleaseParts, releaseToken } from './release-token.ts';
import { requireLifetime, serverErrors, warnOfEarlierExpiry } from './token-request-annotations.ts';
import { checkName, requireValidRequest, TOKEN_REQUEST, WAITS_FOR_FINALIZERS } from './validate-token-request.ts';

interface IssueTokenParts extends ForeignAudienceParts, ReleaseParts {
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
  readonly randomUUID: () => string;
}

/**
 * `POST /orchestrator/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`: a short-lived token for a
 * service account. The order of the checks is part of the contract (T-12): the first that fails decides the answer.
 * Without a record (`tracked`) nothing here waits for the store.
 */
export function createIssueTokenHandler(parts: IssueTokenParts): IssueToken {
  const { catalog, reader, forward } = parts;
  return async (request, grant = {}) => {
    const { pass, permissionEndsAt, maxPassSeconds } = grant;
    const { cluster = '', namespace, name } = request.target;
    const options = parseTokenRequestOptions(request.query);
    const objectKey = { cluster, namespace, name };
    const mayIn = (other: string): boolean =>
      parts.authorizer.decide(request.caller, tokenQuestion({ ...objectKey, cluster: other })).allowed;
    const audienceProblem = foreignAudienceCheck(parts, objectKey, pass?.mayIn ?? mayIn);
    const tokenRequest = parseTokenRequest(request, options.fieldValidation, audienceProblem);
    const { sent, annotations } = tokenRequest;
    checkNamespace(sent, catalog.serviceAccounts, namespace);
    if (annotations.forServer !== undefined) await requireServer(parts, cluster, tokenRequest);
    if (forward !== undefined) {
      const found = reader.findFresh(catalog.clusters, fleetKey(cluster));
      const stored = found instanceof Promise ? await found : found;
      if (stored !== undefined && issuesOwnTokens(stored)) {
        return answerTokenRequest(request, await forward(stored, request, tokenRequest, { ...options, grant }), sent);
      }
    }
    // What is in memory is not awaited: each `await` would cost a promise and a microtask.
    const parents = requireParents(catalog, reader, catalog.serviceAccounts, objectKey);
    if (parents instanceof Promise) await parents;
    checkName(sent, name);
    const foundAccount = reader.findFresh(catalog.serviceAccounts, objectKey);
    const account = foundAccount instanceof Promise ? await foundAccount : foundAccount;
    if (account === undefined) throw reader.absence(catalog.serviceAccounts, objectKey);
    // It would be refused here, but not by clusters that verify with the key set.
    if (isGone(account, parts.now())) throw forbidden(catalog.serviceAccounts, name, WAITS_FOR_FINALIZERS);
    checkUid(sent, account);
    requireValidRequest(tokenRequest.errors);
    const issuer = parts.issuerOf(cluster);
    const audiences = tokenRequest.audiences.length === 0 ? [issuer] : tokenRequest.audiences;
    checkSignature(parts, audiences, request.warn);
    const requested = tokenRequest.expirationSeconds;
    const lifetime = requireLifetime(request, annotations, {
      requested,
      now: parts.now(),
      serverSeconds: parts.maxExpirationSeconds,
      passEndsAt: pass?.endsAt,
      permissionEndsAt,
      maxPassSeconds,
    });
    const reference = sent.spec?.boundObjectRef;
    const bound =
      reference && (await resolveBoundObject(parts, { reference, cluster, namespace, serviceAccount: name }));

    parts.requireRightClock();
    const now = parts.now();
    const claims = buildClaims({
      issuer,
      audiences,
      namespace,
      serviceAccount: { name, uid: account.uid },
      ...bound,
      now,
      expirationSeconds: lifetime.seconds,
      actor: parts.actorClaim(request, audiences, pass?.agent),
      randomUUID: parts.randomUUID,
    });
    // A pass lasts as long as it says: the request is for at least ten minutes.
    if (lifetime.bound !== 'passEndsAt') warnOfEarlierExpiry(request, requested, lifetime);
    if (annotations.forCluster && !claims.aud.includes(issuer)) request.warn(audienceWarning(cluster, issuer));
    if (!options.dryRun) request.annotate(ISSUED_CREDENTIAL_ID, credentialIdOf(claims.jti));
    await pass?.recordToken(claims.jti, claims.exp * 1000, 'ours');
    const token = await releaseToken(parts, request, claims, {
      dryRun: options.dryRun,
      tracked: annotations.tracked || pass !== undefined,
      cluster,
      kind: catalog.serviceAccounts,
    });
    return answerTokenRequest(request, grantedTokenRequest(sent, { holder: account, claims, token, now }), sent);
  };
}

async function requireServer(
  { catalog, reader, productName }: IssueTokenParts,
  name: string,
  { annotations }: ParsedTokenRequest,
): Promise<void> {
  const cluster = await reader.findFresh(catalog.clusters, fleetKey(name));
  if (cluster === undefined) throw reader.absence(catalog.clusters, fleetKey(name));
  requireValidRequest(serverErrors(annotations, () => endpointsInForce(cluster.object(), productName)));
}

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
