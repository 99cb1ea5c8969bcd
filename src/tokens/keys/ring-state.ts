import { LEEWAY_MS } from '../../api/kind.ts';
import type { Algorithm } from './algorithms.ts';

/**
 * `next`: published, so that verifiers learn it before it signs. `current`: signs. `retired`: published until the
 * last token that it signed has expired.
 */
type KeyState = 'next' | 'current' | 'retired';

/** One key as it is stored, encrypted. Times are epoch milliseconds. */
export interface KeyRecord {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly state: KeyState;
  /** SubjectPublicKeyInfo, DER in base64. */
  readonly publicKey: string;
  /** PKCS#8, DER in base64. Deleted when the key retires. */
  readonly privateKey?: string;
  /** When it was published. */
  readonly created: number;
  /** When it began to sign; of a next key, when it will. Undefined: no rotation is planned. */
  readonly signsFrom?: number;
  /** Of a retired key: when its publication ends. */
  readonly expires?: number;
  /** The longest lifetime, in seconds, of a token that it may have signed. */
  readonly lifetimeSeconds: number;
}

/** When a key was revoked, and when the last token that it signed has expired. */
export interface Revocation {
  readonly at: number;
  readonly until: number;
}

/** The keys of the whole fleet. Of each algorithm at most one is current and at most one is next. */
export interface RingState {
  readonly keys: readonly KeyRecord[];
  /** The newest last. */
  readonly revocations?: readonly Revocation[];
}

export interface RingRules {
  /**
   * The algorithms that sign; the first is the default. Empty when an external signer signs, and no key is generated
   * here.
   */
  readonly algorithms: readonly Algorithm[];
  /** The longest lifetime that is granted. */
  readonly lifetimeSeconds: number;
  /** How long a key signs; 0: until an operator rotates it. */
  readonly rotationMs: number;
}

export type MakeKey = (algorithm: Algorithm, created: number) => Promise<Omit<KeyRecord, 'state' | 'lifetimeSeconds'>>;

/** How long a verifier may cache the key set (O-03). */
export const KEY_SET_MAX_AGE_SECONDS = 3600;
/** For clocks that differ, and for a replica that observes a change late and meanwhile signs with the old ring. */
const SLACK_MS = 600_000;
/** This long after its publication, every verifier has a key, however old its key set is. */
export const PUBLISHED_MS = KEY_SET_MAX_AGE_SECONDS * 1000 + SLACK_MS;
/** Repeated rotations must not fill the key set, which every verifier reads. */
export const MAX_KEYS = 32;
const MAX_REVOCATIONS = 32;

export class TooManyKeys extends Error {
  override readonly name = 'TooManyKeys';
}

const inState = (state: RingState, wanted: KeyState, algorithm: Algorithm): KeyRecord | undefined =>
  state.keys.find((key) => key.state === wanted && key.algorithm === algorithm);

export const currentOf = (state: RingState, algorithm: Algorithm): KeyRecord | undefined =>
  inState(state, 'current', algorithm);
export const nextOf = (state: RingState, algorithm: Algorithm): KeyRecord | undefined =>
  inState(state, 'next', algorithm);

/**
 * The changes of a ring. Each returns the state after it, which equals the given one when there is nothing to change.
 *
 * `now` is the time that is written. Keys that are due at the time `due` are removed or rotated; it is -Infinity while
 * the clock may be wrong, because removing a key too early invalidates its tokens for good. Default: `now`.
 */
export interface RingChanges {
  /**
   * Promotes next keys that are due, removes retired keys that have expired, and generates next keys. Keys of an
   * algorithm that is no longer in use retire once the default algorithm has a key that signs.
   */
  advance(state: RingState, now: number, due?: number): Promise<RingState>;
  /** The next key of the algorithm signs as soon as every verifier can have it; with `force`, now. */
  rotate(state: RingState, now: number, rotation: Rotation, due?: number): Promise<RingState>;
  /** Removes the key now. If it was a current key, the next one of its algorithm signs. */
  revoke(state: RingState, now: number, kid: string, due?: number): Promise<RingState>;
  /** Raises the lifetimes in the ring to ours: replicas may grant different ones, and a key stays for the longest. */
  cover(state: RingState): RingState;
}

