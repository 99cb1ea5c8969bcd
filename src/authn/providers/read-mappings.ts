import { isDns1123Subdomain } from '../../api/names.ts';
import type { ClaimOrExpression, Jwt, PrefixedClaimOrExpression } from './config-schema.ts';
import { compileOverClaims, compileOverUser, type Expression, ExpressionError } from './expressions.ts';
import type { Problems } from './problems.ts';

/** Where a value comes from. */
export type Source = { readonly claim: string; readonly prefix: string } | { readonly expression: Expression };

export interface Rule {
  readonly expression: Expression;
  readonly message: string;
}

/** Who the bearer of a token is, and which tokens count. */
export interface MappingConfig {
  readonly username: Source;
  readonly groups: Source | undefined;
  readonly uid: Source | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
  readonly requiredClaims: readonly { readonly claim: string; readonly value: string }[];
  readonly claimRules: readonly Rule[];
  readonly userRules: readonly Rule[];
}

export function readMappings(entry: Jwt, problems: Problems): MappingConfig {
  const { username = {}, groups = {}, uid = {}, extra = [] } = entry.claimMappings ?? {};
  const mappings = problems.at('claimMappings');
  const config: MappingConfig = {
    username: readSource(username, mappings.at('username'), TEXT) ?? { claim: '', prefix: '' },
    groups: isGiven(groups) ? readSource(groups, mappings.at('groups'), TEXTS) : undefined,
    // A uid has no prefix, so none has to be given.
    uid: isGiven(uid) ? readSource({ prefix: '', ...uid }, mappings.at('uid'), TEXT) : undefined,
    extra: readExtra(extra, mappings),
    ...readClaimRules(entry.claimValidationRules ?? [], problems.at('claimValidationRules')),
    userRules: readUserRules(entry.userValidationRules ?? [], problems.at('userValidationRules')),
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
): Source | undefined {
  if (claim !== '' && expression !== '') problems.add('', 'claim and expression must not both be set');
  else if (expression !== '') {
    if (prefix !== undefined && prefix !== '') problems.add('prefix', 'must not be set together with expression');
    return compiled(expression, problems, 'expression', { over: compileOverClaims, types });
  } else if (claim === '') problems.add('', 'required: a claim or an expression');
  else if (prefix === undefined) {
    problems.add('prefix', 'required with a claim: a text to put before it, or "" for none');
  } else return { claim, prefix };
  return undefined;
}

interface Kind {
  readonly over: (source: string) => Expression;
  readonly types: readonly string[];
}

function compiled(
  source: string,
  problems: Problems,
  field: string,
  { over, types }: Kind,
): { readonly expression: Expression } | undefined {
  try {
    const expression = over(source);
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
  rules: NonNullable<Jwt['claimValidationRules']>,
  problems: Problems,
): Pick<MappingConfig, 'requiredClaims' | 'claimRules'> {
  const requiredClaims: { claim: string; value: string }[] = [];
  const claimRules: Rule[] = [];
  for (const [at, { claim = '', requiredValue = '', expression = '', message = '' }] of rules.entries()) {
    const here = problems.at(`[${at}]`);
    if ((claim === '') === (expression === '')) here.add('', 'needs either a claim or an expression');
    else if (claim !== '') {
      if (message !== '') here.add('message', 'must not be set together with claim');
      if (requiredClaims.some((rule) => rule.claim === claim)) here.add('claim', 'occurs before');
      requiredClaims.push({ claim, value: requiredValue });
    } else {
      if (requiredValue !== '') here.add('requiredValue', 'must not be set together with expression');
      addRule(claimRules, { expression, message }, here, compileOverClaims);
    }
  }
  return { requiredClaims, claimRules };
}

function readUserRules(rules: NonNullable<Jwt['userValidationRules']>, problems: Problems): readonly Rule[] {
  const found: Rule[] = [];
  for (const [at, { expression = '', message = '' }] of rules.entries()) {
    const here = problems.at(`[${at}]`);
    if (expression === '') here.add('expression', 'required');
    else addRule(found, { expression, message }, here, compileOverUser);
  }
  return found;
}

function addRule(
  rules: Rule[],
  { expression, message }: { expression: string; message: string },
  problems: Problems,
  over: Kind['over'],
): void {
  if (rules.some((rule) => rule.expression.source === expression)) problems.add('expression', 'occurs before');
  const found = compiled(expression, problems, 'expression', { over, types: BOOL });
  if (found !== undefined) rules.push({ ...found, message });
}

function readExtra(
  extra: NonNullable<NonNullable<Jwt['claimMappings']>['extra']>,
  problems: Problems,
): MappingConfig['extra'] {
  const found: { key: string; expression: Expression }[] = [];
  for (const [at, { key = '', valueExpression = '' }] of extra.entries()) {
    const here = problems.at(`extra[${at}]`);
    checkKey(key, here);
    if (found.some((other) => other.key === key)) here.add('key', 'occurs before');
    if (valueExpression === '') here.add('valueExpression', 'required');
    else {
      const value = compiled(valueExpression, here, 'valueExpression', { over: compileOverClaims, types: TEXTS });
      if (value !== undefined) found.push({ key, ...value });
    }
  }
  return found;
}

/** `example.com/team`, and not one of Kubernetes' own, which say what only it can know. */
function checkKey(key: string, problems: Problems): void {
  const slash = key.indexOf('/');
  const domain = key.slice(0, slash);
  if (slash <= 0 || isDns1123Subdomain(domain).length > 0 || !/^\/[a-z0-9\-._~/%]{1,200}$/.test(key.slice(slash))) {
    problems.add('key', 'must be a domain and a path in lower case, such as example.com/team');
  } else if (/(?:^|\.)(?:kubernetes|k8s)\.io$/.test(domain)) {
    problems.add('key', 'k8s.io, kubernetes.io and what is below them are reserved');
  }
}

/** An address that was not verified is whatever somebody typed: kube-apiserver makes one look at that, and so do we. */
function checkEmail({ username, extra, claimRules }: MappingConfig, problems: Problems): void {
  if (!('expression' in username) || !username.expression.mentions('email')) return;
  const looks = [username, ...extra, ...claimRules].some(({ expression }) => expression.mentions('email_verified'));
  if (looks) return;
  problems.add(
    'username.expression',
    'uses claims.email, so claims.email_verified must be used in it, in extra[*].valueExpression or in ' +
      'claimValidationRules[*].expression',
  );
}
