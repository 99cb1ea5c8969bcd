import { describe, expect, it } from 'vitest';
import { createAuthority } from '../../clusters/upstream/certificates.fixture.ts';
import {
  AuthenticationConfigError,
  type JwtAuthenticatorConfig,
  readAuthenticationConfig,
} from './read-configuration.ts';

const HEAD = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n';
const isOurs = (url: string): boolean => url.startsWith('https://pass.example.com/orchestrator/');

const read = (text: string | Buffer): readonly JwtAuthenticatorConfig[] =>
  readAuthenticationConfig(typeof text === 'string' ? Buffer.from(text) : text, { isOurs });

/** A valid file with one issuer, and these changes. */
const entry = (changes: Record<string, unknown> = {}, issuer: Record<string, unknown> = {}): unknown => ({
  issuer: { url: 'https://id.example.com', audiences: ['clusterpass'], ...issuer },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
  ...changes,
});
const file = (...jwt: unknown[]): string => `${HEAD}jwt: ${JSON.stringify(jwt)}\n`;

function problemsOf(text: string | Buffer): string {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(AuthenticationConfigError);
    return (error as Error).message;
  }
  return '';
}

describe('a valid file', () => {
  it.each(['v1', 'v1beta1'])('%s, with everything in it', (version) => {
    const { cert } = createAuthority('provider');
    const [provider, more] = read(`apiVersion: apiserver.config.k8s.io/${version}
kind: AuthenticationConfiguration
anonymous: { enabled: false }
jwt:
- issuer:
    url: https://id.example.com/realms/one
    discoveryURL: https://inside.example.com/discovery
    certificateAuthority: |
      ${cert.replaceAll('\n', '\n      ')}
    audiences: [clusterpass, console]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  - expression: claims.?email_verified.orValue(true) == true
    message: the address must be verified
  claimMappings:
    username:
      expression: claims.email
    groups:
      claim: groups
      prefix: "id:"
    uid:
      claim: sub
    extra:
    - key: example.com/tenant
      valueExpression: claims.tid
  userValidationRules:
  - expression: "!user.username.startsWith('root')"
    message: root is reserved
`);
    expect(more).toBeUndefined();
    expect(provider?.issuer).toMatchObject({
      url: 'https://id.example.com/realms/one',
      discoveryUrl: 'https://inside.example.com/discovery',
      audiences: ['clusterpass', 'console'],
    });
    expect(provider?.mappings).toMatchObject({
      groups: { claim: 'groups', prefix: 'id:' },
      uid: { claim: 'sub', prefix: '' },
      extra: [{ key: 'example.com/tenant' }],
      requiredClaims: [{ claim: 'hd', value: 'example.com' }],
      claimValidationRules: [{ message: 'the address must be verified' }],
      userValidationRules: [{ message: 'root is reserved' }],
    });
  });

  it('an empty list is valid, and so is JSON', () => {
    expect(read(HEAD)).toEqual([]);
    expect(read(`{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AuthenticationConfiguration","jwt":[]}`)).toEqual(
      [],
    );
  });

  it('the discovery document is below the issuer, with one slash between', () => {
    const [provider] = read(file(entry({}, { url: 'https://id.example.com/a/' })));
    expect(provider?.issuer.discoveryUrl).toBe('https://id.example.com/a/.well-known/openid-configuration');
  });

  it('the fingerprint tells a change from a rearrangement', () => {
    const before = read(file(entry()))[0]?.fingerprint;
    const turned = { ...(entry() as object) };
    expect(read(file(Object.fromEntries(Object.entries(turned).reverse())))[0]?.fingerprint).toBe(before);
    expect(read(file(entry({}, { audiences: ['other'] })))[0]?.fingerprint).not.toBe(before);
  });
});

