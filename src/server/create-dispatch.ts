import { randomBytes, randomUUID } from 'node:crypto';
import { tokenQuestion } from '../api/authorization.ts';
import { JOIN_SUBRESOURCE } from '../api/kinds/bootstrap-token.ts';
import { USERPASS } from '../api/kinds/token-request.ts';
import { mcpAudienceOf } from '../api/pass-audience.ts';
import { verifyConnectorToken } from '../authn/connector-authenticator.ts';
import { checkJoin, createAdmission, findSecondNames } from '../authz/admission/admission.ts';
import { checkApproval, checkRequest, decisionRefusal } from '../authz/admission/check-access-request.ts';
import { bindingReach } from '../authz/binding-reach.ts';
import { createChangeCheck } from '../authz/change-check.ts';
import { forbiddenFor, questionOf, refusalOf, requirePermission } from '../authz/forbidden.ts';
import { readBinding } from '../authz/policy/binding-facts.ts';
import { givesTokens } from '../authz/policy/reach-finder.ts';
import {
  type AccessRequestParts,
  accessRequests,
  createRequestCompletion,
} from '../handlers/access-requests/access-request.ts';
import type { ApprovalParts } from '../handlers/approvals/approvable.ts';
import { createDecisionHandler } from '../handlers/approvals/decide.ts';
import { approvalVerbs } from '../handlers/approvals/verbs.ts';
import { createContinueTokens } from '../handlers/continue-token.ts';
import { createDispatcher, type VerbOverrides } from '../handlers/dispatch.ts';
import { createKubeconfigHandler } from '../handlers/get-kubeconfig.ts';
import { issuedTokenVerbs } from '../handlers/issued-tokens/issued-token-verbs.ts';
import { createTokenCompletion } from '../handlers/join/complete-token.ts';
import { createJoinHandler, type JoinParts } from '../handlers/join/join-cluster.ts';
import { createListAccountsHandler } from '../handlers/list-accounts.ts';
import { createPassHandler } from '../handlers/passes/create-pass.ts';
import { type PassParts, passes } from '../handlers/passes/pass.ts';
import { createRedeemHandler } from '../handlers/passes/redeem-pass.ts';
import { createReviewHandler } from '../handlers/reviews/create-review.ts';
import type { ReviewToken } from '../handlers/reviews/review.ts';
import { createEndPasses } from '../handlers/revoked-tokens.ts';
import { signingKeyVerbs } from '../handlers/signing-keys/signing-key-verbs.ts';
import { createActorClaim, createPersonActor } from '../handlers/token/actor-claim.ts';
import type { ForwardToken } from '../handlers/token/forward-token.ts';
import { createIssueToken, createTokenHandler } from '../handlers/token/issue-token.ts';
import type { IssueToken } from '../handlers/token/token-input.ts';
import type { Views } from '../handlers/views.ts';
import { createBindingWarnings } from '../handlers/write/binding-warnings.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { Base, State } from './open-state.ts';

/** What tokens are issued with. */
interface TokenParts extends Base, State {
  /** Handles token requests of clusters that issue tokens themselves. */
  readonly forward: ForwardToken;
  readonly issuesOwnTokens: (cluster: StoredObject) => boolean;
}

interface DispatchParts extends TokenParts {
  readonly views: Views;
  readonly issueToken: IssueToken;
  readonly reviewToken: ReviewToken;
}

/** Creates the handlers of resource requests. A part of `compose`. */
export function createDispatch(parts: DispatchParts): ReturnType<typeof createDispatcher> {
  const { catalog, issuers, objects, views, signing } = parts;
  const { reader, policy } = objects;
  const approvals = approvalParts(parts);
  const requesting = accessRequestParts(parts, approvals);
  const joining = joinParts(parts);
  const passing = passParts(parts, approvals);
  const rows = [accessRequests(requesting), { ...passes(passing), create: createPassHandler(passing) }];
  const createToken = createTokenHandler(parts.issueToken);
  const completeRequest = createRequestCompletion(requesting);
  const completeToken = createTokenCompletion(joining, parts.options.maxBootstrapTokensPerCaller);
  return createDispatcher({
    ...objects,
    catalog,
    views,
    continueTokens: createContinueTokens({ key: signing.sealKey }),
    hasChangedSince: createChangeCheck({ catalog, reader, policy, changedAt: views.changedAt }),
    refusal: (request, kind) => (views.isFiltered(kind) ? undefined : refusalOf(policy, request, 'watch')),
    productName: parts.options.productName,
    holdsEndpoints: parts.options.confirmEndpoints,
    checkAdmission: createAdmission({ policy, catalog, reader, now: Date.now }),
    warnOfBinding: createBindingWarnings({
      bindings: catalog.fleetRoleBindings,
      clusters: catalog.clusters,
      reader,
      views,
      bindingReach,
    }),
    afterDeletion: createEndPasses({
      catalog,
      reader,
      revocations: parts.tokenRecords.revocations,
      issuerOf: issuers.issuerFor,
      givesTokens: (binding) => givesTokens(policy.rulesOf(readBinding(binding, '', '').roleRef)),
      // The tokens of clusters that issue their own have no records.
      tracksAll: () =>
        parts.options.trackAllTokens &&
        parts.options.credentialsDir === undefined &&
        reader.cache(catalog.connectors).current.size === 0,
      maxExpirationSeconds: parts.options.maxTokenExpirationSeconds,
      now: Date.now,
    }),
    completion: (request, kind) => completeRequest(request, kind) ?? completeToken(request, kind),
    checkCreate: (request) => requirePermission(policy, request.caller, questionOf(request, 'create')),
    checkUnreadableDelete: (request) => requirePermission(policy, request.caller, questionOf(request)),
    now: Date.now,
    random: Math.random,
    trace: parts.trace,
    createReview: createReviewHandler({
      authorizer: policy,
      catalog,
      reader,
      reviewToken: parts.reviewToken,
      recentEvents: parts.audit.recent,
      now: Date.now,
    }),
    verbOverrides: new Map([...tokenVerbs(parts), ...approvalVerbs(approvals, rows)]),
    decisions: new Map(rows.map((row) => [row.kind, createDecisionHandler(approvals, row)])),
    redeemPass: createRedeemHandler(passing),
    subresources: {
      token: createToken,
      [USERPASS]: createToken,
      kubeconfig: createKubeconfigHandler({ ...issuers, catalog, reader, productName: parts.options.productName }),
      accounts: createListAccountsHandler(catalog, reader, policy),
      [JOIN_SUBRESOURCE]: createJoinHandler(joining),
    },
  });
}

