import { describe, expect, it } from 'vitest';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../lib/cpu-time.fixture.ts';
import { compileClaimsExpression, ExpressionFailed } from './cel.ts';

const CEL_FAILURES = ['x.foo == "a"', 'int(x) == 1', 'x', 'claims.nothing == x', 'timestamp(claims.text) == x'];

const over = (claims: Record<string, unknown>) => ({ claims: new Map(Object.entries(claims)) });
const evaluate = (source: string, claims: Record<string, unknown>): unknown =>
  compileClaimsExpression(source).evaluate(over(claims));

describe('expressions', () => {
  it.each<[string, Record<string, unknown>, unknown]>([
    ['claims.sub', { sub: 'jane' }, 'jane'],
    ['claims.?email_verified.orValue(true) == true', {}, true],
    ['claims.?email_verified.orValue(true) == true', { email_verified: false }, false],
    ['has(claims.x) ? claims.x : "none"', {}, 'none'],
    ['claims.groups.exists(g, g == "admins") ? ["a"] : []', { groups: ['admins'] }, ['a']],
    ['claims.groups.filter(g, g.startsWith("k8s-")).map(g, g.replace("k8s-", ""))', { groups: ['k8s-a', 'b'] }, ['a']],
    ['claims.sub.matches("^[a-z]+$")', { sub: 'jane' }, true],
    ['claims.groups.all(g, g.matches("^a"))', { groups: ['a', 'b'] }, false],
    ['"a@b".split("@")[0]', {}, 'a'],
    ['claims.exp - claims.iat <= 3600', { exp: 10n, iat: 1n }, true],
  ])('%s', (source, claims, value) => {
    expect(evaluate(source, claims)).toEqual(value);
  });

  it('a name of JavaScript is not a claim', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'size', 'get']) {
      expect(evaluate(`has(claims.${name})`, {})).toBe(false);
      expect(() => evaluate(`claims.${name}`, {})).toThrow(ExpressionFailed);
    }
  });
});

describe('A12: hostile claims cannot block the event loop', () => {
  const many = Array.from({ length: 3_000 }, (_, n) => `group-${n}`);

  it.each([
    ['a loop in a loop', 'claims.groups.all(a, claims.groups.all(b, a != "" && b != ""))'],
    ['one whose failure is not asked for', 'claims.groups.all(a, claims.groups.all(b, a != "" && b != "")) || true'],
    ['a list of lists', 'claims.groups.map(a, claims.groups.map(b, a)).size() > 0'],
    ['a filter in a filter', 'claims.groups.filter(a, claims.groups.exists_one(b, a == b)).size() > 0'],
    ['many matches', 'claims.groups.all(g, g.matches("^(g+)+r"))'],
    ['a long text', 'claims.long.matches("^(a+)+$")'],
    ['a pattern from a claim', 'claims.groups.all(g, "x".matches(g) == false)'],
  ])('%s', (_, source) => {
    expect(() => evaluate(source, { groups: many, long: `${'a'.repeat(12_000)}!` })).toThrow(/too many steps/);
  });

  it.each(CEL_FAILURES)('A19: what fails for each entry: %s', (condition) => {
    const source = `claims.entries.exists(x, ${Array(20).fill(condition).join(' || ')})`;
    const claims = { entries: Array(9_000).fill(new Map()), text: 'a' };
    const time = cpuTimeOf(() => expect(() => evaluate(source, claims)).toThrow(/too many steps/));
    expect(time).toBeLessThan(TEST_LIMIT_MS);
  });

  it('the budget is that of one evaluation: the next one has all of it', () => {
    const expression = compileClaimsExpression('claims.groups.all(g, g != "x")');
    for (let time = 0; time < 5; time += 1) expect(expression.evaluate(over({ groups: many }))).toBe(true);
  });

  it('a pattern that takes others for ever is answered', () => {
    expect(evaluate('claims.sub.matches("^(a+)+$")', { sub: `${'a'.repeat(500)}!` })).toBe(false);
  });
});
