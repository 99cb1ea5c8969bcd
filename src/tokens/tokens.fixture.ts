import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storageKey } from '../api/kind.ts';
import { clusterScope } from '../api/kinds/cluster.ts';
import { namespaceKind, podKind, secretKind, serviceAccountKind } from '../api/kinds/core.ts';
import { revokedTokenKind } from '../api/kinds/issued-token.ts';
import { Secret } from '../observability/secret.ts';
import { type Store, soleLeadership } from '../storage/contract.ts';
import { openSqliteStore } from '../storage/sqlite/sqlite-store.ts';
import { buildClaims, createIssuers, type TokenClaims, type TokenGrant } from './claims.ts';
import type { LiveObject } from './dependencies.ts';
import { type Algorithm, newPrivateKey } from './keys/algorithms.ts';
import { encryptionKey } from './keys/encryption-key.ts';
import { makeKey, recordOf, type VerificationKey } from './keys/key-material.ts';
import { type KeyRingOptions, openKeyRing, type StoredKeyRing } from './keys/key-ring.ts';
import type { MakeKey } from './keys/ring-state.ts';
import { createSigner } from './signer.ts';
import { createVerifier, type VerifiedToken } from './verifier.ts';

/** A real key ring in a real store, objects in a map, and a clock that the test sets. */

export const START = Date.UTC(2026, 7, 1, 12, 0, 0);
export const ISSUERS = createIssuers({ baseUrl: 'https://pass.example', productName: 'orchestrator' });
export const API = ISSUERS.issuerFor('alpha');
export const ACCOUNT = { name: 'builder', uid: 'uid-account' };
export const POD = { name: 'web-0', uid: 'uid-pod' };
export const SECRET = { name: 'tls', uid: 'uid-secret' };
export const JTI = '2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d';

export const temporaryDirectory = (): string => mkdtempSync(join(tmpdir(), 'clusterpass-tokens-'));

const KINDS = {
  clusters: clusterScope,
  namespaces: namespaceKind,
  serviceaccounts: serviceAccountKind,
  pods: podKind,
  secrets: secretKind,
};

export type LiveResource = keyof typeof KINDS;

const keyOf = (resource: LiveResource, cluster: string, namespace: string, name: string): string =>
  storageKey(KINDS[resource], { cluster, namespace, name });

export class World {
  readonly #objects = new Map<string, LiveObject>();
  /** Ids of tokens. */
  readonly revoked = new Set<string>();

  constructor() {
    this.put('clusters', 'alpha', '', 'alpha', { uid: 'uid-cluster' });
    this.put('namespaces', 'alpha', '', 'ci', { uid: 'uid-namespace' });
    this.put('serviceaccounts', 'alpha', 'ci', ACCOUNT.name, { uid: ACCOUNT.uid });
    this.put('pods', 'alpha', 'ci', POD.name, { uid: POD.uid });
    this.put('secrets', 'alpha', 'ci', SECRET.name, { uid: SECRET.uid });
  }

  put(resource: LiveResource, cluster: string, namespace: string, name: string, object: LiveObject): void {
    this.#objects.set(keyOf(resource, cluster, namespace, name), object);
  }

  remove(resource: LiveResource, cluster: string, namespace: string, name: string): void {
    this.#objects.delete(keyOf(resource, cluster, namespace, name));
  }

  readonly findLive = (resource: string, key: string): LiveObject | undefined => {
    if (resource !== revokedTokenKind.resource) return this.#objects.get(key);
    return this.revoked.has(key.split('/').at(-1) ?? '') ? { uid: 'uid-revocation' } : undefined;
  };
}

export interface Fixture {
  readonly dir: string;
  readonly store: Store;
  readonly ring: StoredKeyRing;
  readonly world: World;
  readonly clock: { now: number };
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** How many signatures were checked. */
  readonly checks: { count: number };
  /** Ids of tokens. */
  readonly revoked: Set<string>;
  issue(grant?: Partial<TokenGrant>): Promise<string>;
  verifier: ReturnType<typeof createVerifier>;
  accepted(token: string, audiences?: readonly string[]): Promise<VerifiedToken>;
  remove(): Promise<void>;
}

