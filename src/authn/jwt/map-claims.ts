import { AGENT_PREFIX, CREDENTIAL_ID, credentialIdOf, isRecordableJti, type User } from '../../api/caller.ts';
import type { JsonObject } from '../../lib/json.ts';
import { hasControl } from '../../lib/text.ts';
import { TokenRejected } from '../../tokens/jws.ts';
import { withAuthenticated } from '../token-authenticator.ts';
import { type Expression, ExpressionFailed } from './cel.ts';
import type { ClaimMappings, ClaimSource, ValidationRule } from './read-claim-mappings.ts';

/** More than a directory puts into one token. An authorization decision looks up each of them. */
export const MAX_GROUPS = 1_024;
const MAX_TEXT = 1_024;

/** The user that the claims of a verified token are mapped to. Throws TokenRejected. */
export function mapClaims(mappings: ClaimMappings, claims: JsonObject): User {
  const values = celValue(claims);
  const run: Run = (what, { evaluate }, variables = { claims: values }) => {
    try {
      return evaluate(variables);
    } catch (error) {
      if (error instanceof ExpressionFailed) throw new TokenRejected(`${what}: ${error.message}`);
      throw error;
    }
  };
  const user: User = {
    name: nameOf(mappings.username, claims, run),
    uid: mappings.uid === undefined ? '' : stringClaim('uid', mappings.uid, claims, run),
    groups: groupsOf(mappings.groups, claims, run),
    extra: extraOf(mappings, claims, run),
  };
  for (const { claim, value } of mappings.requiredClaims) {
    if (own(claims, claim) !== value) throw new TokenRejected(`the claim ${claim} does not have the required value`);
  }
  checkRules('claimValidationRules', mappings.claimValidationRules, run);
  const { name: username, uid, groups, extra } = user;
  const variables = { user: { username, uid, groups, extra: new Map(Object.entries(extra)) } };
  checkRules('userValidationRules', mappings.userValidationRules, (what, rule) => run(what, rule, variables));
  return { ...user, groups: withAuthenticated(user.groups) };
}

type Run = (what: string, expression: Expression, variables?: Readonly<Record<string, unknown>>) => unknown;

/** A name such as `constructor` is a claim only if the token contains it. */
const own = (claims: JsonObject, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

function stringClaim(what: string, source: ClaimSource, claims: JsonObject, run: Run): string {
  if ('expression' in source) return checkedText(what, run(what, source.expression));
  return `${source.prefix}${checkedText(`the claim ${source.claim}`, own(claims, source.claim))}`;
}

function checkedText(what: string, value: unknown): string {
  if (typeof value !== 'string') throw new TokenRejected(`${what} is missing or not a text`);
  if (value.length > MAX_TEXT) throw new TokenRejected(`${what} is longer than ${MAX_TEXT} characters`);
  // A line break in a name would forge a line wherever the name is printed.
  if (hasControl(value)) throw new TokenRejected(`${what} contains control characters`);
  // In UTF-8 every lone surrogate becomes U+FFFD, so two different names would be equal.
  if (!value.isWellFormed()) throw new TokenRejected(`${what} contains half of a surrogate pair`);
  return value;
}

/**
 * Names that start with `system:` belong to this server. An issuer that could assign them could bypass every rule:
 * `system:masters` does.
 */
const RESERVED = 'system:';

function nameOf(source: ClaimSource, claims: JsonObject, run: Run): string {
  if ('claim' in source && source.claim === 'email') {
    const verified = own(claims, 'email_verified');
    if (verified !== undefined && verified !== true) throw new TokenRejected('the email is not verified');
  }
  const name = stringClaim('the user name', source, claims, run);
  if (name === '') throw new TokenRejected('the user name is empty');
  const reserved = [RESERVED, AGENT_PREFIX].find((prefix) => name.startsWith(prefix));
  if (reserved !== undefined) throw new TokenRejected(`the user name starts with ${reserved}, which is reserved`);
  return name;
}

function groupsOf(source: ClaimSource | undefined, claims: JsonObject, run: Run): readonly string[] {
  if (source === undefined) return [];
  const groups =
    'expression' in source ? listOf('groups', run('groups', source.expression)) : claimedGroups(source, claims);
  if (groups.some((group) => group.startsWith(RESERVED))) {
    throw new TokenRejected(`a group starts with ${RESERVED}, which is reserved`);
  }
  return groups;
}

function claimedGroups({ claim, prefix }: { claim: string; prefix: string }, claims: JsonObject): readonly string[] {
  const value = own(claims, claim);
  const distributed = own(claims, '_claim_names');
  // OpenID Connect Core 5.6.2: a distributed claim is fetched from another endpoint. Ignoring it would drop groups
  // on which a validation rule may depend.
  if (
    value === undefined &&
    typeof distributed === 'object' &&
    distributed !== null &&
    Object.hasOwn(distributed, claim)
  ) {
    throw new TokenRejected(`the claim ${claim} is distributed, and only claims in the token itself are read`);
  }
  return value === undefined ? [] : listOf(`the claim ${claim}`, value).map((group) => `${prefix}${group}`);
}

/** As in Kubernetes, a string is a list of one, and empty strings are left out. */
function listOf(what: string, value: unknown): readonly string[] {
  if (value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > MAX_GROUPS) throw new TokenRejected(`${what} has more than ${MAX_GROUPS} entries`);
  return list.map((entry) => checkedText(what, entry)).filter((entry) => entry !== '');
}

function extraOf({ extra }: ClaimMappings, claims: JsonObject, run: Run): User['extra'] {
  const found: [string, readonly string[]][] = extra.map(({ key, expression }) => [
    key,
    listOf(`extra ${key}`, run(`extra ${key}`, expression)),
  ]);
  const jti = own(claims, 'jti');
  if (isRecordableJti(jti)) found.push([CREDENTIAL_ID, [credentialIdOf(jti)]]);
  return Object.fromEntries(found.filter(([, values]) => values.length > 0));
}

function checkRules(where: string, rules: readonly ValidationRule[], run: Run): void {
  for (const [at, { expression, message }] of rules.entries()) {
    const what = `${where}[${at}]`;
    if (run(what, expression) !== true)
      throw new TokenRejected(`${what}: ${message === '' ? expression.source : message}`);
  }
}

/** As a CEL value: an object is a map without a prototype, and a whole number is an int. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(celValue);
  return new Map(Object.entries(value).map(([key, member]) => [key, celValue(member)]));
}
