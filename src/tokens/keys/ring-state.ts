import type { Algorithm } from './algorithms.ts';

/**
 * `next`: published, so that verifiers learn it before it signs. `current`: signs. `retired`: published until the
 * last token that it signed has ended.
 */
export type KeyState = 'next' | 'current' | 'retired';

/** One key as it is kept, sealed, in the store. Times are epoch milliseconds. */
export interface KeyRecord {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly state: KeyState;
  /** SubjectPublicKeyInfo, DER in base64. */
  readonly publicKey: string;
  /** PKCS#8, DER in base64. Forgotten when the key retires. */
  readonly privateKey?: string;
  /** Since when it is published. */
  readonly created: number;
  /** Since when it signs; of a next key, when it will. Undefined: no change is planned. */
  readonly signsFrom?: number;
  /** Of a retired key: when it is no longer published. */
  readonly expires?: number;
  /** The longest lifetime, in seconds, of a token that it may have signed. */
  readonly lifetimeSeconds: number;
}

/** The keys of the whole fleet. At most one is current and at most one is next. */
export interface RingState {
  readonly keys: readonly KeyRecord[];
}

export interface RingRules {
  /** Of new keys; undefined when somebody else signs and no key is made here. */
  readonly algorithm: Algorithm | undefined;
  /** The longest lifetime that is granted. */
  readonly lifetimeSeconds: number;
  /** How long a key signs; 0 means until somebody asks for another. */
  readonly rotationMs: number;
}

export type MakeKey = (algorithm: Algorithm, created: number) => Promise<Omit<KeyRecord, 'state' | 'lifetimeSeconds'>>;

/** How long a verifier may keep a key set before it asks again (O-03). */
export const KEY_SET_MAX_AGE_SECONDS = 3600;
/** For clocks that differ, and for a replica that hears of changes late and serves or signs with what it knows. */
const SLACK_MS = 600_000;
/** K-15: a token is accepted so long after its end. */
const LEEWAY_MS = 60_000;
/** From then on every verifier knows a key, however old its key set. */
export const PUBLISHED_MS = KEY_SET_MAX_AGE_SECONDS * 1000 + SLACK_MS;
/** Somebody who rotates without end must not fill the key set, which every verifier reads. */
export const MAX_KEYS = 32;

export class TooManyKeys extends Error {
  override readonly name = 'TooManyKeys';
}

const inState = (state: RingState, wanted: KeyState): KeyRecord | undefined =>
  state.keys.find((key) => key.state === wanted);

export const currentOf = (state: RingState): KeyRecord | undefined => inState(state, 'current');
export const nextOf = (state: RingState): KeyRecord | undefined => inState(state, 'next');

/** What may change a ring. Each gives the same object when there is nothing to change. */
export interface RingChanges {
  /** What time brings: keys that are due sign, those that are done go, and there is always a next one. */
  advance(state: RingState, now: number): Promise<RingState>;
  /** The next key signs as soon as every verifier can know it, or at once. */
  rotate(state: RingState, now: number, force: boolean): Promise<RingState>;
  /** The key is gone at once. If it was the one that signs, the next takes its place. */
  revoke(state: RingState, now: number, kid: string): Promise<RingState>;
  /** Replicas may grant different lifetimes: a key is kept for the longest. */
  cover(state: RingState): RingState;
}

export function createRingChanges(rules: RingRules, makeKey: MakeKey): RingChanges {
  const { algorithm, lifetimeSeconds, rotationMs } = rules;

  const withFresh = async (state: RingState, now: number, made: Algorithm): Promise<RingState> => {
    if (state.keys.length >= MAX_KEYS) {
      const first = Math.min(...state.keys.map(({ expires }) => expires ?? Number.POSITIVE_INFINITY));
      throw new TooManyKeys(`there are ${MAX_KEYS} keys already; the first of them ends ${isoOf(first)}`);
    }
    return { keys: [...state.keys, { ...(await makeKey(made, now)), state: 'next', lifetimeSeconds }] };
  };

  const signs = async (given: RingState, now: number, made: Algorithm): Promise<RingState> => {
    let state = given;
    const old = nextOf(state);
    // It has signed nothing, so nobody misses it.
    if (old !== undefined && old.algorithm !== made) state = without(state, old.kid);
    if (nextOf(state) === undefined) state = await withFresh(state, now, made);
    const current = currentOf(state);
    // Nobody has a key set yet, or the one that signed was revoked: waiting would not help.
    if (current === undefined) return signs(promote(state, now), now, made);
    const next = nextOf(state);
    const isOld = rotationMs > 0 && now >= (current.signsFrom ?? current.created) + rotationMs;
    if (next?.signsFrom === undefined && (isOld || current.algorithm !== made)) state = plan(state, now);
    const due = nextOf(state)?.signsFrom;
    return due !== undefined && due <= now ? signs(promote(state, now), now, made) : state;
  };

  const advance = async (given: RingState, now: number): Promise<RingState> => {
    const over = given.keys.some(({ expires }) => expires !== undefined && expires <= now);
    const state = over ? { keys: given.keys.filter(({ expires }) => expires === undefined || expires > now) } : given;
    return algorithm === undefined ? retireAll(state, now) : signs(state, now, algorithm);
  };

  return {
    advance,
    async rotate(given, now, force) {
      const state = await advance(given, now);
      return advance(force ? promote(state, now) : plan(state, now), now);
    },
    revoke: (state, now, kid) =>
      state.keys.some((key) => key.kid === kid) ? advance(without(state, kid), now) : Promise.resolve(state),
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

/** A key that has signed, from now on only for verifying. */
export function retired(key: KeyRecord, now: number): KeyRecord {
  const { privateKey: _, ...rest } = key;
  return { ...rest, state: 'retired', expires: now + key.lifetimeSeconds * 1000 + LEEWAY_MS + SLACK_MS };
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

/** Leaves a plan that is there already. */
function plan(state: RingState, now: number): RingState {
  const next = nextOf(state);
  if (next === undefined || next.signsFrom !== undefined) return state;
  const signsFrom = Math.max(now, next.created + PUBLISHED_MS);
  return { keys: state.keys.map((key) => (key === next ? { ...key, signsFrom } : key)) };
}

/** Somebody else signs. What was signed here stays valid. */
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
  Number.isFinite(epochMs) ? `at ${new Date(epochMs).toISOString()}` : 'when somebody rotates';
