import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIssuerKeys } from '../../src/authn/jwt/issuer-keys.ts';
import { createJwtAuthenticator } from '../../src/authn/jwt/jwt-authenticator.ts';
import { readAuthenticationConfig } from '../../src/authn/jwt/read-configuration.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import { Secret } from '../../src/observability/secret.ts';
import { type VerificationKey, verificationKey } from '../../src/tokens/keys/key-material.ts';
import {
  ACCOUNT,
  API,
  b64,
  claimsOf,
  ISSUERS,
  type LiveResource,
  POD,
  SECRET,
  START,
  World,
} from '../../src/tokens/tokens.fixture.ts';
import { createVerifier, type VerifiedToken } from '../../src/tokens/verifier.ts';

/**
 * A verifier with a warm cache answers as one without a cache, whatever happened to keys, objects, revocations and the
 * clock since the token was cached.
 */

const PAIRS = [0, 1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
const KIDS = ['k1', 'k2'];
const pair = fc.nat({ max: PAIRS.length - 1 });
const kid = fc.constantFrom(...KIDS);
const pairAt = (index: number) => PAIRS[index] as (typeof PAIRS)[number];

function signed(privateKey: KeyObject, header: object, payload: object): string {
  const input = `${b64(JSON.stringify(header))}.${b64(JSON.stringify(payload))}`;
  return `${input}.${b64(sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }))}`;
}

/** The answer, or the reason for the refusal. */
async function outcome(verify: () => unknown): Promise<unknown> {
  try {
    return await verify();
  } catch (error) {
    return String(error);
  }
}

const SECOND = 1_000;
const clock = fc.constantFrom(-3_600, -61, -60, 0, 59, 61, 3_599, 3_600, 3_660, 3_661, 7_200).map((s) => s * SECOND);

const OBJECTS: readonly (readonly [LiveResource, string, string, string])[] = [
  ['clusters', '', 'alpha', 'uid-cluster'],
  ['namespaces', '', 'ci', 'uid-namespace'],
  ['serviceaccounts', 'ci', ACCOUNT.name, ACCOUNT.uid],
  ['pods', 'ci', POD.name, POD.uid],
  ['secrets', 'ci', SECRET.name, SECRET.uid],
];

describe('issued tokens', () => {
  interface Token {
    readonly pair: number;
    /** Absent in the header: every key is tried. */
    readonly kid: string | undefined;
    readonly jti: string;
    readonly bound: 'pod' | 'secret' | undefined;
    readonly aud: readonly string[];
  }

  const token: fc.Arbitrary<Token> = fc.record({
    pair,
    kid: fc.option(kid, { nil: undefined }),
    jti: fc.constantFrom('j1', 'j2'),
    bound: fc.constantFrom(undefined, 'pod' as const, 'secret' as const),
    aud: fc.constantFrom([API], ['vault', API], ['vault']),
  });

  type Change =
    | { readonly change: 'publish'; readonly kid: string; readonly pair: number }
    | { readonly change: 'withdraw'; readonly kid: string }
    | { readonly change: 'clock'; readonly now: number }
    | { readonly change: 'revoke'; readonly jti: string }
    | { readonly change: 'unrevoke'; readonly jti: string }
    | {
        readonly change: 'object';
        readonly at: number;
        readonly to: 'original' | 'recreated' | 'gone' | 'deleting';
      };

  const change: fc.Arbitrary<Change> = fc.oneof(
    fc.record({ change: fc.constant('publish' as const), kid, pair }),
    fc.record({ change: fc.constant('withdraw' as const), kid }),
    fc.record({ change: fc.constant('clock' as const), now: clock }),
    fc.record({ change: fc.constant('revoke' as const), jti: fc.constantFrom('j1', 'j2') }),
    fc.record({ change: fc.constant('unrevoke' as const), jti: fc.constantFrom('j1', 'j2') }),
    fc.record({
      change: fc.constant('object' as const),
      at: fc.nat({ max: OBJECTS.length - 1 }),
      to: fc.constantFrom('original' as const, 'recreated' as const, 'gone' as const, 'deleting' as const),
    }),
  );

  /** Accepted until something changes, so that every history begins with a cached token. */
  const USUAL: Token = { pair: 0, kid: 'k1', jti: 'j1', bound: 'pod', aud: [API] };

  const textOf = ({ pair, kid, jti, bound, aud }: Token): string => {
    const kubernetes = {
      namespace: 'ci',
      ...(bound === undefined ? {} : { [bound]: bound === 'pod' ? POD : SECRET }),
      serviceaccount: ACCOUNT,
    };
    const header = kid === undefined ? { alg: 'ES256' } : { alg: 'ES256', kid };
    return signed(pairAt(pair).privateKey, header, claimsOf({ jti, aud, 'kubernetes.io': kubernetes }));
  };

  class Server {
    readonly #keys = new Map<string, VerificationKey>();
    readonly #world = new World();
    #now = START;

    constructor() {
      this.apply({ change: 'publish', kid: 'k1', pair: 0 });
      this.apply({ change: 'publish', kid: 'k2', pair: 1 });
    }

    createVerifier() {
      return createVerifier({
        keyRing: { find: (kid) => this.#keys.get(kid), all: () => [...this.#keys.values()] },
        clusterOfIssuer: ISSUERS.clusterOfIssuer,
        findLive: this.#world.findLive,
        now: () => this.#now,
      });
    }

    apply(step: Change): void {
      if (step.change === 'publish') {
        this.#keys.set(step.kid, verificationKey(pairAt(step.pair).publicKey, 'ES256', step.kid));
      } else if (step.change === 'withdraw') this.#keys.delete(step.kid);
      else if (step.change === 'clock') this.#now = START + step.now;
      else if (step.change === 'revoke') this.#world.revoked.add(step.jti);
      else if (step.change === 'unrevoke') this.#world.revoked.delete(step.jti);
      else this.#putObject(OBJECTS[step.at] as (typeof OBJECTS)[number], step.to);
    }

    #putObject(
      [resource, namespace, name, uid]: (typeof OBJECTS)[number],
      to: (Change & { change: 'object' })['to'],
    ): void {
      if (to === 'gone') this.#world.remove(resource, 'alpha', namespace, name);
      else {
        this.#world.put(resource, 'alpha', namespace, name, {
          uid: to === 'recreated' ? `${uid}-2` : uid,
          ...(to === 'deleting' ? { deletionTimestamp: new Date(START).toISOString() } : {}),
        });
      }
    }
  }

  const QUESTIONS: readonly (readonly [readonly string[] | undefined, string | undefined])[] = [
    [undefined, undefined],
    [['vault'], 'alpha'],
    [[API, 'vault'], 'beta'],
  ];

  const UNCOMPARED = { kid: undefined, dependencies: undefined };

  /** Without the id of the key: a token without a kid may be found under any id of its key. */
  async function answerOf(verify: () => unknown): Promise<unknown> {
    const answer = await outcome(verify);
    return typeof answer === 'object' ? { ...answer, ...UNCOMPARED } : answer;
  }

  function expectLiveness(isLive: boolean, verified: VerifiedToken, now: unknown): void {
    if (typeof now !== 'object') expect(isLive).toBe(false);
    else if ((now as VerifiedToken).kid === verified.kid) {
      expect(isLive).toBe((now as VerifiedToken).thumbprint === verified.thumbprint);
    }
  }

  it('A4, A5: cached and uncached verifiers give one answer, and isLive follows it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(token, { maxLength: 2 }),
        fc.array(change, { minLength: 1, maxLength: 15 }),
        async (tokens, history) => {
          const server = new Server();
          const cached = server.createVerifier();
          const texts = [USUAL, ...tokens].map((each) => new Secret(textOf(each)));
          const earlier = new Map<Secret, VerifiedToken>();
          for (const each of [undefined, ...history]) {
            if (each !== undefined) server.apply(each);
            const uncached = server.createVerifier();
            for (const text of texts) {
              for (const [audiences, cluster] of QUESTIONS) {
                const expected = await answerOf(() => uncached.verify(text, audiences, cluster));
                expect(await answerOf(() => cached.verify(text, audiences, cluster))).toEqual(expected);
              }
              const verified = earlier.get(text);
              const now = await outcome(() => uncached.verify(text, verified?.audiences ?? ['vault', API]));
              if (verified !== undefined) expectLiveness(cached.isLive(verified), verified, now);
              if (typeof now !== 'object') continue;
              earlier.set(text, now as VerifiedToken);
            }
          }
        },
      ),
      propertyRuns(30, 600),
    );
  });

  it('A4: a change during a verification counts for its answer', async () => {
    await fc.assert(
      fc.asyncProperty(token, fc.array(change, { minLength: 1, maxLength: 5 }), async (each, history) => {
        const server = new Server();
        const cached = server.createVerifier();
        const text = new Secret(textOf(each));
        const pending = [1, 2].map(() => outcome(() => cached.verify(text, each.aud)));
        for (const step of history) server.apply(step);
        const now = await answerOf(() => server.createVerifier().verify(text, each.aud));
        for (const answer of await Promise.all(pending)) {
          // What was refused before a change may be accepted after it, and not the other way round.
          if (typeof answer === 'object') expect({ ...answer, ...UNCOMPARED }).toEqual(now);
        }
      }),
      propertyRuns(30, 600),
    );
  });
});

