import type { User } from '../../api/caller.ts';
import type { JsonObject } from '../../tokens/jws.ts';
import { TokenRejected } from '../../tokens/token-rejected.ts';
import { withAuthenticated } from '../plain-caller.ts';
import { type Expression, ExpressionFailed } from './expressions.ts';
import type { MappingConfig, Rule, Source } from './read-mappings.ts';

/** More than any directory gives out by itself; a decision looks each of them up. */
export const MAX_GROUPS = 1_024;
const MAX_TEXT = 1_024;

/** Who the claims of a verified token speak of. Throws TokenRejected. */
export function claimedUser(config: MappingConfig, claims: JsonObject): User {
  const values = celValue(claims);
  const run = (what: string, { run: evaluate }: Expression): unknown => {
    try {
      return evaluate({ claims: values });
    } catch (error) {
      if (error instanceof ExpressionFailed) throw new TokenRejected(`${what}: ${error.message}`);
      throw error;
    }
  };
  const user: User = {
    name: nameOf(config.username, claims, run),
    uid: config.uid === undefined ? '' : textOf('uid', config.uid, claims, run),
    groups: groupsOf(config.groups, claims, run),
    extra: extraOf(config, claims, run),
  };
  for (const { claim, value } of config.requiredClaims) {
    if (own(claims, claim) !== value) throw new TokenRejected(`the claim ${claim} does not have the required value`);
  }
  checkRules('claimValidationRules', config.claimRules, { claims: values });
  const { name: username, uid, groups, extra } = user;
  const facts = { user: { username, uid, groups, extra: new Map(Object.entries(extra)) } };
  checkRules('userValidationRules', config.userRules, facts);
  return { ...user, groups: withAuthenticated(user.groups) };
}

type Run = (what: string, expression: Expression) => unknown;

/** Claims are whatever somebody signed: a name such as `constructor` is a claim only if it is in the token. */
const own = (claims: JsonObject, name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);

function textOf(what: string, source: Source, claims: JsonObject, run: Run): string {
  if ('expression' in source) return checkedText(what, run(what, source.expression));
  return `${source.prefix}${checkedText(`the claim ${source.claim}`, own(claims, source.claim))}`;
}

function checkedText(what: string, value: unknown): string {
  if (typeof value !== 'string') throw new TokenRejected(`${what} is missing or not a text`);
  if (value.length > MAX_TEXT) throw new TokenRejected(`${what} is longer than ${MAX_TEXT} characters`);
  // A line break in a name would forge a line wherever the name is printed.
  if (/\p{Cc}/u.test(value)) throw new TokenRejected(`${what} contains control characters`);
  return value;
}

/**
 * Names that start with `system:` are given by this service itself, to accounts and to those it trusts. A provider
 * that could hand them out would be above all rules: `system:masters` is.
 */
const RESERVED = 'system:';

function nameOf(source: Source, claims: JsonObject, run: Run): string {
  if ('claim' in source && source.claim === 'email') {
    const verified = own(claims, 'email_verified');
    if (verified !== undefined && verified !== true) throw new TokenRejected('the email is not verified');
  }
  const name = textOf('the user name', source, claims, run);
  if (name === '') throw new TokenRejected('the user name is empty');
  if (name.startsWith(RESERVED)) throw new TokenRejected(`the user name starts with ${RESERVED}, which is reserved`);
  return name;
}

function groupsOf(source: Source | undefined, claims: JsonObject, run: Run): readonly string[] {
  if (source === undefined) return [];
  const groups = 'expression' in source ? listOf('groups', run('groups', source.expression)) : claimed(source, claims);
  if (groups.some((group) => group.startsWith(RESERVED))) {
    throw new TokenRejected(`a group starts with ${RESERVED}, which is reserved`);
  }
  return groups;
}

function claimed({ claim, prefix }: { claim: string; prefix: string }, claims: JsonObject): readonly string[] {
  const value = own(claims, claim);
  const elsewhere = own(claims, '_claim_names');
  // OpenID Connect Core 5.6.2: the claim is to be fetched from another place. Without it, groups would be missing
  // that a rule may count on.
  if (value === undefined && typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim)) {
    throw new TokenRejected(`the claim ${claim} is distributed, and only what is in the token itself is read`);
  }
  return value === undefined ? [] : listOf(`the claim ${claim}`, value).map((group) => `${prefix}${group}`);
}

/** A text stands for a list of one; what is empty is left out, as in Kubernetes. */
function listOf(what: string, value: unknown): readonly string[] {
  if (value === null) return [];
  const list: unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > MAX_GROUPS) throw new TokenRejected(`${what} has more than ${MAX_GROUPS} entries`);
  return list.map((entry) => checkedText(what, entry)).filter((entry) => entry !== '');
}

/** K-31: the credential's id is for the audit trail. */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

function extraOf({ extra }: MappingConfig, claims: JsonObject, run: Run): User['extra'] {
  const found: [string, readonly string[]][] = extra.map(({ key, expression }) => [
    key,
    listOf(`extra ${key}`, run(`extra ${key}`, expression)),
  ]);
  const jti = own(claims, 'jti');
  if (typeof jti === 'string' && jti !== '' && jti.length <= MAX_TEXT) found.push([CREDENTIAL_ID, [`JTI=${jti}`]]);
  return Object.fromEntries(found.filter(([, values]) => values.length > 0));
}

function checkRules(where: string, rules: readonly Rule[], facts: Readonly<Record<string, unknown>>): void {
  for (const [at, { expression, message }] of rules.entries()) {
    let value: unknown;
    try {
      value = expression.run(facts);
    } catch (error) {
      if (!(error instanceof ExpressionFailed)) throw error;
      throw new TokenRejected(`${where}[${at}]: ${error.message}`);
    }
    if (value !== true) throw new TokenRejected(`${where}[${at}]: ${message === '' ? expression.source : message}`);
  }
}

/** As CEL sees it: objects are maps without a prototype, and a whole number is an int. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(celValue);
  return new Map(Object.entries(value).map(([key, member]) => [key, celValue(member)]));
}
