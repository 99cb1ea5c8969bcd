import { describe, expect, it } from 'vitest';
import type { JwtEntry } from './configuration-schema.ts';
import { MAX_GROUPS, mapClaims } from './map-claims.ts';
import { Problems, readClaimMappings } from './read-claim-mappings.ts';

type Mappings = NonNullable<JwtEntry['claimMappings']>;

function userOf(claims: Record<string, unknown>, mappings: Mappings = {}, rest: JwtEntry = {}) {
  const problems = new Problems();
  const config = readClaimMappings(
    { claimMappings: { username: { claim: 'sub', prefix: '' }, ...mappings }, ...rest },
    problems,
  );
  expect(problems.found).toEqual([]);
  return mapClaims(config, claims);
}

describe('who the claims speak of', () => {
  it('claims with prefixes', () => {
    const mappings = {
      username: { claim: 'sub', prefix: 'id:' },
      groups: { claim: 'groups', prefix: 'g:' },
      uid: { claim: 'oid' },
    };
    expect(userOf({ sub: 'jane', groups: ['a', '', 'b'], oid: '7', jti: 'j' }, mappings)).toEqual({
      name: 'id:jane',
      uid: '7',
      groups: ['g:a', 'g:b', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j'] },
    });
  });

  it.each(['', 'a b', 'a\n{"level":30}', 'a'.repeat(129), '\u202ea', 7])('an id that is not recorded: %j', (jti) => {
    const mappings = { username: { claim: 'sub', prefix: '' } };
    expect(userOf({ sub: 'jane', jti }, mappings).extra).toEqual({});
  });

  it('expressions', () => {
    const user = userOf(
      { sub: 'Jane', roles: 'a,b', tid: 't', none: '' },
      {
        username: { expression: 'claims.sub.lowerAscii() + "@example.com"' },
        groups: { expression: 'claims.roles.split(",")' },
        uid: { expression: 'claims.sub' },
        extra: [
          { key: 'example.com/tenant', valueExpression: 'claims.tid' },
          { key: 'example.com/none', valueExpression: 'claims.none' },
        ],
      },
    );
    expect(user).toEqual({
      name: 'jane@example.com',
      uid: 'Jane',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['t'] },
    });
  });

  it('an email counts unless it is said not to be verified', () => {
    const email = { username: { claim: 'email', prefix: '' } };
    expect(userOf({ email: 'a@b' }, email).name).toBe('a@b');
    expect(userOf({ email: 'a@b', email_verified: true }, email).name).toBe('a@b');
    expect(() => userOf({ email: 'a@b', email_verified: false }, email)).toThrow('not verified');
    expect(() => userOf({ email: 'a@b', email_verified: 'true' }, email)).toThrow('not verified');
  });
});

describe('tokens that are refused', () => {
  const groups = { groups: { claim: 'groups', prefix: '' } };

  it.each<[string, Record<string, unknown>, Mappings, RegExp]>([
    ['no name', {}, {}, /sub is missing/],
    ['an empty name', { sub: '' }, {}, /is empty/],
    ['a name that is no text', { sub: 7 }, {}, /not a text/],
    ['a reserved name', { sub: 'system:admin' }, {}, /starts with system:/],
    ['the name of an agent', { sub: 'agent:claude' }, {}, /starts with agent:/],
    [
      'a reserved name by its prefix',
      { sub: 'x' },
      { username: { claim: 'sub', prefix: 'system:' } },
      /starts with system:/,
    ],
    [
      'a reserved name by an expression',
      { sub: 'x' },
      { username: { expression: '"system:" + claims.sub' } },
      /system:/,
    ],
    ['a name in two lines', { sub: 'a\nb' }, {}, /control characters/],
    ['a name with half a surrogate pair', { sub: 'a\ud800' }, {}, /half of a surrogate pair/],
    ['a very long name', { sub: 'a'.repeat(1_025) }, {}, /longer than 1024/],
    ['a reserved group', { sub: 'x', groups: ['system:masters'] }, groups, /a group starts with system:/],
    ['too many groups', { sub: 'x', groups: Array(MAX_GROUPS + 1).fill('g') }, groups, /more than 1024/],
    ['a group that is no text', { sub: 'x', groups: [['a']] }, groups, /not a text/],
    ['groups elsewhere', { sub: 'x', _claim_names: { groups: 'src1' } }, groups, /distributed/],
    [
      'a claim named by JavaScript',
      { sub: 'x' },
      { username: { claim: 'constructor', prefix: '' } },
      /constructor is missing/,
    ],
    ['an expression without a value', { sub: 'x' }, { uid: { expression: 'claims.nope' } }, /uid: No such key/],
    [
      'an expression that gives an optional',
      { sub: 'x' },
      { uid: { expression: 'claims["sub"].size() > 0 ? claims.x : ""' } },
      /uid/,
    ],
  ])('A12: %s', (_, claims, mappings, message) => {
    expect(() => userOf(claims, mappings)).toThrow(message);
  });

  it('a required claim must have its value', () => {
    const rest = { claimValidationRules: [{ claim: 'hd', requiredValue: 'example.com' }] };
    expect(userOf({ sub: 'x', hd: 'example.com' }, {}, rest).name).toBe('x');
    for (const hd of [undefined, 'other', ['example.com']]) {
      expect(() => userOf({ sub: 'x', hd }, {}, rest)).toThrow('hd does not have the required value');
    }
  });

  it('a refusal names the rule and its message', () => {
    const rest = {
      claimValidationRules: [{ expression: 'claims.exp - claims.iat <= 60', message: 'lives too long' }],
      userValidationRules: [{ expression: 'user.groups.all(g, !g.startsWith("root"))' }],
    };
    expect(userOf({ sub: 'x', exp: 60, iat: 1, groups: ['a'] }, groups, rest).name).toBe('x');
    expect(() => userOf({ sub: 'x', exp: 99, iat: 1 }, {}, rest)).toThrow('claimValidationRules[0]: lives too long');
    expect(() => userOf({ sub: 'x', iat: 1 }, {}, rest)).toThrow('claimValidationRules[0]: No such key: exp');
    expect(() => userOf({ sub: 'x', exp: 1, iat: 1, groups: ['root'] }, groups, rest)).toThrow(
      /userValidationRules\[0\]/,
    );
  });

  it('claims with the names of prototypes change nothing', () => {
    const claims = JSON.parse('{"sub":"x","__proto__":{"groups":["admins"]},"constructor":{"prototype":{"y":1}}}');
    expect(userOf(claims, groups).groups).toEqual(['system:authenticated']);
    expect(userOf(claims, { uid: { expression: 'has(claims.groups) ? "bad" : "good"' } }).uid).toBe('good');
    expect(({} as Record<string, unknown>).groups).toBeUndefined();
  });
});
