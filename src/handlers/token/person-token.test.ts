import { describe, expect, it } from 'vitest';
import type { Caller } from '../../api/caller.ts';
import { createCatalog } from '../../api/catalog.ts';
import { toJson } from '../../api/codec/encode.ts';
import { type ObjectMeta, storageKey } from '../../api/kind.ts';
import type { ApiRequest } from '../../api/request.ts';
import { ApiError } from '../../api/status.ts';
import { StoredObject, toStoredBytes } from '../../objects/stored-object.ts';
import { createIssuers, type PersonClaims } from '../../tokens/claims.ts';
import type { Signer } from '../../tokens/signer.ts';
import { createPersonActor } from './actor-claim.ts';
import { issuesOwnTokens } from './forward-token.ts';
import { createTokenHandler } from './issue-token.ts';
import { type PersonTokenParts, personToken } from './person-token.ts';

/** Passes for people: who gets one, what it says, and how long it lives. */

const catalog = createCatalog({ productName: 'orchestrator' });
const issuers = createIssuers({ baseUrl: 'https://pass.example', productName: 'orchestrator' });
const ISSUER = 'https://pass.example/orchestrator/alpha/people';
const NOW = Date.UTC(2026, 7, 1, 12, 0, 0, 999);
const JTI = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';

const clusterNamed = (name: string, spec: object = {}, more: Partial<ObjectMeta> = {}): StoredObject =>
  new StoredObject(catalog.clusters, {
    key: storageKey(catalog.clusters, { cluster: '', namespace: '', name }),
    value: toStoredBytes(catalog.clusters, {
      apiVersion: '',
      kind: '',
      metadata: { name, uid: 'uid-alpha', ...more },
      spec,
    }),
    modRevision: 1,
    createRevision: 1,
  });

const CLUSTERS = new Map(
  [
    clusterNamed('alpha'),
    clusterNamed('leaving', {}, { deletionTimestamp: '2026-08-01T12:00:00Z', finalizers: ['example.com/wait'] }),
    clusterNamed('forwarded', { authInfo: { controller: { kind: 'Secret', namespace: 'fleet', name: 'x' } } }),
  ].map((cluster) => [cluster.name, cluster]),
);

interface Asked {
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly caller?: Partial<Caller>;
  readonly actor?: string;
  readonly cluster?: string;
  readonly body?: object;
  readonly query?: string;
  readonly check?: Signer['check'];
}

const callerNamed = (name: string, groups: readonly string[] = [], more: Partial<Caller> = {}): Caller => ({
  as: () => ({ name, uid: '', groups, extra: {} }),
  home: undefined,
  key: name,
  flow: name,
  expiresAt: undefined,
  dependsOn: [],
  isLive: () => true,
  ...more,
});

async function ask({
  name = 'carl',
  groups = [],
  caller,
  actor,
  cluster = 'alpha',
  body = {},
  query = '',
  check = () => ({}),
}: Asked = {}) {
  const signed: PersonClaims[] = [];
  const warnings: string[] = [];
  const annotations = new Map<string, string>();
  const parts: PersonTokenParts = {
    catalog,
    productName: 'orchestrator',
    reader: { find: () => undefined, findFresh: async (_, { name: asked }) => CLUSTERS.get(asked) },
    signer: {
      isLocal: true,
      check,
      async sign(claims) {
        signed.push(claims as PersonClaims);
        return 'the-token';
      },
    },
    tracked: { requireRoom: () => async () => {} },
    requireRightClock: () => {},
    peopleIssuerOf: issuers.peopleIssuerFor,
    issuesOwnTokens,
    forward: () => Promise.reject(new Error('not forwarded')),
    maxExpirationSeconds: 86_400,
    actorOf: createPersonActor({ mode: 'fleet', baseUrl: issuers.baseUrl }),
    now: () => NOW,
    randomUUID: () => JTI,
  };
  const handle = createTokenHandler((input, grant) => personToken(parts, input, grant));
  const response = await handle({
    target: { name: cluster },
    permission: { allowed: true, reason: '' },
    query: new URLSearchParams(query),
    body: { bytes: Buffer.from(JSON.stringify(body)), mediaType: 'application/json' },
    caller: callerNamed(name, groups, caller),
    actor: actor === undefined ? undefined : callerNamed(actor),
    warn: (text: string) => warnings.push(text),
    annotate: (key: string, value: string) => annotations.set(key, value),
    willAnswer: async () => {},
    accept: { mediaType: 'application/json', as: 'object' },
  } as unknown as ApiRequest);
  if (response.type !== 'value') throw new Error('an object was expected');
  const [claims] = signed;
  return {
    code: response.code,
    json: JSON.parse(toJson(response.value)),
    claims,
    warnings,
    annotations,
  };
}

const refused = (asked: Asked): Promise<ApiError['status']> =>
  ask(asked).then(
    () => Promise.reject(new Error('it was issued')),
    (error: unknown) => (error instanceof ApiError ? error.status : Promise.reject(error)),
  );