export interface Rotation {
  /** One of those in use. */
  readonly algorithm: Algorithm;
  readonly force: boolean;
}

export function createRingChanges(rules: RingRules, makeKey: MakeKey): RingChanges {
  const { algorithms, lifetimeSeconds, rotationMs } = rules;

  const withNext = async (state: RingState, now: number, algorithm: Algorithm): Promise<RingState> => {
    if (nextOf(state, algorithm) !== undefined) return state;
    if (state.keys.length >= MAX_KEYS) {
      // Most of so many keys are retired, and expire.
      const first = Math.min(...state.keys.map(({ expires }) => expires ?? Number.POSITIVE_INFINITY));
      throw new TooManyKeys(
        `there are ${MAX_KEYS} keys already; the first of them expires at ${new Date(first).toISOString()}`,
      );
    }
    const made = await makeKey(algorithm, now);
    return { ...state, keys: [...state.keys, { ...made, state: 'next', lifetimeSeconds }] };
  };

  /** `waits`: a first key of the algorithm is published before it signs, because another key signs meanwhile. */
  const advanceAlgorithm = async (
    given: RingState,
    algorithm: Algorithm,
    { now, due, waits }: { readonly now: number; readonly due: number; readonly waits: boolean },
  ): Promise<RingState> => {
    const state = await withNext(given, now, algorithm);
    const current = currentOf(state, algorithm);
    if (current === undefined && !waits) return withNext(promote(state, now, algorithm), now, algorithm);
    const isOld = (key: KeyRecord): boolean => rotationMs > 0 && due >= (key.signsFrom ?? key.created) + rotationMs;
    const planned = current === undefined || isOld(current) ? plan(state, now, algorithm) : state;
    const signsFrom = nextOf(planned, algorithm)?.signsFrom;
    if (signsFrom === undefined || signsFrom > due) return planned;
    return withNext(promote(planned, now, algorithm), now, algorithm);
  };

  const advance = async (given: RingState, now: number, due = now): Promise<RingState> => {
    let state = dropExpired(given, due);
    // Keys are dated by `now`, which may be later than `due`: it decides whether a clock was ahead.
    if (Number.isFinite(due)) state = redate(state, now);
    const waits = state.keys.some((key) => key.state === 'current');
    for (const algorithm of algorithms) state = await advanceAlgorithm(state, algorithm, { now, due, waits });
    return retireUnused(state, now, algorithms);
  };

  /** If it was a current key, the next one of its algorithm signs. */
  const withoutKey = async (state: RingState, key: KeyRecord, now: number): Promise<RingState> => {
    const left = { ...state, keys: state.keys.filter((one) => one !== key) };
    if (key.state !== 'current' || !algorithms.includes(key.algorithm)) return left;
    return promote(await withNext(left, now, key.algorithm), now, key.algorithm);
  };

  return {
    advance,
    async rotate(given, now, { algorithm, force }, due) {
      const state = await advance(given, now, due);
      return advance(force ? promote(state, now, algorithm) : plan(state, now, algorithm), now, due);
    },
    async revoke(state, now, kid, due) {
      const key = state.keys.find((one) => one.kid === kid);
      if (key === undefined) return state;
      const { keys } = await advance(await withoutKey(state, key, now), now, due);
      const until = now + key.lifetimeSeconds * 1000 + LEEWAY_MS + SLACK_MS;
      const before = (state.revocations ?? []).filter((one) => one.until > now);
      return { keys, revocations: [...before, { at: now, until }].slice(-MAX_REVOCATIONS) };
    },
    cover: (state) => ({
      ...state,
      keys: state.keys.map((key) =>
        key.state === 'retired' ? key : { ...key, lifetimeSeconds: Math.max(key.lifetimeSeconds, lifetimeSeconds) },
      ),
    }),
  };
}

