import { isDecidedByHandler, isFilteredList, isTokenRequestList } from '../../api/authorization.ts';
import type { User } from '../../api/caller.ts';
import type { Decision } from '../../api/decision.ts';
import { whyAllowed } from '../../api/decision.ts';
import type { Target } from '../../api/request.ts';
import { forbiddenFor } from '../../authz/forbidden.ts';
import { impersonate } from '../../authz/impersonation.ts';
import type { Exchange } from '../exchange.ts';
import { isMcpPath, mcpNotServed } from '../mcp/mcp-endpoint.ts';
import { readImpersonation } from '../request/impersonation-headers.ts';
import type { ResourceRoutes } from '../routes/routes.ts';
import type { Stage } from './stage.ts';

/** From here on the caller is the impersonated user. Its limits stay those of the impersonator. */
export const impersonateUser: Stage = (x, { authorizer }) => {
  const { impersonation } = x.headers;
  if (impersonation === undefined) return;
  const wanted = readImpersonation(impersonation);
  if (wanted === undefined) return;
  const { caller } = x;
  const cluster = x.info.type === 'resource' ? x.info.question.cluster : x.info.cluster;
  const outcome = impersonate(authorizer, caller, wanted, cluster);
  if (outcome.allowed) {
    x.knownCaller = outcome.caller;
    return;
  }
  const user = caller.as(cluster);
  record(x, outcome.decision, user);
  throw forbiddenFor(user, outcome.question, outcome.decision);
};

/** Decision 12: before any lookup, so that a 403 tells nothing about what exists. */
export const authorize: Stage = (x, { authorizer, resources }) => {
  const { caller } = x;
  if (x.info.type === 'path') {
    // Not 403: whether MCP is served is no secret, and no permission helps.
    if (isMcpPath(x.info)) throw mcpNotServed();
    const question = { verb: x.info.verb, path: x.info.path };
    const decision = authorizer.decidePath(caller, question);
    record(x, decision, caller.as(undefined));
    if (!decision.allowed) throw forbiddenFor(caller.as(undefined), question, decision);
    return;
  }
  const { target, question } = x.info;
  if (isFilteredList(target) || isDecidedByHandler(target) || isTokenRequestList(target)) {
    x.decision = { allowed: true, why: 'decided object by object' };
    return;
  }
  if (isRedirected(target, resources)) {
    x.decision = { allowed: true, why: 'decided at the path of the cluster' };
    return;
  }
  const decision = authorizer.decide(caller, question);
  const user = caller.as(question.cluster);
  record(x, decision, user);
  if (!decision.allowed) throw forbiddenFor(user, question, decision);
  x.permission = decision;
};

/** A message of MCP: each request of a tool is authorized. */
export const authorizeCalls: Stage = (x) => {
  x.decision = { allowed: true, why: 'decided call by call' };
};

/** ADR 29. The core group has kinds inside clusters only: nothing else is looked up before authorization. */
const isRedirected = (target: Target, resources: ResourceRoutes): boolean =>
  target.cluster === undefined && target.group === '' && resources.find(target)?.redirects !== undefined;

function record(x: Exchange, decision: Decision, user: User): void {
  x.decision = { allowed: decision.allowed, why: decision.allowed ? whyAllowed(decision, user) : decision.reason };
}