describe('TX-71: what a pass for a person says', () => {
  it('name, groups, issuer and the one audience, in alphabetical order', async () => {
    const { code, json, claims, annotations } = await ask({ groups: ['devs', 'system:authenticated'] });
    expect(JSON.stringify(claims)).toBe(
      JSON.stringify({
        aud: [ISSUER],
        'clusterpass.dev/cluster-uid': CLUSTERS.get('alpha')?.uid,
        exp: Math.floor(NOW / 1000) + 3600,
        groups: ['devs'],
        iat: Math.floor(NOW / 1000),
        iss: ISSUER,
        jti: JTI,
        nbf: Math.floor(NOW / 1000),
        sub: 'carl',
      }),
    );
    expect([code, json]).toEqual([
      201,
      {
        kind: 'TokenRequest',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: { name: 'alpha', uid: 'uid-alpha', creationTimestamp: '2026-08-01T12:00:00Z' },
        spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
        status: { token: 'the-token', expirationTimestamp: '2026-08-01T13:00:00Z' },
      },
    ]);
    expect([...annotations]).toEqual([['authentication.kubernetes.io/issued-credential-id', `JTI=${JTI}`]]);
  });

  it('a signature that its audience cannot have is refused, in a dry run too', async () => {
    const check: Signer['check'] = (audiences) => ({ problem: `no key for ${audiences.join()}` });
    const { code, details } = await refused({ check, query: 'dryRun=All' });
    expect([code, details?.causes?.[0]]).toMatchObject([422, { field: 'spec.audiences' }]);
    expect(details?.causes?.[0]?.message).toContain(`no key for ${ISSUER}`);
    expect((await ask({ check: () => ({ warning: 'signed with ES256' }) })).warnings).toEqual(['signed with ES256']);
  });

  it('without groups there is no claim, and an actor is named', async () => {
    expect((await ask()).claims).not.toHaveProperty('groups');
    expect((await ask()).claims).not.toHaveProperty('act');
    expect((await ask({ actor: 'agent' })).claims?.act).toEqual({ iss: 'https://pass.example', sub: 'agent' });
  });

  it('a dry run makes every check and signs nothing', async () => {
    const { json, claims, annotations } = await ask({ query: 'dryRun=All' });
    expect([json.status.token, claims, annotations.size]).toEqual(['', undefined, 0]);
  });

  it.each<[string, number | undefined, number | undefined, number, string?]>([
    ['an hour by default', undefined, undefined, 3600],
    ['less on request', 600, undefined, 600],
    ['never more than an hour', 7200, undefined, 3600, 'a pass for a person lasts no longer'],
    [
      'never beyond the credential of the person',
      3600,
      NOW + 1_000_000,
      1000,
      'the credential of the caller ends then',
    ],
    ['nor below ten minutes of it', 3600, NOW + 5_000, 5, 'the credential of the caller ends then'],
  ])('lifetime: %s', async (_, expirationSeconds, expiresAt, granted, why) => {
    const spec = expirationSeconds === undefined ? {} : { expirationSeconds };
    const { claims, warnings } = await ask({ body: { spec }, caller: { expiresAt } });
    expect((claims?.exp ?? 0) - (claims?.iat ?? 0)).toBe(granted);
    const shortened = `requested expiration of ${expirationSeconds} seconds shortened to ${granted} seconds: ${why}`;
    expect(warnings).toEqual(why === undefined ? [] : [shortened]);
  });
});

describe('A47, TX-72: who gets none', () => {
  const impersonator = callerNamed('dana');
  it.each<[string, Asked, number, RegExp]>([
    ['a service account', { name: 'system:cluster:alpha:serviceaccount:ci:builder' }, 403, /no person/],
    ['a name of the system', { name: 'system:admin' }, 403, /no person/],
    ['no name', { name: '' }, 403, /no person/],
    ['the admin token', { name: 'admin', caller: { isShared: true } }, 403, /credential of operators/],
    ['a caller who impersonates', { caller: { impersonator } }, 403, /impersonates/],
    ['a cluster that does not exist', { cluster: 'absent' }, 404, /"absent" not found/],
    ['A4, T-12j: a cluster that is being deleted', { cluster: 'leaving' }, 403, /cluster leaving .* being terminated/],
    ['a cluster that issues its own tokens', { cluster: 'forwarded' }, 409, /issues its own tokens/],
    ['the audience of accounts', { body: { spec: { audiences: [ISSUER.slice(0, -7)] } } }, 422, /spec.audiences\[0\]/],
    [
      'another cluster',
      { body: { spec: { audiences: [issuers.peopleIssuerFor('beta')] } } },
      422,
      /spec.audiences\[0\]/,
    ],
    ['too short', { body: { spec: { expirationSeconds: 599 } } }, 422, /less than 10 minutes/],
    ['a bound object', { body: { spec: { boundObjectRef: { kind: 'Pod', name: 'x' } } } }, 422, /boundObjectRef/],
    ['the name of another cluster', { body: { metadata: { name: 'beta' } } }, 422, /must match the cluster name/],
    ['a namespace', { body: { metadata: { namespace: 'ci' } } }, 400, /namespace/],
    ['101 groups', { groups: Array.from({ length: 101 }, (_, n) => `g${n}`) }, 422, /at most 100 items: bind by name/],
    ['long groups', { groups: ['x'.repeat(8192)] }, 422, /8192 characters together: bind by name/],
    ['a credential that ends now', { caller: { expiresAt: NOW } }, 401, /Unauthorized/],
    [
      'less than the caller needs',
      {
        body: {
          metadata: { annotations: { 'clusterpass.dev/min-expiration-seconds': '3601' } },
          spec: { expirationSeconds: 7200 },
        },
      },
      422,
      /longest lifetime that is granted here is 1h/,
    ],
  ])('%s', async (_, asked, code, message) => {
    const status = await refused(asked);
    expect([status.code, status.message]).toEqual([code, expect.stringMatching(message)]);
  });

  it('groups of the system are left out, system:masters too', async () => {
    expect((await ask({ groups: ['system:masters', 'devs', 'system:x'] })).claims?.groups).toEqual(['devs']);
  });

  it('the audience may be sent, or an empty list', async () => {
    for (const audiences of [[ISSUER], [], null]) {
      expect((await ask({ body: { spec: { audiences } } })).claims?.aud).toEqual([ISSUER]);
    }
  });
});
