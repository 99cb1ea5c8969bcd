import fc from 'fast-check';
import { expect, it } from 'vitest';
import { clusterQuestion, tokenQuestion } from '../../src/api/authorization.ts';
import { createCatalog } from '../../src/api/catalog.ts';
import type { Decision } from '../../src/api/decision.ts';
import { type ApiObject, type Kind, type ObjectKey, storageKey } from '../../src/api/kind.ts';
import { CLUSTER_GROUP } from '../../src/api/kinds/cluster-spec.ts';
import { ApiError } from '../../src/api/status.ts';
import { Fleet, person, role } from '../../src/authz/policy/rbac.fixture.ts';
import { createIssueToken } from '../../src/handlers/token/issue-token.ts';
import type { TokenInput } from '../../src/handlers/token/token-input.ts';
import { propertyRuns } from '../../src/lib/property-runs.fixture.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';
import type { ObjectReader } from '../../src/objects/reader.ts';
import { StoredObject, toStoredBytes } from '../../src/objects/stored-object.ts';
import { createIssuers } from '../../src/tokens/claims.ts';
import type { SignedClaims } from '../../src/tokens/signer.ts';

/** Whatever bindings a caller has and however the token is asked for, no token outlives what allows it. */

const NOW = Date.UTC(2026, 7, 1, 12, 0, 0, 400);
const SERVER_SECONDS = 86_400;
const PERSON_SECONDS = 3_600;
const catalog = createCatalog({ productName: 'orchestrator' });
const jane = person('jane');
const ACCOUNT = { cluster: 'a', namespace: 'ci', name: 'builder' };
const ROLE = role('tokens', [
  { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
  { verbs: ['create'], apiGroups: [CLUSTER_GROUP], resources: ['clusters/userpass'] },
]);

interface Bound {
  readonly cluster: 'a' | 'b';
  /** From now on. */
  readonly endsInMs: number | undefined;
  readonly maxPassSeconds: number | undefined;
  /** Gives tokens only through approved passes. */
  readonly isReviewed: boolean;
}

const bindingOf = ({ cluster, endsInMs, maxPassSeconds, isReviewed }: Bound, index: number): ApiObject => ({
  apiVersion: 'clusterpass.dev/v1alpha1',
  kind: 'FleetRoleBinding',
  metadata: { name: `b-${index}` },
  spec: {
    subjects: [{ kind: 'User', name: 'jane' }],
    roleRef: { kind: 'ClusterRole', name: 'tokens' },
    clusters: { names: [cluster] },
    ...(endsInMs === undefined ? {} : { expiresAt: new Date(NOW + endsInMs).toISOString() }),
    ...(maxPassSeconds === undefined ? {} : { maxPassSeconds }),
    ...(isReviewed ? { approval: { by: 'ApproverAlways' } } : {}),
  },
});

const stored = (kind: Kind, key: ObjectKey): [string, StoredObject] => {
  const metadata = { name: key.name, uid: `uid-of-${key.name}` };
  const value = toStoredBytes(kind, { apiVersion: '', kind: '', metadata });
  const at = storageKey(kind, key);
  return [at, new StoredObject(kind, { key: at, value, modRevision: 1, createRevision: 1 })];
};
const OBJECTS = new Map([
  stored(catalog.clusters, { cluster: '', namespace: '', name: 'a' }),
  stored(catalog.namespaces, { cluster: 'a', namespace: '', name: 'ci' }),
  stored(catalog.serviceAccounts, ACCOUNT),
]);
const find = (kind: Kind, key: ObjectKey) => OBJECTS.get(storageKey(kind, key));
const reader = { find, findFresh: find } as unknown as ObjectReader;
const issuers = createIssuers({ baseUrl: 'https://pass.example', productName: 'orchestrator' });

function issuing(fleet: Fleet) {
  const signed: SignedClaims[] = [];
  const issueToken = createIssueToken({
    catalog,
    reader,
    productName: 'orchestrator',
    signer: {
      isLocal: true,
      check: () => ({}),
      sign: async (claims) => {
        signed.push(claims);
        return 'the-token';
      },
    },
    tracked: { requireRoom: () => async () => {} },
    requireRightClock: () => {},
    issuerOf: issuers.issuerFor,
    peopleIssuerOf: issuers.peopleIssuerFor,
    clusterOfIssuer: issuers.clusterOfIssuer,
    clusterOfPeopleIssuer: issuers.clusterOfPeopleIssuer,
    mcpAudience: 'https://pass.example/mcp',
    authorizer: fleet.policy,
    forward: () => Promise.reject(new Error('not forwarded')),
    issuesOwnTokens: () => false,
    actorClaim: () => undefined,
    actorOf: () => undefined,
    maxExpirationSeconds: SERVER_SECONDS,
    now: () => NOW,
    maxPerMinute: 0,
    randomUUID: () => '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d',
  });
  return { issueToken, signed };
}

type Way = 'a TokenRequest, of a list or an exchange too' | 'a dry run' | 'a pass for a person' | 'a handle';
const WAYS: readonly Way[] = [
  'a TokenRequest, of a list or an exchange too',
  'a dry run',
  'a pass for a person',
  'a handle',
];

const seconds = fc.oneof(fc.integer({ min: 60, max: 1_200 }), fc.integer({ min: 60, max: 100_000 }));
const optional = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined, freq: 3 });
const bound: fc.Arbitrary<Bound> = fc.record({
  cluster: fc.constantFrom('a', 'a', 'a', 'b'),
  endsInMs: optional(fc.integer({ min: -5_000, max: 100_000_000 })),
  maxPassSeconds: optional(seconds),
  isReviewed: fc.boolean(),
});

