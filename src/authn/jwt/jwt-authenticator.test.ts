import { createHmac, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { CompactSign } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../observability/secret.ts';
import { createIssuerKeys } from './issuer-keys.ts';
import { claimedIssuer, createJwtAuthenticator, type JwtAuthenticator } from './jwt-authenticator.ts';
import { readAuthenticationConfig } from './read-configuration.ts';

const ISSUER = 'https://id.example.com';
const MCP = 'https://clusterpass.example.com/mcp';
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const published = [
  { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec' },
  { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256' },
];
const START = 1_700_000_000_000;

let now: number;
let keySet: unknown[];
let isDown: boolean;
let fetches: number;
let authenticator: JwtAuthenticator;
let refresh: () => Promise<void>;

beforeEach(() => {
  now = START;
  keySet = published;
  isDown = false;
  fetches = 0;
  const [config] = readAuthenticationConfig(
    Buffer.from(
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: { url: ISSUER, audiences: ['clusterpass', 'other', MCP], audienceMatchPolicy: 'MatchAny' },
            claimMappings: { username: { claim: 'sub', prefix: '' } },
          },
        ],
      }),
    ),
    { isOurs: () => false },
  );
  if (config === undefined) throw new Error('no entry');
  const keys = createIssuerKeys({
    issuerUrl: ISSUER,
    discoveryUrl: `${ISSUER}/d`,
    fetchDocument: async (url) => {
      fetches += url.endsWith('/k') ? 1 : 0;
      if (isDown) throw new Error('connect ECONNREFUSED');
      return url.endsWith('/d') ? { issuer: ISSUER, jwks_uri: `${ISSUER}/k` } : { keys: keySet };
    },
    now: () => now,
    report: () => {},
  });
  refresh = keys.refresh;
  authenticator = createJwtAuthenticator({ config, keys, mcpAudience: MCP, now: () => now });
});

const claims = (changes: object = {}): object => ({
  iss: ISSUER,
  aud: 'clusterpass',
  sub: 'jane',
  iat: START / 1000,
  exp: START / 1000 + 60,
  ...changes,
});

function sign(
  payload: object,
  { key = ec.privateKey, ...header }: { key?: KeyObject; alg?: string; [member: string]: unknown } = {},
): Promise<string> {
  const bytes = Buffer.from(JSON.stringify(payload));
  return new CompactSign(bytes).setProtectedHeader({ alg: 'ES256', kid: 'ec', ...header }).sign(key);
}