describe('another file is refused, with the line and what would be right, and without its content', () => {
  const expected =
    'expected YAML with apiVersion: apiserver.config.k8s.io/v1 and kind: AuthenticationConfiguration, as for kube-apiserver';
  const another = `apiVersion or kind is missing, or another one: ${expected}`;
  const unreadable = (where: string) => `${where} is not plain YAML without anchors, aliases and tags: ${expected}`;

  it.each<[string, string | Buffer, string]>([
    ['a certificate', createAuthority('any').cert, another],
    ['a token', 'hunter2\n', another],
    ['a list', '# names\n- hunter2\n', another],
    ['no YAML', `${HEAD}jwt: [\n  - hunter2: |hunter2\n`, unreadable('line 4')],
    ['reserved characters', `${HEAD}jwt: @hunter2\n`, unreadable('line 3')],
    ['anchors', `${HEAD}jwt: &hunter2 []\n`, unreadable('line 3')],
    ['two documents', `${HEAD}---\nhunter2: {}\n`, unreadable('the file')],
    ['no text', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xd0]), unreadable('the file')],
    ['half of a surrogate pair', 'hunter2: "\\ud800"\n', unreadable('the file')],
    ['too many lines, as of all authorities', 'hunter2\n'.repeat(4_002), unreadable('the file')],
    ['too many levels', `hunter2: ${'['.repeat(100)}`, unreadable('the file')],
    ['another kind', 'apiVersion: v1\nkind: Hunter2\n', another],
    ['another version', HEAD.replace('/v1', '/hunter2'), another],
    ['no kind, though its fields are known', 'jwt: []\n', another],
    ['a number as kind', `${HEAD.replace('Auth', '7 # hunter2')}`, another],
  ])('%s', (_, content, message) => {
    expect(problemsOf(content)).toBe(message);
  });

  it('an empty one has no issuers', () => {
    expect(read('')).toEqual([]);
  });
});

