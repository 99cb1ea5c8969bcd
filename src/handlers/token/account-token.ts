import { type Authorizer, tokenQuestion } from '../../api/authorization.ts';
import type { Catalog } from '../../api/catalog.ts';
import { endpointsInForce } from '../../api/clusters/confirmed-endpoint.ts';
import { fleetKey, isGone } from '../../api/kind.ts';
import type { GrantedTokenRequest } from '../../api/kinds/token-request.ts';
import { forbidden } from '../../api/status.ts';
import { requireParents } from '../../objects/parents.ts';
import type { ObjectReader } from '../../objects/reader.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { buildClaims } from '../../tokens/claims.ts';
import { checkNamespace } from '../write/read-body.ts';
import type { ActorClaim } from './actor-claim.ts';
import { resolveBoundObject } from './bound-object.ts';
import type { ForwardToken } from './forward-token.ts';
import {
  checkName,
  checkUid,
  type ForeignAudienceParts,
  foreignAudienceCheck,
  type ParsedTokenRequest,
  parseTokenRequest,
  requireValidRequest,
  serverErrors,
  WAITS_FOR_FINALIZERS,
} from './parse-token-request.ts';
import { type SignTokenParts, signToken } from './sign-token.ts';
import type { TokenGrant, TokenInput } from './token-input.ts';

export interface AccountTokenParts extends ForeignAudienceParts, SignTokenParts {
  readonly authorizer: Pick<Authorizer, 'decide'>;
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly productName: string;
  /** The issuer of a cluster's tokens, which is also the audience of its API. */
  readonly issuerOf: (cluster: string) => string;
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
  /** For clusters that issue their own tokens. */
  readonly forward: ForwardToken;
  readonly actorClaim: ActorClaim;
}

/**
 * A short-lived token of a service account. The order of the checks is part of the contract (T-12): the first that
 * fails decides the answer.
 */
export async function accountToken(
  parts: AccountTokenParts,
  input: TokenInput,
  grant: TokenGrant,
): Promise<GrantedTokenRequest> {
  const { catalog, reader, forward } = parts;
  const { request, sent } = input;
  const { cluster = '', namespace, name } = request.target;
  const { pass } = grant;
  const objectKey = { cluster, namespace, name };
  const mayIn = (other: string): boolean =>
    parts.authorizer.decide(request.caller, tokenQuestion({ ...objectKey, cluster: other })).allowed;
  const tokenRequest = parseTokenRequest(input, foreignAudienceCheck(parts, objectKey, pass?.mayIn ?? mayIn));
  checkNamespace(sent, catalog.serviceAccounts, namespace);
  if (tokenRequest.annotations.forServer !== undefined) await requireServer(parts, cluster, tokenRequest);
  // What is in memory is not awaited: each `await` would cost a promise and a microtask.
  const found = reader.findFresh(catalog.clusters, fleetKey(cluster));
  const stored = found instanceof Promise ? await found : found;
  if (stored !== undefined && parts.issuesOwnTokens(stored)) return forward(stored, tokenRequest, grant);
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
  const reference = sent.spec?.boundObjectRef;
  const bound = reference && (await resolveBoundObject(parts, reference, objectKey));
  const issuer = parts.issuerOf(cluster);
  const audiences = tokenRequest.audiences.length === 0 ? [issuer] : tokenRequest.audiences;
  return signToken(parts, tokenRequest, grant, {
    cluster,
    holder: account,
    issuer,
    audiences,
    bounds: {},
    claimsOf: (granted) =>
      buildClaims({
        issuer,
        audiences,
        namespace,
        serviceAccount: { name, uid: account.uid },
        ...bound,
        ...granted,
        actor: parts.actorClaim(request, audiences, pass?.agent),
      }),
  });
}

async function requireServer(
  { catalog, reader, productName }: AccountTokenParts,
  name: string,
  { annotations }: ParsedTokenRequest,
): Promise<void> {
  const cluster = await reader.findFresh(catalog.clusters, fleetKey(name));
  if (cluster === undefined) throw reader.absence(catalog.clusters, fleetKey(name));
  requireValidRequest(serverErrors(annotations, () => endpointsInForce(cluster.object(), productName)));
}
