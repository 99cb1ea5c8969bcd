import { isDns1123Subdomain } from '../../api/names.ts';
import { compileClaimsExpression, compileUserExpression, type Expression, ExpressionError } from './cel.ts';
import type { ClaimOrExpression, JwtEntry, PrefixedClaimOrExpression } from './configuration-schema.ts';

/** A claim with its prefix, or an expression: where a field of the user comes from. */
export type ClaimSource = { readonly claim: string; readonly prefix: string } | { readonly expression: Expression };

/** A rule of claimValidationRules or userValidationRules. */
export interface ValidationRule {
  readonly expression: Expression;
  readonly message: string;
}

/** claimMappings, claimValidationRules and userValidationRules, compiled. */
export interface ClaimMappings {
  readonly username: ClaimSource;
  readonly groups: ClaimSource | undefined;
  readonly uid: ClaimSource | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
  readonly requiredClaims: readonly { readonly claim: string; readonly value: string }[];
  readonly claimValidationRules: readonly ValidationRule[];
  readonly userValidationRules: readonly ValidationRule[];
}

export function readClaimMappings(entry: JwtEntry, problems: Problems): ClaimMappings {
  const { username = {}, groups = {}, uid = {}, extra = [] } = entry.claimMappings ?? {};
  const mappings = problems.at('claimMappings');
  const config: ClaimMappings = {
    username: readSource(username, mappings.at('username'), TEXT) ?? { claim: '', prefix: '' },
    groups: isGiven(groups) ? readSource(groups, mappings.at('groups'), TEXTS) : undefined,
    // A uid has no prefix field.
    uid: isGiven(uid) ? readSource({ prefix: '', ...uid }, mappings.at('uid'), TEXT) : undefined,
    extra: readExtra(extra, mappings),
    ...readClaimRules(entry.claimValidationRules ?? [], problems.at('claimValidationRules')),
    userValidationRules: readUserRules(entry.userValidationRules ?? [], problems.at('userValidationRules')),
  };
  checkEmail(config, mappings);
  return config;
}

const isGiven = ({ claim = '', expression = '' }: ClaimOrExpression): boolean => claim !== '' || expression !== '';

const TEXT = ['string', 'dyn'];
const TEXTS = [...TEXT, 'null', 'list', 'list<string>', 'list<dyn>'];

function readSource(
  { claim = '', prefix, expression = '' }: PrefixedClaimOrExpression,
  problems: Problems,
  types: readonly string[],
): ClaimSource | undefined {
  if (claim !== '' && expression !== '') problems.add('', 'claim and expression must not both be set');
  else if (expression !== '') {
    if (prefix !== undefined && prefix !== '') problems.add('prefix', 'must not be set together with expression');
    return compiled(expression, problems, 'expression', { compile: compileClaimsExpression, types });
  } else if (claim === '') problems.add('', 'required: a claim or an expression');
  else if (prefix === undefined) {
    problems.add('prefix', 'required with a claim: a text to put before it, or "" for none');
  } else return { claim, prefix };
  return undefined;
}

interface ExpressionKind {
  readonly compile: (source: string) => Expression;
  readonly types: readonly string[];
}

function compiled(
  source: string,
  problems: Problems,
  field: string,
  { compile, types }: ExpressionKind,
): { readonly expression: Expression } | undefined {
  try {
    const expression = compile(source);
    if (types.includes(expression.type)) return { expression };
    problems.add(
      field,
      `gives a ${expression.type}, and must give a ${types[0]}${types === TEXTS ? ' or a list of them' : ''}`,
    );
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    problems.add(field, `is not an expression that can be used: ${error.message}`);
  }
  return undefined;
}

const BOOL = ['bool'];

function readClaimRules(
  rules: NonNullable<JwtEntry['claimValidationRules']>,
  problems: Problems,
): Pick<ClaimMappings, 'requiredClaims' | 'claimValidationRules'> {
  const requiredClaims: { claim: string; value: string }[] = [];
  const claimValidationRules: ValidationRule[] = [];
  for (const [at, { claim = '', requiredValue = '', expression = '', message = '' }] of rules.entries()) {
    const here = problems.at(`[${at}]`);
    if ((claim === '') === (expression === '')) here.add('', 'needs either a claim or an expression');
    else if (claim !== '') {
      if (message !== '') here.add('message', 'must not be set together with claim');
      if (requiredClaims.some((rule) => rule.claim === claim)) here.add('claim', 'duplicate value');
      requiredClaims.push({ claim, value: requiredValue });
    } else {
      if (requiredValue !== '') here.add('requiredValue', 'must not be set together with expression');
      addRule(claimValidationRules, { expression, message }, here, compileClaimsExpression);
    }
  }
  return { requiredClaims, claimValidationRules };
}

