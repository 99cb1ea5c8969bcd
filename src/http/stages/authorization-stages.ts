import { isDecidedByHandler, isFilteredList, isTokenRequestList } from '../../api/authorization.ts';
import type { User } from '../../api/caller.ts';
import { goQuote } from '../../api/codec/go-text/go-quote.ts';
import { type Decision, whyAllowed } from '../../api/decision.ts';
import type { Target } from '../../api/request.ts';
import { badRequest } from '../../api/status.ts';
import { forbiddenFor } from '../../authz/forbidden.ts';
import { impersonate } from '../../authz/impersonation.ts';
import { unescaped, utf8Text } from '../../lib/text.ts';
import type { Exchange } from '../exchange.ts';
import { isMcpPath, mcpNotServed } from '../mcp/mcp-endpoint.ts';
import type { HeaderLine } from '../request/header-checks.ts';
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
  target.cluster === undefined && target.group === '' && resources(target)?.redirects !== undefined;

function record(x: Exchange, decision: Decision, user: User): void {
  x.decision = { allowed: decision.allowed, why: decision.allowed ? whyAllowed(decision, user) : decision.reason };
}

const USER = 'impersonate-user';
const UID = 'impersonate-uid';
const GROUP = 'impersonate-group';
const EXTRA = 'impersonate-extra-';

/**
 * The user that the `Impersonate-*` headers name, as sent; undefined when they name none (IMP-12). As in kube-apiserver
 * the first of two user names counts (IMP-19). Unlike there, a header that is not known is an error: without it the
 * request would run with other permissions than were meant.
 */
export function readImpersonation(lines: readonly HeaderLine[]): User | undefined {
  let name: string | undefined;
  let uid: string | undefined;
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  for (const line of lines) {
    const value = decodeValue(line);
    if (line.name === USER) name ??= value;
    else if (line.name === UID) uid ??= value;
    else if (line.name === GROUP) groups.push(value);
    else if (line.name.startsWith(EXTRA)) {
      const key = decodeKey(line.name.slice(EXTRA.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    } else {
      throw badRequest(
        `unknown header ${goQuote(line.name)}: use Impersonate-User, Impersonate-Group, Impersonate-Uid or Impersonate-Extra-KEY`,
      );
    }
  }
  const user: User = { name: name ?? '', uid: uid ?? '', groups, extra: Object.fromEntries(extra) };
  if (user.name !== '') return user;
  if (user.uid === '' && groups.length === 0 && extra.size === 0) return undefined;
  throw badRequest(`requested ${goText(user)} without impersonating a user name`);
}

/** Node decodes header bytes as Latin-1; clients write names in UTF-8. */
function decodeValue({ name, value }: HeaderLine): string {
  const text = utf8Text(Buffer.from(value, 'latin1'));
  if (text === undefined) throw badRequest(`the header ${goQuote(name)} must be valid UTF-8`);
  return text;
}

/** IMP-17. A key with a broken escape is kept as it is. */
const decodeKey = (key: string): string => unescaped(key) ?? key;

/** The user as Go prints the struct: kube-apiserver's message has it (IMP-05, IMP-11). */
function goText({ name, uid, groups, extra }: User): string {
  const entries = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const map = entries.map(([key, values]) => `${goQuote(key)}:${goStrings(values)}`).join(', ');
  const extraText = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${map}}`;
  const groupsText = groups.length === 0 ? '[]string(nil)' : goStrings(groups);
  return `&user.DefaultInfo{Name:${goQuote(name)}, UID:${goQuote(uid)}, Groups:${groupsText}, Extra:${extraText}}`;
}

const goStrings = (values: readonly string[]): string => `[]string{${values.map(goQuote).join(', ')}}`;