/** When the longest pass through these ends, in whole seconds from now: the model. */
function longest(bindings: readonly Bound[], handle: boolean): number | undefined {
  const secondsLeft = bindings
    .filter(({ cluster, endsInMs, isReviewed }) => cluster === 'a' && (endsInMs ?? 1) > 0 && (handle || !isReviewed))
    .map(({ endsInMs = Number.POSITIVE_INFINITY, maxPassSeconds = Number.POSITIVE_INFINITY }) =>
      Math.min(Math.floor((NOW + endsInMs) / 1000) - Math.floor(NOW / 1000), maxPassSeconds),
    );
  return secondsLeft.length === 0 ? undefined : Math.max(...secondsLeft);
}

it.each(WAYS)('no token outlives the longest binding that allows it: %s', async (way) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(bound, { maxLength: 5 }),
      fc.integer({ min: 600, max: 200_000 }),
      async (bindings, requested) => {
        const fleet = new Fleet({ now: () => NOW });
        fleet.clusters.set('a', {}).set('b', {});
        fleet.put(ROLE, ...bindings.map(bindingOf));
        const { issueToken, signed } = issuing(fleet);
        const isPerson = way === 'a pass for a person';
        const warnings: string[] = [];
        const target = isPerson
          ? {
              subresource: 'userpass',
              cluster: undefined,
              namespace: '',
              name: 'a',
              resource: 'clusters',
              group: CLUSTER_GROUP,
            }
          : { subresource: 'token', ...ACCOUNT, resource: 'serviceaccounts', group: '' };
        const input: TokenInput = {
          request: {
            caller: jane,
            actor: undefined,
            target: { verb: 'create', version: 'v1', alwaysPublic: false, ...target },
            signal: new AbortController().signal,
            work: lonelyWork(),
            warn: (text) => warnings.push(text),
            annotate: () => {},
            willAnswer: async () => {},
          },
          sent: { spec: { audiences: [], expirationSeconds: requested } },
          dryRun: way === 'a dry run',
        };
        const isHandle = way === 'a handle';
        // Its permission is asked for when it is redeemed, and is the one of the approval that it has.
        const question = isPerson
          ? { ...clusterQuestion('create', 'a'), subresource: 'userpass' }
          : tokenQuestion(ACCOUNT);
        const decision: Decision = isHandle
          ? fleet.policy.decidePass(jane, question, 'person')
          : fleet.policy.decide(jane, question);
        const pass = { endsAt: NOW + 900_000, agent: undefined, mayIn: () => true, recordToken: async () => {} };
        const left =
          decision.allowed && 'approval' in decision && decision.approval === 'none'
            ? longest(bindings, false)
            : longest(bindings, isHandle);
        const answer = !decision.allowed
          ? new ApiError(403, 'Forbidden', '')
          : await issueToken(input, { permission: decision, pass: isHandle ? pass : undefined }).catch(
              (error: unknown) => error as Error,
            );
        const most = Math.min(
          requested,
          SERVER_SECONDS,
          isPerson ? PERSON_SECONDS : SERVER_SECONDS,
          isHandle ? 900 : SERVER_SECONDS,
        );
        if (left === undefined || left < 1) {
          expect(answer).toMatchObject({ status: { code: 403 } });
          expect(signed).toEqual([]);
          return;
        }
        if (answer instanceof Error) throw answer;
        const granted = Math.min(most, left);
        expect((answer as { spec: unknown }).spec).toMatchObject({ expirationSeconds: granted });
        for (const { exp, iat } of signed) expect(exp - iat).toBe(granted);
        expect(signed).toHaveLength(input.dryRun ? 0 : 1);
        expect(warnings.length > 0).toBe(granted < requested && !(isHandle && granted === 900));
      },
    ),
    propertyRuns(100, 10_000),
  );
});