/** A key that has signed and from now on only verifies. */
function retired(key: KeyRecord, now: number): KeyRecord {
  const { privateKey: _, ...rest } = key;
  // Twice the lifetime: the clock may have been behind when the key was retired.
  return { ...rest, state: 'retired', expires: now + 2 * key.lifetimeSeconds * 1000 + LEEWAY_MS + SLACK_MS };
}

/** The next key of the algorithm signs from now on. */
function promote(state: RingState, now: number, algorithm: Algorithm): RingState {
  const next = nextOf(state, algorithm);
  if (next === undefined) return state;
  const current = currentOf(state, algorithm);
  const others = state.keys.filter((key) => key !== next);
  return {
    ...state,
    keys: [
      { ...next, state: 'current', signsFrom: now },
      ...others.map((key) => (key === current ? retired(key, now) : key)),
    ],
  };
}

/** Plans the promotion of the next key of the algorithm, unless one is planned. */
function plan(state: RingState, now: number, algorithm: Algorithm): RingState {
  const next = nextOf(state, algorithm);
  if (next === undefined || next.signsFrom !== undefined) return state;
  const signsFrom = Math.max(now, next.created + PUBLISHED_MS);
  return { ...state, keys: state.keys.map((key) => (key === next ? { ...key, signsFrom } : key)) };
}

/** Without the retired keys whose publication has ended. */
const dropExpired = (state: RingState, due: number): RingState => ({
  ...state,
  keys: state.keys.filter(({ expires }) => expires === undefined || expires > due),
});

/** Corrects the dates of a clock that was ahead. */
const redate = (state: RingState, now: number): RingState => ({
  ...state,
  keys: state.keys.map((key) => (isDatedAfter(key, now) ? datedBy(key, now) : key)),
});

/** Whether a clock that was ahead dated the key: its rotation would wait for the time of that clock. */
function isDatedAfter(key: KeyRecord, now: number): boolean {
  if (key.state === 'retired') return false;
  const latest = key.state === 'next' ? now + PUBLISHED_MS : now;
  return key.created > now + SLACK_MS || (key.signsFrom ?? 0) > latest + SLACK_MS;
}

function datedBy(key: KeyRecord, now: number): KeyRecord {
  const created = Math.min(key.created, now);
  if (key.signsFrom === undefined) return { ...key, created };
  const latest = key.state === 'next' ? Math.max(now, created + PUBLISHED_MS) : now;
  return { ...key, created, signsFrom: Math.min(key.signsFrom, latest) };
}

/**
 * The keys of algorithms that are not in use. A next key has signed nothing, so no verifier needs it. A current key
 * signs until the default algorithm has one; without a default, an external signer signs. Issued tokens stay valid.
 */
function retireUnused(state: RingState, now: number, algorithms: readonly Algorithm[]): RingState {
  const [byDefault] = algorithms;
  const isReplaced = byDefault === undefined || currentOf(state, byDefault) !== undefined;
  const isUnused = (key: KeyRecord): boolean => key.state !== 'retired' && !algorithms.includes(key.algorithm);
  return {
    ...state,
    keys: state.keys
      .filter((key) => !isUnused(key) || key.state !== 'next')
      .map((key) => (isUnused(key) && isReplaced ? retired(key, now) : key)),
  };
}

/** After this time every replica serves the key set without the revoked key. */
const SETTLED_MS = 2_000;

/**
 * The times at which every cluster is sent a token that no key verifies, for keys that were revoked at the given times.
 * All are epoch milliseconds.
 *
 * kube-apiserver verifies with the keys that it has, however old they are. A token that none of them verifies makes it
 * read the key set again, but only if its own is older than the `max-age` of the response, less 30 seconds (go-oidc v2,
 * RemoteKeySet). So the first token reaches the API servers whose key set is older than that. The others have read
 * theirs within `max-age` before the revocation: the second token reaches them.
 */
export const refreshTimes = (revocations: readonly number[]): number[] =>
  revocations.flatMap((at) => [at + SETTLED_MS, at + KEY_SET_MAX_AGE_SECONDS * 1000 + SETTLED_MS]);