/** What approvals and registrations need to write objects. */
const writingParts = ({ catalog, objects, views, clock }: DispatchParts) => ({
  ...objects,
  catalog,
  views,
  requireRightClock: () => clock.requireRight(),
  now: Date.now,
});

function approvalParts(parts: DispatchParts): ApprovalParts {
  const { policy } = parts.objects;
  return {
    ...writingParts(parts),
    decisionRefusal: (kind, caller, name, scope) => decisionRefusal(policy, kind, caller, name, scope),
    refusalOf: (request) => refusalOf(policy, request),
    holds: ({ username: name, uid = '', groups = [] } = { username: '' }, question) =>
      policy.decide({ as: () => ({ name, uid, groups, extra: {} }) }, question).allowed,
    issuesOwnTokens: parts.issuesOwnTokens,
  };
}

function accessRequestParts({ objects, grants, options }: DispatchParts, approvals: ApprovalParts): AccessRequestParts {
  const { policy } = objects;
  return {
    ...approvals,
    grants,
    limits: options.accessRequests,
    rules: {
      checkRequest: (caller, scope) => checkRequest(policy, caller, scope),
      checkApproval: (caller, grant) => checkApproval(policy, caller, grant),
    },
  };
}

function passParts(
  { objects, options, tokenRecords, issuers, issueToken }: DispatchParts,
  approvals: ApprovalParts,
): PassParts {
  const { policy } = objects;
  return {
    ...approvals,
    limits: options.passes,
    rules: {
      decide: (caller, account, holder) => policy.decidePass(caller, tokenQuestion(account), holder),
      refusal: (caller, account, decision) =>
        forbiddenFor(caller.as(account.cluster), tokenQuestion(account), decision),
    },
    revocations: tokenRecords.revocations,
    issueToken,
    ...issuers,
    mcpAudience: mcpAudienceOf(issuers.baseUrl),
    randomBytes,
  };
}

function joinParts(parts: DispatchParts): JoinParts {
  const { catalog, objects, options, clock, issuers } = parts;
  return {
    ...writingParts(parts),
    productName: options.productName,
    checkJoin: (creator, cluster, old) => checkJoin(objects.policy, creator, catalog.clusters, cluster, old),
    tellNames: (creator, cluster, tell) => findSecondNames({ ...objects, catalog }, creator, cluster, tell),
    verifyConnector: (cluster, claim) =>
      verifyConnectorToken({ ...issuers, now: () => clock.latest() }, cluster, claim),
  };
}

/** Issues every token: of service accounts, and of people. */
export function createTokens(parts: TokenParts): IssueToken {
  const { catalog, options, issuers, clock } = parts;
  const { reader, policy } = parts.objects;
  const actors = { mode: options.actorClaim, ...issuers };
  return createIssueToken({
    ...issuers,
    catalog,
    reader,
    productName: options.productName,
    signer: parts.signing.signer,
    requireRightClock: () => clock.requireRight(),
    tracked: parts.tokenRecords.tracked,
    trackAll: options.trackAllTokens,
    maxExpirationSeconds: options.maxTokenExpirationSeconds,
    maxPerMinute: options.maxTokensPerMinutePerCaller,
    now: Date.now,
    randomUUID,
    issuerOf: issuers.issuerFor,
    peopleIssuerOf: issuers.peopleIssuerFor,
    mcpAudience: mcpAudienceOf(issuers.baseUrl),
    authorizer: policy,
    forward: parts.forward,
    issuesOwnTokens: parts.issuesOwnTokens,
    actorClaim: createActorClaim(actors),
    actorOf: createPersonActor(actors),
  });
}

/** The verbs of signing keys and issued tokens, which are not written as other objects. */
function tokenVerbs({ catalog, objects, views, signing, tokenRecords, clock }: DispatchParts): VerbOverrides {
  const { reader, policy } = objects;
  return new Map([
    ...signingKeyVerbs({
      kind: catalog.signingKeys,
      reader,
      keyRing: signing.keyRing,
      publisher: signing.publisher,
      requireRightClock: () => clock.requireRight(),
    }),
    ...issuedTokenVerbs({
      kind: catalog.issuedTokens,
      reader,
      views,
      revocations: tokenRecords.revocations,
      refusalOf: (request) => refusalOf(policy, request),
    }),
  ]);
}