export function grantOf(grant: Partial<TokenGrant> = {}): TokenGrant {
  return {
    issuer: API,
    audiences: [API],
    namespace: 'ci',
    serviceAccount: ACCOUNT,
    expirationSeconds: 3600,
    now: START,
    randomUUID: () => JTI,
    ...grant,
  };
}

export async function openFixture(algorithm: Algorithm = 'ES256'): Promise<Fixture> {
  const dir = temporaryDirectory();
  const store = await openSqliteStore({ file: join(dir, 'test.db') });
  // The current key is made here, so that the test has the private key.
  const privateKey = await newPrivateKey(algorithm);
  let isFirst = true;
  const makeFirst: MakeKey = (wanted, created) => {
    if (!isFirst) return makeKey(wanted, created);
    isFirst = false;
    return Promise.resolve(recordOf(privateKey, wanted, created));
  };
  const world = new World();
  const clock = { now: START };
  const ring = await openTestRing({ store, clock, makeKey: makeFirst, rules: { algorithms: [algorithm] } });
  const checks = { count: 0 };
  const counted = (key: VerificationKey) => ({
    ...key,
    verify: (data: Uint8Array, signature: Uint8Array) => {
      checks.count += 1;
      return key.verify(data, signature);
    },
  });
  const verifier = createVerifier({
    keyRing: {
      find: (kid) => {
        const key = ring.find(kid);
        return key && counted(key);
      },
      all: () => ring.all().map(counted),
    },
    clusterOfIssuer: ISSUERS.clusterOfIssuer,
    findLive: world.findLive,
    now: () => clock.now,
  });
  return {
    dir,
    store,
    ring,
    world,
    clock,
    privateKey,
    publicKey: createPublicKey(privateKey),
    checks,
    revoked: world.revoked,
    issue: (grant) => createSigner(ring).sign(buildClaims(grantOf(grant))),
    verifier,
    async accepted(token, audiences) {
      const verified = await verifier.verify(new Secret(token), audiences);
      if (verified === undefined) throw new Error('a token of another issuer');
      return verified;
    },
    async remove() {
      await ring.close();
      await store.close();
    },
  };
}

export async function placeKey(dir: string, name: string, content: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await writeFile(join(dir, name), content, { mode: 0o600 });
  return join(dir, name);
}

export const TEST_ENCRYPTION_KEY = encryptionKey(Buffer.alloc(32, 7));

/** A ring whose maintenance the test calls, and whose log messages it can read. */
export function openTestRing(
  options: Pick<KeyRingOptions, 'store'> &
    Partial<Omit<KeyRingOptions, 'rules'>> & {
      readonly clock: { readonly now: number };
      readonly rules?: Partial<KeyRingOptions['rules']>;
      readonly log?: string[];
    },
): Promise<StoredKeyRing> {
  const { clock, rules, log = [], ...rest } = options;
  const write = (_fields: object, message: string): void => void log.push(message);
  return openKeyRing({
    encryptionKey: TEST_ENCRYPTION_KEY,
    leadership: soleLeadership,
    now: () => clock.now,
    removalTime: () => clock.now,
    every: () => () => {},
    logger: { error: write },
    ...rest,
    rules: { algorithms: ['ES256'], lifetimeSeconds: 3600, rotationMs: 0, ...rules },
  });
}

export const b64 = (value: string | Uint8Array): string => Buffer.from(value).toString('base64url');

/** Signs any header and payload with the ring's ES256 key, as a defect or a stolen key could. */
export function forge(
  { ring, privateKey }: Pick<Fixture, 'ring' | 'privateKey'>,
  { header, payload }: { header?: string | object; payload?: string | object } = {},
): string {
  const text = (value: string | object): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const input = `${b64(text(header ?? { alg: 'ES256', kid: ring.signing().kid }))}.${b64(text(payload ?? claimsOf()))}`;
  return `${input}.${b64(sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }))}`;
}

/** Valid claims, changed: `undefined` removes a member. */
export function claimsOf(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const claims: TokenClaims = buildClaims(grantOf());
  const changed: Record<string, unknown> = { ...claims, ...changes };
  return JSON.parse(JSON.stringify(changed));
}
