import { createHash } from 'node:crypto';
import type { PassDecision } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { FieldValidation } from '../../api/codec/decode.ts';
import { fleetKey, type ObjectKey, objectKeyOf } from '../../api/kind.ts';
import { MAX_PASS_TOKENS } from '../../api/kinds/pass.ts';
import { type PassSpec, type PassStatus, passAccount, passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { TOKEN_ANNOTATIONS, type TokenRequest, tokenRequestType } from '../../api/kinds/token-request.ts';
import { isTokenId } from '../../api/names.ts';
import { type ApiRequest, type ApiResponse, isEmptyBody, type Target } from '../../api/request.ts';
import { type ApiError, conflict, forbidden, forbiddenField, invalid, notFound } from '../../api/status.ts';
import { toTimestamp } from '../../lib/utc-second.ts';
import type { StoredObject } from '../../objects/stored-object.ts';
import { parseTokenRequestOptions } from '../options/write-options.ts';
import { isOwn } from '../requester.ts';
import { answerTokenRequest, type TokenInput } from '../token/token-input.ts';
import { readBody } from '../write/read-body.ts';
import { audiencePermission } from './create-pass.ts';
import { ACCOUNT_DELETED, annotate, holderOf, isAccountDeleted, isApprovedFor, type PassParts } from './pass.ts';

/** No TokenRequest asks for less. A token for a pass may be granted less: it ends with the pass. */
const MIN_REQUESTED_SECONDS = 600;

/**
 * `create` of `passes/token`: a TokenRequest for the account of the pass. The handle opens nothing by itself: the
 * caller is the requester, and its permission is asked for again.
 */
export function createRedeemHandler(parts: PassParts): (request: ApiRequest) => Promise<ApiResponse> {
  const { catalog, reader } = parts;
  const kind = catalog.passes;
  return async (request) => {
    const { caller, agent, target } = request;
    const { dryRun, fieldValidation } = parseTokenRequestOptions(request.query);
    if (agent !== undefined) throw forbidden(kind, target.name, 'agents do not get tokens: the kubeconfig redeems it');
    const { codeVerifier, annotations } = annotationsOf(parts, request, fieldValidation);
    await reader.catchUp();
    const entry = requireOwnPass(parts, request);
    const object = entry.object();
    annotate(request, object);
    const pass: HeldPass = { name: entry.name, spec: passSpec(object), status: passStatus(object) };
    const problem = whyUnusable(parts, pass);
    if (problem !== undefined) throw problem;
    if (!isVerified(pass.spec, codeVerifier)) throw forbidden(kind, entry.name, OTHER_MACHINE);
    const permission = requirePassPermission(parts, caller, pass);
    const { endsAt, sent } = tokenRequestFor(parts, pass, annotations);
    const account = passAccount(pass.spec);
    const { actor, signal, work, warn, willAnswer } = request;
    const about = { caller, actor, signal, work, warn, willAnswer, annotate: request.annotate };
    const input = { request: { ...about, target: accountTarget(target, account) }, sent, dryRun };
    const granted = await parts.issueToken(input, {
      permission,
      pass: {
        endsAt,
        agent: pass.spec.client?.id,
        mayIn: audiencePermission(parts, request, account, holderOf(pass.spec.client)),
        recordToken: async (id, tokenExpiresAt, issuer) => {
          if (!dryRun) await recordToken(parts, request, entry, { id, expiresAt: tokenExpiresAt, issuer });
        },
      },
    });
    return answerTokenRequest(request, granted, sent);
  };
}

/** A pass of the caller. */
interface HeldPass {
  readonly name: string;
  readonly spec: PassSpec;
  readonly status: PassStatus;
}

function requireOwnPass({ catalog, reader }: PassParts, request: ApiRequest): StoredObject {
  const kind = catalog.passes;
  const { caller, target } = request;
  const entry = reader.find(kind, objectKeyOf(request, kind));
  // One error for the pass of another and for one that does not exist.
  if (entry === undefined || !isOwn(entry, caller)) throw notFound(kind, target.name);
  // The approval was for the requester, and an impersonator is another person.
  if (caller.impersonator !== undefined) {
    throw forbidden(kind, target.name, 'only its requester redeems it, not a caller who impersonates the requester');
  }
  return entry;
}

/** The permission of the caller may have changed since the pass was requested. */
function requirePassPermission(
  { catalog, rules }: PassParts,
  caller: Caller,
  { name, spec, status }: HeldPass,
): PassDecision {
  const account = passAccount(spec);
  const decision = rules.decide(caller, account, holderOf(spec.client));
  if (!decision.allowed) throw rules.refusal(caller, account, decision);
  if (isApprovedFor(status, decision)) return decision;
  const why = `the binding that allows it needs an approval now (${decision.approval}): ask for another pass`;
  throw forbidden(catalog.passes, name, why);
}

/** The TokenRequest for the account of the pass, if it exists, and the end of the pass. */
function tokenRequestFor(
  parts: PassParts,
  { name, spec, status }: HeldPass,
  annotations: Record<string, string>,
): { readonly endsAt: number; readonly sent: TokenInput['sent'] } {
  const { catalog, reader, now } = parts;
  const kind = catalog.passes;
  const account = passAccount(spec);
  const endsAt = Date.parse(status.expirationTimestamp ?? '');
  const seconds = Math.floor((endsAt - now()) / 1000);
  const cluster = reader.find(catalog.clusters, fleetKey(account.cluster));
  // Another cluster may have the name by now.
  if (cluster?.uid !== status.clusterUID) throw conflict(kind, name, 'the cluster was deleted');
  if (isAccountDeleted(parts, account, status)) throw conflict(kind, name, ACCOUNT_DELETED);
  const issuesOwnTokens = cluster !== undefined && parts.issuesOwnTokens(cluster);
  const uid = issuesOwnTokens ? undefined : status.serviceAccountUID;
  const sent = {
    // The account may be replaced until the token is issued. Where the cluster issues it, the account may be unknown
    // here, or have another UID.
    metadata: { annotations, ...(uid === undefined ? {} : { uid }) },
    spec: {
      audiences: spec.audiences ?? [],
      expirationSeconds: issuesOwnTokens ? MIN_REQUESTED_SECONDS : Math.max(seconds, MIN_REQUESTED_SECONDS),
    },
  };
  return { endsAt, sent };
}

const OTHER_MACHINE =
  'it is redeemed on the machine that requested it, with the login there: redeem it there, or request another pass here';

/** S256 of RFC 7636, section 4.6. */
const isVerified = ({ codeChallenge }: PassSpec, codeVerifier: string | undefined): boolean =>
  codeChallenge === undefined ||
  (codeVerifier !== undefined && createHash('sha256').update(codeVerifier).digest('base64url') === codeChallenge);

/** The pass determines what is issued, so the body has no spec. Its annotations only add conditions: they stay. */
function annotationsOf({ catalog }: PassParts, request: ApiRequest, fieldValidation: FieldValidation) {
  const { body, target } = request;
  if (isEmptyBody(body)) return { codeVerifier: undefined, annotations: {} };
  const { metadata, spec = {} } = readBody<TokenRequest>(request, tokenRequestType, fieldValidation);
  const { audiences, expirationSeconds, boundObjectRef } = spec;
  if ((audiences ?? []).length === 0 && expirationSeconds === undefined && boundObjectRef === undefined) {
    const { [TOKEN_ANNOTATIONS.codeVerifier]: codeVerifier, ...annotations } = metadata?.annotations ?? {};
    return { codeVerifier, annotations };
  }
  throw invalid(catalog.passes, target.name, [
    forbiddenField('spec', 'the pass determines what is issued: leave it out'),
  ]);
}

function whyUnusable({ catalog, now }: PassParts, { name, status }: HeldPass): ApiError | undefined {
  const kind = catalog.passes;
  const { phase, decidedBy, expirationTimestamp = '' } = status;
  const hasEnded = phase === 'Ended' || !(Date.parse(expirationTimestamp) > now());
  if (phase === 'Denied') {
    const { message } = status.conditions?.findLast(({ type }) => type === 'Denied') ?? {};
    const why = message === undefined ? '' : `: ${message}`;
    return forbidden(kind, name, `${decidedBy?.username ?? 'an approver'} has denied it${why}`);
  }
  if (hasEnded) return conflict(kind, name, 'it has ended: ask for another pass');
  if (phase !== 'Ready') return conflict(kind, name, 'it waits for an approval');
  return undefined;
}

/** A token leaves only after its id is stored with the pass: to end the pass is to revoke all of its tokens. */
async function recordToken(
  { catalog, writer }: PassParts,
  request: ApiRequest,
  { name, uid }: StoredObject,
  { id, expiresAt, issuer }: { id: string | undefined; expiresAt: number; issuer: 'ours' | 'cluster' },
): Promise<void> {
  const kind = catalog.passes;
  await writer.update(
    kind,
    fleetKey(name),
    (current) => {
      const status = passStatus(current);
      const { tokens = [] } = status;
      if (status.phase !== 'Ready') throw conflict(kind, name, 'it has ended: ask for another pass');
      if (tokens.length >= MAX_PASS_TOKENS) {
        throw conflict(kind, name, `it was redeemed ${MAX_PASS_TOKENS} times: ask for another pass`);
      }
      // A token without an id counts, too: the approval is used, and a revocation does not reach it.
      const token = {
        ...(id !== undefined && isTokenId(id) ? { id } : {}),
        expirationTimestamp: toTimestamp(expiresAt),
        ...(issuer === 'cluster' ? { revocable: false } : {}),
      };
      return { ...current, status: { ...status, tokens: [...tokens, token] } };
    },
    { dryRun: false, part: 'status', preconditions: { uid }, request },
  );
}

const accountTarget = (target: Target, account: ObjectKey): Target => ({
  ...target,
  ...{ group: '', version: 'v1', resource: 'serviceaccounts' },
  ...account,
});