/** Jose signs no header with `b64: false`. The signed text is the same for a payload that is base64url. */
function signedText(header: object): string {
  const text = `${encode({ alg: 'ES256', kid: 'ec', ...header })}.${encode(claims())}`;
  const signature = signBytes('sha256', Buffer.from(text), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

const authenticate = async (token: Secret) => authenticator.authenticate(token);

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('tokens of the issuer', () => {
  it('authenticate their user, until they expire', async () => {
    const caller = await authenticate(new Secret(await sign(claims())));
    expect(caller.as('any')).toEqual({ name: 'jane', uid: '', groups: ['system:authenticated'], extra: {} });
    expect(caller.expiresAt).toBe(START + 60_000);
    expect(caller.isLive()).toBe(true);
    now = START + 60_001;
    expect(caller.isLive()).toBe(false);
  });

  it('may have the audience in a list, another of its keys, or no kid', async () => {
    const accepted = [
      await sign(claims({ aud: ['x', 'other'] })),
      await sign(claims(), { key: rsa.privateKey, alg: 'RS256', kid: 'rsa' }),
      await sign(claims(), { kid: undefined }),
      await sign(claims(), { typ: 'JWT' }),
      await sign(claims({ nbf: START / 1000 + 59 })),
    ];
    for (const token of accepted) expect((await authenticate(new Secret(token))).as(undefined).name).toBe('jane');
  });

  it('are accepted soon after a key with another kid was published', async () => {
    await authenticate(new Secret(await sign(claims())));
    keySet = [{ ...stranger.publicKey.export({ format: 'jwk' }), kid: 'next' }];
    const token = () => sign(claims(), { key: stranger.privateKey, kid: 'next' });
    now += 9_999;
    await expect(authenticate(new Secret(await token()))).rejects.toThrow('no keys found');
    now += 1;
    expect((await authenticate(new Secret(await token()))).as(undefined).name).toBe('jane');
  });

  it('B9: with unknown kids cause one fetch in ten seconds', async () => {
    await authenticate(new Secret(await sign(claims())));
    for (let second = 1; second <= 30; second += 1) {
      now += 1_000;
      const token = await sign(claims({ second }), { key: stranger.privateKey, kid: `unknown-${second}` });
      await expect(authenticate(new Secret(token))).rejects.toThrow('invalid signature');
    }
    expect(fetches).toBe(1 + 3);
  });

  it('are refused once the issuer publishes no key', async () => {
    const token = await sign(claims());
    const caller = await authenticate(new Secret(token));
    isDown = true;
    await refresh();
    expect(caller.isLive()).toBe(true);
    isDown = false;
    keySet = [];
    await refresh();
    expect(caller.isLive()).toBe(false);
    await expect(authenticate(new Secret(token))).rejects.toThrow('no keys found');
  });

  it('are refused once the key that signed them is withdrawn', async () => {
    const token = await sign(claims());
    const caller = await authenticate(new Secret(token));
    keySet = published.slice(1);
    await refresh();
    expect(caller.isLive()).toBe(false);
    await expect(authenticate(new Secret(token))).rejects.toThrow('no keys found');
  });

  it('are refused while no keys can be fetched, with a reason that is not about the token', async () => {
    isDown = true;
    const token = await sign(claims());
    await expect(authenticate(new Secret(token))).rejects.toThrow(
      'no keys found: the keys of the issuer could not be fetched',
    );
    isDown = false;
    now += 10_000;
    expect((await authenticate(new Secret(token))).as(undefined).name).toBe('jane');
    const unknown = await sign(claims(), { kid: 'unknown' });
    await expect(authenticate(new Secret(unknown))).rejects.toThrow(/no keys found$/);
  });

  it('are refused once the entry has changed', async () => {
    const token = await sign(claims());
    const caller = await authenticate(new Secret(token));
    authenticator.close();
    expect(caller.isLive()).toBe(false);
    await expect(authenticate(new Secret(token))).rejects.toThrow('its entry was changed');
  });
});

describe('A35: tokens for agents', () => {
  const openedBy = async (changes: object, header: { typ?: string } = {}): Promise<string> => {
    const token = new Secret(await sign(claims(changes), header));
    const opens = async (act: () => unknown): Promise<boolean> => {
      try {
        await act();
        return true;
      } catch {
        return false;
      }
    };
    const api = await opens(() => authenticator.authenticate(token));
    const mcp = await opens(() => authenticator.authenticateMcp(token));
    return [...(api ? ['api'] : []), ...(mcp ? ['mcp'] : [])].join(' ');
  };

  it.each<[string, string, object, { typ: string }?]>([
    ['for the API', 'api', { aud: 'clusterpass' }],
    ['for the MCP endpoint', 'mcp', { aud: MCP }],
    ['for both', '', { aud: [MCP, 'clusterpass'] }],
    ['for the MCP endpoint and another service', '', { aud: ['vault', MCP] }],
    ['for the API and another service', 'api', { aud: ['vault', 'clusterpass'] }],
    ['for the MCP endpoint, in a list', 'mcp', { aud: [MCP] }],
    ['for an address that looks like it', '', { aud: `${MCP}/` }],
    ['an access token for the MCP endpoint', 'mcp', { aud: MCP }, { typ: 'at+jwt' }],
    ['an access token in the long form', 'mcp', { aud: MCP }, { typ: 'application/at+JWT' }],
    ['an access token for both', '', { aud: [MCP, 'clusterpass'] }, { typ: 'at+jwt' }],
    ['an access token for the API', '', { aud: 'clusterpass' }, { typ: 'at+jwt' }],
    ['of another type', '', { aud: MCP }, { typ: 'logout+jwt' }],
  ])('MC-43: a token %s opens: %s', async (_, opened, changes, header) => {
    expect(await openedBy(changes, header)).toBe(opened);
  });

  it.each<[object, object]>([
    [
      { client_id: 'a', azp: 'b', scope: 'x y' },
      { id: 'a', scopes: ['x', 'y'] },
    ],
    [
      { azp: 'b', scp: ['x', 'y'] },
      { id: 'b', scopes: ['x', 'y'] },
    ],
    [
      { client_id: 7, azp: '', scp: 'x' },
      { id: undefined, scopes: ['x'] },
    ],
    [{ client_id: 'a\nb' }, { id: undefined, scopes: [] }],
    [
      { client_id: 'a'.repeat(257), scope: { x: 1 } },
      { id: undefined, scopes: [] },
    ],
  ])('MC-45: %j is the client %j', async (changes, client) => {
    const token = new Secret(await sign(claims({ aud: MCP, ...changes })));
    expect((await authenticator.authenticateMcp(token)).oauthClient).toEqual(client);
  });
});

describe('C-D: tokens that are refused', () => {
  const spki = ec.publicKey.export({ format: 'pem', type: 'spki' });
  const hmac = (secret: string | Buffer): string => {
    const input = `${encode({ alg: 'HS256', kid: 'ec' })}.${encode(claims())}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  };

  it.each<[string, () => Promise<string> | string, RegExp]>([
    ['of another issuer', () => sign(claims({ iss: `${ISSUER}/` })), /issuer/],
    ['for another audience', () => sign(claims({ aud: 'vault' })), /audience/],
    ['without an audience', () => sign(claims({ aud: undefined })), /audience/],
    ['for an empty list', () => sign(claims({ aud: [] })), /audience/],
    ['for a number', () => sign(claims({ aud: 7 })), /audience/],
    ['expired by a moment', () => sign(claims({ exp: START / 1000 - 0.001 })), /expired/],
    ['without an end', () => sign(claims({ exp: undefined })), /exp is missing/],
    ['with an end in words', () => sign(claims({ exp: '9999999999' })), /exp is missing or malformed/],
    ['more than a minute early', () => sign(claims({ nbf: START / 1000 + 61 })), /not valid yet/],
    ['with a beginning in words', () => sign(claims({ nbf: 'now' })), /nbf/],
    ['signed by a stranger', () => sign(claims(), { key: stranger.privateKey }), /invalid signature/],
    ['signed by another key than it names', () => sign(claims(), { kid: 'rsa' }), /algorithm does not match/],
    ['of an unknown key', () => sign(claims(), { kid: 'unknown' }), /no keys found/],
    ['of a key named by JavaScript', () => sign(claims(), { kid: '__proto__' }), /no keys found/],
    ['alg none', () => `${encode({ alg: 'none' })}.${encode(claims())}.`, /algorithm does not match/],
    ['alg NoNe', () => `${encode({ alg: 'NoNe', kid: 'ec' })}.${encode(claims())}.`, /algorithm does not match/],
    ['HS256 with the public key as PEM', () => hmac(spki), /algorithm does not match/],
    [
      'another algorithm than the key names',
      () => sign(claims(), { key: rsa.privateKey, alg: 'PS256', kid: 'rsa' }),
      /algorithm does not match/,
    ],
    ['of another type', () => sign(claims(), { typ: 'at+jwt' }), /another type/],
    ['a logout', () => sign(claims(), { typ: 'logout+jwt' }), /another type/],
    [
      'with a condition we do not know',
      async () => (await sign(claims())).replace(/^[^.]+/, encode({ alg: 'ES256', kid: 'ec', crit: ['x'], x: 1 })),
      /crit or b64/,
    ],
    [
      'RFC 7797: whose payload is signed as it is',
      async () => signedText({ crit: ['b64'], b64: false }),
      /crit or b64/,
    ],
    ['RFC 7797: with a b64 that says nothing', async () => signedText({ b64: true }), /crit or b64/],
    [
      'whose header brings a key',
      async () =>
        await sign(claims(), {
          key: stranger.privateKey,
          jwk: stranger.publicKey.export({ format: 'jwk' }),
          kid: undefined,
        }),
      /invalid signature/,
    ],
    ['with padding', async () => `${await sign(claims())}=`, /malformed/],
    ['with a signature cut off', async () => (await sign(claims())).slice(0, -2), /invalid signature/],
    ['without a signature', async () => (await sign(claims())).replace(/[^.]+$/, ''), /invalid signature/],
    [
      'with other claims',
      async () => (await sign(claims())).replace(/\.[^.]+\./, `.${encode(claims({ sub: 'root' }))}.`),
      /invalid signature/,
    ],
    ['of a header that is a list', async () => `${encode([])}.${encode(claims())}.AA`, /malformed/],
    [
      'of a kid that is a number',
      async () => `${encode({ alg: 'ES256', kid: 1 })}.${encode(claims())}.AA`,
      /malformed/,
    ],
  ])('%s', async (_, make, message) => {
    await expect(authenticate(new Secret(await make()))).rejects.toThrow(message);
  });

  it('a text that is not a JWT has no issuer', () => {
    const texts = [
      '',
      'a',
      'a.b.c',
      '{}',
      '...',
      `x.${encode([])}.y`,
      `x.${encode({ iss: 7 })}.y`,
      `a.b.${encode({})}.d.e`,
    ];
    expect(texts.map(claimedIssuer)).toEqual(texts.map(() => undefined));
  });
});
