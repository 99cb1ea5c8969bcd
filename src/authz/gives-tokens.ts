import { ANY, type Rule } from './policy/rules.ts';

const TOKENS: ReadonlySet<string> = new Set([
  ANY,
  'serviceaccounts/token',
  '*/token',
  'clusters/userpass',
  '*/userpass',
]);

/** Whether these rules allow tokens of some account, or passes for people. */
export const givesTokens = (rules: readonly Rule[] | undefined): boolean =>
  rules?.some(
    ({ verbs, resources }) =>
      (verbs.includes(ANY) || verbs.includes('create')) && resources.some((resource) => TOKENS.has(resource)),
  ) === true;
