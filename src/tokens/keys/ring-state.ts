import type { Algorithm } from './algorithms.ts';

/**
 * `next`: published, so that verifiers learn it before it signs. `current`: signs. `retired`: published until the
 * last token that it signed has expired.
 */
export type KeyState = 'next' | 'current' | 'retired';

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

/** The keys of the whole fleet. At most one is current and at most one is next. */
export interface RingState {
  readonly keys: readonly KeyRecord[];
  /** The newest last. Undefined in the result of a change: they stay as they were. */
  readonly revocations?: readonly Revocation[];
}

export interface RingRules {
  /** Of new keys; undefined when an external signer signs, and no key is generated here. */
  readonly algorithm: Algorithm | undefined;
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
/** K-15: a token is accepted this long after `exp`. */
const LEEWAY_MS = 60_000;
/** This long after its publication, every verifier has a key, however old its key set is. */
export const PUBLISHED_MS = KEY_SET_MAX_AGE_SECONDS * 1000 + SLACK_MS;
/** Repeated rotations must not fill the key set, which every verifier reads. */
export const MAX_KEYS = 32;
const MAX_REVOCATIONS = 32;

export class TooManyKeys extends Error {
  override readonly name = 'TooManyKeys';
}

const inState = (state: RingState, wanted: KeyState): KeyRecord | undefined =>
  state.keys.find((key) => key.state === wanted);

export const currentOf = (state: RingState): KeyRecord | undefined => inState(state, 'current');
export const nextOf = (state: RingState): KeyRecord | undefined => inState(state, 'next');

/**
 * The changes of a ring. Each returns the same object when there is nothing to change.
 *
 * `now` is the time that is written. Keys that are due at the time `due` are removed or rotated; it is -Infinity while
 * the clock may be wrong, because removing a key too early invalidates its tokens for good. Default: `now`.
 */
export interface RingChanges {
  /** Promotes a next key that is due, removes retired keys that have expired, and generates the next key. */
  advance(state: RingState, now: number, due?: number): Promise<RingState>;
  /** The next key signs as soon as every verifier can have it; with `force`, now. */
  rotate(state: RingState, now: number, force: boolean, due?: number): Promise<RingState>;
  /** Removes the key now. If it was the current key, the next one signs. */
  revoke(state: RingState, now: number, kid: string, due?: number): Promise<RingState>;
  /** Raises the lifetimes in the ring to ours: replicas may grant different ones, and a key stays for the longest. */
  cover(state: RingState): RingState;
}

export function createRingChanges(rules: RingRules, makeKey: MakeKey): RingChanges {
  const { algorithm, lifetimeSeconds, rotationMs } = rules;

  const withNext = async (state: RingState, now: number, wanted: Algorithm): Promise<RingState> => {
    if (state.keys.length >= MAX_KEYS) {
      const first = Math.min(...state.keys.map(({ expires }) => expires ?? Number.POSITIVE_INFINITY));
      throw new TooManyKeys(`there are ${MAX_KEYS} keys already; the first of them expires ${isoOf(first)}`);
    }
    return { keys: [...state.keys, { ...(await makeKey(wanted, now)), state: 'next', lifetimeSeconds }] };
  };

  const promoteDue = async (given: RingState, now: number, due: number, wanted: Algorithm): Promise<RingState> => {
    let state = given;
    const old = nextOf(state);
    // A next key has signed nothing, so no verifier needs it.
    if (old !== undefined && old.algorithm !== wanted) state = without(state, old.kid);
    if (nextOf(state) === undefined) state = await withNext(state, now, wanted);
    const current = currentOf(state);
    // No key was published yet, or the current key was revoked: there is nothing to wait for.
    if (current === undefined) return promoteDue(promote(state, now), now, due, wanted);
    const next = nextOf(state);
    const isOld = rotationMs > 0 && due >= (current.signsFrom ?? current.created) + rotationMs;
    if (next?.signsFrom === undefined && (isOld || current.algorithm !== wanted)) state = plan(state, now);
    const planned = nextOf(state)?.signsFrom;
    return planned !== undefined && planned <= due ? promoteDue(promote(state, now), now, due, wanted) : state;
  };

  const advance = async (given: RingState, now: number, due = now): Promise<RingState> => {
    const hasExpired = given.keys.some(({ expires }) => expires !== undefined && expires <= due);
    const state = hasExpired
      ? { keys: given.keys.filter(({ expires }) => expires === undefined || expires > due) }
      : given;
    return algorithm === undefined ? retireAll(state, now) : promoteDue(state, now, due, algorithm);
  };

  return {
    advance,
    async rotate(given, now, force, due) {
      const state = await advance(given, now, due);
      return advance(force ? promote(state, now) : plan(state, now), now, due);
    },
    async revoke(state, now, kid, due) {
      const key = state.keys.find((one) => one.kid === kid);
      if (key === undefined) return state;
      const { keys } = await advance(without(state, kid), now, due);
      const until = now + key.lifetimeSeconds * 1000 + LEEWAY_MS + SLACK_MS;
      const before = (state.revocations ?? []).filter((one) => one.until > now);
      return { keys, revocations: [...before, { at: now, until }].slice(-MAX_REVOCATIONS) };
    },
    cover: (state) =>
      state.keys.some((key) => key.state !== 'retired' && key.lifetimeSeconds < lifetimeSeconds)
        ? {
            keys: state.keys.map((key) =>
              key.state === 'retired'
                ? key
                : { ...key, lifetimeSeconds: Math.max(key.lifetimeSeconds, lifetimeSeconds) },
            ),
          }
        : state,
  };
}

/** The changed state, with the revocations of the state before it unless it has its own. */
export const withRevocations = (changed: RingState, { revocations }: RingState): RingState =>
  changed.revocations !== undefined || revocations === undefined ? changed : { ...changed, revocations };

/** A key that has signed and from now on only verifies. */
export function retired(key: KeyRecord, now: number): KeyRecord {
  const { privateKey: _, ...rest } = key;
  // Twice the lifetime: the clock may have been behind when the key was retired.
  return { ...rest, state: 'retired', expires: now + 2 * key.lifetimeSeconds * 1000 + LEEWAY_MS + SLACK_MS };
}

/** Current first, then next, then the retired ones. */
function promote(state: RingState, now: number): RingState {
  const next = nextOf(state);
  if (next === undefined) return state;
  const others = state.keys.filter((key) => key !== next);
  return {
    keys: [
      { ...next, state: 'current', signsFrom: now },
      ...others.map((key) => (key.state === 'current' ? retired(key, now) : key)),
    ],
  };
}

/** Plans the promotion of the next key, unless one is planned. */
function plan(state: RingState, now: number): RingState {
  const next = nextOf(state);
  if (next === undefined || next.signsFrom !== undefined) return state;
  const signsFrom = Math.max(now, next.created + PUBLISHED_MS);
  return { keys: state.keys.map((key) => (key === next ? { ...key, signsFrom } : key)) };
}

/** For an external signer. Tokens that were signed here stay valid. */
function retireAll(state: RingState, now: number): RingState {
  if (state.keys.every((key) => key.state === 'retired')) return state;
  return {
    keys: state.keys
      .filter((key) => key.state !== 'next')
      .map((key) => (key.state === 'current' ? retired(key, now) : key)),
  };
}

const without = (state: RingState, kid: string): RingState => ({ keys: state.keys.filter((key) => key.kid !== kid) });

const isoOf = (epochMs: number): string =>
  Number.isFinite(epochMs) ? `at ${new Date(epochMs).toISOString()}` : 'after a rotation';