describe('an invalid file is refused, with the field and what would be right', () => {
  const username = (mapping: unknown) => entry({ claimMappings: { username: mapping } });
  const rules = (...claimValidationRules: unknown[]) => entry({ claimValidationRules });
  const extra = (...list: unknown[]) =>
    entry({ claimMappings: { username: { claim: 'sub', prefix: '' }, extra: list } });

  it.each<[string, string, RegExp]>([
    ['an unknown field', file(entry({ claimMapping: {} })), /unknown field "jwt\[0\]\.claimMapping"/],
    [
      'an unknown field of the issuer',
      file(entry({}, { clientID: 'x' })),
      /unknown field "jwt\[0\]\.issuer\.clientID"/,
    ],
    [
      'a text for a list',
      file(entry({}, { audiences: 'clusterpass' })),
      /cannot unmarshal string into Go struct field Issuer\.jwt\.issuer\.audiences of type \[\]string$/,
    ],
    [
      'a number for a text',
      file(entry({}, { audiences: ['clusterpass', 7] })),
      /cannot unmarshal number into Go struct field Issuer\.jwt\.issuer\.audiences of type string$/,
    ],
    [
      'a text for a mapping',
      `${HEAD}jwt: [{issuer: https://id, claimMappings: null}]`,
      /cannot unmarshal string into Go struct field JWTAuthenticator\.jwt\.issuer of type v1\.Issuer$/,
    ],
    [
      'anonymous access',
      `${HEAD}anonymous: {enabled: true}`,
      /^anonymous\.enabled: anonymous requests are not supported/,
    ],
    [
      'too many',
      file(...Array.from({ length: 65 }, (_, n) => entry({}, { url: `https://id/${n}` }))),
      /^jwt: must have at most 64/,
    ],
    [
      'no issuer',
      file({ claimMappings: { username: { claim: 'sub', prefix: '' } } }),
      /jwt\[0\]\.issuer\.url: required/,
    ],
    ['plain HTTP', file(entry({}, { url: 'http://id.example.com' })), /^jwt\[0\]\.issuer\.url: must be an https URL$/],
    ['no URL', file(entry({}, { url: 'id' })), /issuer\.url: must be a URL/],
    ['credentials in the URL', file(entry({}, { url: 'https://u:p@id' })), /issuer\.url: must not contain a user/],
    ['a query', file(entry({}, { url: 'https://id?x' })), /issuer\.url: must not have a query/],
    [
      'the same issuer twice',
      file(entry(), entry()),
      /jwt\[1\]\.issuer\.url: duplicate value: "https:\/\/id\.example\.com"/,
    ],
    [
      'our own issuer',
      file(entry({}, { url: 'https://pass.example.com/orchestrator/prod' })),
      /issuer\.url: is an issuer of this server/,
    ],
    [
      'the same discovery document twice',
      file(entry({}, { discoveryURL: 'https://d/x' }), entry({}, { url: 'https://b', discoveryURL: 'https://d/x' })),
      /jwt\[1\]\.issuer\.discoveryURL: duplicate value: /,
    ],
    [
      'discovery at the issuer',
      file(entry({}, { discoveryURL: 'https://id.example.com/' })),
      /discoveryURL: must differ/,
    ],
    [
      'a CA that is a file name',
      file(entry({}, { certificateAuthority: '/etc/ca.crt' })),
      /certificateAuthority: must be certificates in PEM/,
    ],
    [
      'an egress selector',
      file(entry({}, { egressSelectorType: 'cluster' })),
      /egressSelectorType: egress selectors are not supported/,
    ],
    ['no audience', file(entry({}, { audiences: [] })), /audiences: required/],
    [
      'two audiences without a policy',
      file(entry({}, { audiences: ['a', 'b'] })),
      /audienceMatchPolicy: must be MatchAny/,
    ],
    ['no user name', file(entry({ claimMappings: {} })), /claimMappings\.username: required: a claim or an expression/],
    ['no prefix', file(username({ claim: 'sub' })), /username\.prefix: required with a claim.*or "" for none/],
    [
      'both',
      file(username({ claim: 'sub', expression: 'claims.sub' })),
      /username: claim and expression must not both/,
    ],
    [
      'a prefix with an expression',
      file(username({ prefix: 'x', expression: 'claims.sub' })),
      /username\.prefix: must not/,
    ],
    [
      'an expression that is none',
      file(username({ expression: 'claims.' })),
      /username\.expression: is not an expression/,
    ],
    ['an unknown function', file(username({ expression: 'claims.sub.shout()' })), /username\.expression: .*shout/],
    [
      'an unknown variable',
      file(username({ expression: 'user.username' })),
      /username\.expression: .*Unknown variable: user/,
    ],
    [
      'a number for a name',
      file(username({ expression: '1 + 1' })),
      /username\.expression: gives a int, and must give a string/,
    ],
    [
      'an address that is not verified',
      file(username({ expression: 'claims.email' })),
      /username\.expression: uses claims\.email, so/,
    ],
    [
      'a rule that is not true or false',
      file(rules({ expression: 'claims.sub' })),
      /claimValidationRules\[0\]\.expression: gives a dyn, and must give a bool/,
    ],
    [
      'a rule of nothing',
      file(rules({ message: 'x' })),
      /claimValidationRules\[0\]: needs either a claim or an expression/,
    ],
    ['a message with a claim', file(rules({ claim: 'a', message: 'x' })), /claimValidationRules\[0\]\.message/],
    ['a value with an expression', file(rules({ expression: 'true', requiredValue: 'x' })), /requiredValue: must not/],
    [
      'a rule twice',
      file(rules({ expression: 'true' }, { expression: 'true' })),
      /claimValidationRules\[1\]\.expression: duplicate value/,
    ],
    [
      'an unknown field of the user',
      file(entry({ userValidationRules: [{ expression: 'user.email == "x"' }] })),
      /userValidationRules\[0\]\.expression/,
    ],
    [
      'an extra key without a domain',
      file(extra({ key: 'team', valueExpression: 'claims.t' })),
      /extra\[0\]\.key: must be a domain/,
    ],
    [
      'an extra key of Kubernetes',
      file(extra({ key: 'authentication.kubernetes.io/pod-name', valueExpression: 'claims.t' })),
      /extra\[0\]\.key: .*reserved/,
    ],
    [
      'an extra key twice',
      file(extra(...[1, 2].map(() => ({ key: 'a.b/c', valueExpression: 'claims.t' })))),
      /extra\[1\]\.key: duplicate value/,
    ],
  ])('%s', (_, text, message) => {
    expect(problemsOf(text)).toMatch(message);
  });

  it('everything that is wrong is said at once', () => {
    const said = problemsOf(file(entry({ claimMappings: {} }, { url: 'http://x', audiences: [] })));
    expect(said.split('; ')).toHaveLength(3);
  });
});

it.each([
  ['a token', 'hunter2-hunter2'],
  ['no YAML', '{hunter2: ['],
  ['a group without a version', 'token: hunter2\napiVersion: example.com/'],
  ['a version of another form', 'token: hunter2\napiVersion: a/b/c'],
])('the message does not quote a file that is another one: %s', (_, text) => {
  const problems = problemsOf(text);
  expect(problems).not.toBe('');
  for (const form of ['hunter2', Buffer.from('hunter2').toString('hex')]) expect(problems).not.toContain(form);
});