describe('tokens of other issuers', () => {
  const ISSUER = 'https://id.example.com';
  const [config] = readAuthenticationConfig(
    Buffer.from(
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: { url: ISSUER, audiences: ['clusterpass'] },
            claimMappings: { username: { claim: 'sub', prefix: '' } },
          },
        ],
      }),
    ),
    { isOurs: () => false },
  );
  if (config === undefined) throw new Error('no entry');

  interface Published {
    readonly pair: number;
    readonly kid: string | undefined;
    readonly alg: string | undefined;
  }

  const optionalKid = fc.option(kid, { nil: undefined });
  const published: fc.Arbitrary<Published> = fc.record({
    pair,
    kid: optionalKid,
    alg: fc.constantFrom(undefined, 'ES256'),
  });
  const step = fc.oneof(
    fc.record({ keys: fc.array(published, { minLength: 1, maxLength: 3 }), refresh: fc.boolean() }),
    fc.record({ now: clock }),
  );

  it('A5: cached and uncached authenticators give one answer, and isLive follows it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ pair, kid: optionalKid }), { maxLength: 2 }),
        fc.array(step, { minLength: 1, maxLength: 12 }),
        async (tokens, history) => {
          let now = START;
          let keySet: readonly Published[] = [{ pair: 0, kid: 'k1', alg: undefined }];
          const jwkOf = ({ pair, kid, alg }: Published) => ({
            ...pairAt(pair).publicKey.export({ format: 'jwk' }),
            kid,
            alg,
          });
          const keys = createIssuerKeys({
            issuerUrl: ISSUER,
            discoveryUrl: `${ISSUER}/d`,
            fetchDocument: async (url) =>
              url.endsWith('/d') ? { issuer: ISSUER, jwks_uri: `${ISSUER}/k` } : { keys: keySet.map(jwkOf) },
            now: () => now,
            report: () => {},
          });
          const create = () => createJwtAuthenticator({ config, keys, now: () => now });
          const cached = create();
          const claims = { iss: ISSUER, aud: 'clusterpass', sub: 'ada', exp: START / 1000 + 3600, nbf: START / 1000 };
          // The first is accepted until something changes, so that every history begins with a cached token.
          const texts = [{ pair: 0, kid: 'k1' }, ...tokens].map(
            ({ pair, kid }) => new Secret(signed(pairAt(pair).privateKey, { alg: 'ES256', kid }, claims)),
          );
          for (const each of [undefined, ...history]) {
            if (each !== undefined && 'now' in each) now = START + each.now;
            else if (each !== undefined) {
              keySet = each.keys;
              if (each.refresh) await keys.refresh();
            }
            for (const text of texts) {
              const answer = await outcome(async () => {
                const caller = await cached.authenticate(text);
                return { key: caller.key, expiresAt: caller.expiresAt, isLive: caller.isLive() };
              });
              const uncached = await outcome(async () => {
                const { key, expiresAt } = await create().authenticate(text);
                return { key, expiresAt, isLive: true };
              });
              expect(answer).toEqual(uncached);
            }
          }
        },
      ),
      propertyRuns(20, 400),
    );
  });
});