function readUserRules(
  rules: NonNullable<JwtEntry['userValidationRules']>,
  problems: Problems,
): readonly ValidationRule[] {
  const found: ValidationRule[] = [];
  for (const [at, { expression = '', message = '' }] of rules.entries()) {
    const here = problems.at(`[${at}]`);
    if (expression === '') here.add('expression', 'required');
    else addRule(found, { expression, message }, here, compileUserExpression);
  }
  return found;
}

function addRule(
  rules: ValidationRule[],
  { expression, message }: { expression: string; message: string },
  problems: Problems,
  compile: ExpressionKind['compile'],
): void {
  if (rules.some((rule) => rule.expression.source === expression)) problems.add('expression', 'duplicate value');
  const found = compiled(expression, problems, 'expression', { compile, types: BOOL });
  if (found !== undefined) rules.push({ ...found, message });
}

function readExtra(
  extra: NonNullable<NonNullable<JwtEntry['claimMappings']>['extra']>,
  problems: Problems,
): ClaimMappings['extra'] {
  const found: { key: string; expression: Expression }[] = [];
  for (const [at, { key = '', valueExpression = '' }] of extra.entries()) {
    const here = problems.at(`extra[${at}]`);
    checkKey(key, here);
    if (found.some((other) => other.key === key)) here.add('key', 'duplicate value');
    if (valueExpression === '') here.add('valueExpression', 'required');
    else {
      const value = compiled(valueExpression, here, 'valueExpression', {
        compile: compileClaimsExpression,
        types: TEXTS,
      });
      if (value !== undefined) found.push({ key, ...value });
    }
  }
  return found;
}

/** `example.com/team`, and not below a domain of Kubernetes, whose keys have a fixed meaning. */
function checkKey(key: string, problems: Problems): void {
  const slash = key.indexOf('/');
  const domain = key.slice(0, slash);
  if (slash <= 0 || isDns1123Subdomain(domain).length > 0 || !/^\/[a-z0-9\-._~/%]{1,200}$/.test(key.slice(slash))) {
    problems.add('key', 'must be a domain and a path in lower case, such as example.com/team');
  } else if (/(?:^|\.)(?:kubernetes|k8s)\.io$/.test(domain)) {
    problems.add('key', 'k8s.io, kubernetes.io and the domains below them are reserved');
  }
}

/** As kube-apiserver does: anyone can claim an address that was not verified, so an expression must check that. */
function checkEmail({ username, extra, claimValidationRules }: ClaimMappings, problems: Problems): void {
  if (!('expression' in username) || !username.expression.mentions('email')) return;
  const isChecked = [username, ...extra, ...claimValidationRules].some(({ expression }) =>
    expression.mentions('email_verified'),
  );
  if (isChecked) return;
  problems.add(
    'username.expression',
    'uses claims.email, so claims.email_verified must be used in it, in extra[*].valueExpression or in ' +
      'claimValidationRules[*].expression',
  );
}

const MAX_PROBLEMS = 100;

/** Collects every problem of a configuration file, so that one start reports all of them. */
export class Problems {
  readonly found: string[];
  readonly #path: string;

  constructor(path = '', found: string[] = []) {
    this.#path = path;
    this.found = found;
  }

  /** The same collection, with paths below a field. */
  at(field: string): Problems {
    return new Problems(this.#join(field), this.found);
  }

  add(field: string, text: string): void {
    if (this.found.length < MAX_PROBLEMS) this.found.push(`${this.#join(field)}: ${text}`);
  }

  #join(field: string): string {
    if (this.#path === '' || field === '') return `${this.#path}${field}`;
    return field.startsWith('[') ? `${this.#path}${field}` : `${this.#path}.${field}`;
  }
}
