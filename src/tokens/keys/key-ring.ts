import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../observability/logger.ts';
import { type Guard, type Leadership, leaderGuards, StorageError, type Store } from '../../storage/contract.ts';
import { type AppliedRevision, RevisionWaiters } from '../../storage/revision-waiters.ts';
import type { Algorithm } from './algorithms.ts';
import type { EncryptionKey } from './encryption-key.ts';
import {
  makeKey as makeRealKey,
  readSigningKey,
  readVerificationKey,
  type SigningKey,
  type VerificationKey,
} from './key-material.ts';
import {
  createRingChanges,
  type KeyRecord,
  type MakeKey,
  type RingChanges,
  type RingRules,
  type RingState,
} from './ring-state.ts';
import { createRingStore, type RingStore, type StoredRing } from './ring-store.ts';

export interface KeyRing {
  /**
   * The current key of an algorithm; without one, of the default. While a new algorithm has no current key, the key
   * that signed before it was in use. It is also among the keys for verifying.
   */
  signing(algorithm?: Algorithm): SigningKey;
  find(kid: string): VerificationKey | undefined;
  /** For verifying and for the published key set: current keys first, and of those the default algorithm's. */
  all(): readonly VerificationKey[];
}

/** A key as it is published: without its private half. */
export interface KeyEntry extends Pick<KeyRecord, 'kid' | 'algorithm' | 'created' | 'signsFrom' | 'expires'> {
  readonly state: KeyRecord['state'] | 'external';
  readonly verification: VerificationKey;
}

/** An external signer has the keys, so they cannot be changed here. */
export class KeysAreExternal extends Error {
  override readonly name = 'KeysAreExternal';
}

/** A rotation names an algorithm that signs nothing here. */
export class AlgorithmNotInUse extends Error {
  override readonly name = 'AlgorithmNotInUse';
}

interface RotationOptions {
  /** The name of an algorithm in use. Default: the default algorithm. */
  readonly algorithm?: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
}

/** The ring in the store, which all replicas share and any of them may change. */
export interface StoredKeyRing extends KeyRing {
  entries(): readonly KeyEntry[];
  /** The key that signs after the rotation: now, or as soon as every verifier has it. */
  rotate(options: RotationOptions): Promise<KeyEntry>;
  /** False when there is no such key. */
  revoke(kid: string): Promise<boolean>;
  /** When keys were revoked whose tokens may not have expired yet. Epoch milliseconds. */
  revocations(): readonly number[];
  /** Rotates and removes keys that are due, if this replica leads. */
  maintain(): Promise<void>;
  /** Called after every change of the keys, by this replica or another. */
  onChange(listener: () => void): void;
  /** Up to which revision of the store the keys are known. */
  readonly position: AppliedRevision;
  close(): Promise<void>;
}

export interface KeyRingOptions {
  readonly store: Store;
  readonly encryptionKey: EncryptionKey;
  readonly rules: RingRules;
  /** The leader rotates and removes keys. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  /** The time that is written, corrected if our clock is behind: clusters read their keys again by it. */
  readonly now: () => number;
  /** The time by which keys may be removed or rotated: see ClockGuard. */
  readonly removalTime: () => number;
  /** Repeats the task, until the returned function is called. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'error'>;
  readonly makeKey?: MakeKey;
}

const MAINTAIN_MS = 1_000;
const ATTEMPTS = 8;

/** Opens the ring in the store, or creates it. Replicas that do so at once all end up with one ring. */
export async function openKeyRing(options: KeyRingOptions): Promise<StoredKeyRing> {
  const { store, encryptionKey, rules, makeKey = makeRealKey } = options;
  const ringStore = createRingStore(store, encryptionKey);
  const changes = createRingChanges(rules, makeKey);
  const found = (await ringStore.read()) ?? (await createRing(options, ringStore, changes));
  const ring = new Ring(options, ringStore, changes, found, await compile(found.state, rules, undefined));
  await ring.start();
  return ring;
}

async function createRing(
  { now, removalTime }: KeyRingOptions,
  ringStore: RingStore,
  changes: RingChanges,
): Promise<StoredRing> {
  const state = await changes.advance({ keys: [] }, now(), removalTime());
  const ring = (await ringStore.write(state, undefined)) ?? (await ringStore.read());
  if (ring === undefined)
    throw new StorageError('unavailable', 'the signing keys were removed from the store right after they were created');
  return ring;
}

/** The parsed keys of a state. Made once, when the state changes. */
interface Compiled {
  readonly signing: ReadonlyMap<Algorithm, SigningKey>;
  /** Signs for every algorithm that has none. */
  readonly byDefault: SigningKey | undefined;
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly entries: readonly KeyEntry[];
}

const ORDER: Readonly<Record<KeyRecord['state'], number>> = { current: 0, next: 1, retired: 2 };

async function compile(
  { keys }: RingState,
  { algorithms }: Pick<RingRules, 'algorithms'>,
  before: Compiled | undefined,
): Promise<Compiled> {
  const isUsed = ({ algorithm }: KeyRecord): boolean => algorithms.includes(algorithm);
  const rank = (key: KeyRecord): number => (isUsed(key) ? algorithms.indexOf(key.algorithm) : algorithms.length);
  const entries = keys
    .toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || rank(a) - rank(b) || b.created - a.created)
    .map((record): KeyEntry => {
      const { privateKey: _, publicKey: _public, lifetimeSeconds: _lifetime, ...shown } = record;
      return { ...shown, verification: before?.keys.get(record.kid) ?? readVerificationKey(record) };
    });
  const verifying = new Map(entries.map(({ kid, verification }) => [kid, verification]));
  const signing = new Map<Algorithm, SigningKey>();
  const current = keys.filter(({ state }) => state === 'current');
  for (const record of current) {
    const verification = verifying.get(record.kid);
    if (verification === undefined) continue;
    const known = before?.signing.get(record.algorithm);
    const isKnown = known?.kid === record.kid;
    signing.set(record.algorithm, isKnown ? known : await readSigningKey(record, verification));
  }
  // A default algorithm that is new has no current key yet: the one before it, which is no longer in use, signs.
  const [wanted] = algorithms;
  const standIn = current.find((key) => key.algorithm === wanted) ?? current.find((key) => !isUsed(key)) ?? current[0];
  return { signing, byDefault: standIn && signing.get(standIn.algorithm), keys: verifying, entries };
}

/** Ends the threads of keys that sign no further token. */
function closeUnused(before: Compiled, after?: Compiled): void {
  const used = new Set(after?.signing.values());
  for (const key of before.signing.values()) if (!used.has(key)) key.close();
}

class Ring implements StoredKeyRing {
  readonly #options: KeyRingOptions;
  readonly #ringStore: RingStore;
  readonly #changes: RingChanges;
  readonly #listeners: (() => void)[] = [];
  readonly #stop = new AbortController();
  readonly position = new RevisionWaiters();
  #stored: StoredRing;
  #compiled: Compiled;
  #maintaining = false;
  #reported = '';
  #closers: (() => Promise<void> | void)[] = [];

  constructor(
    options: KeyRingOptions,
    ringStore: RingStore,
    changes: RingChanges,
    stored: StoredRing,
    compiled: Compiled,
  ) {
    this.#options = options;
    this.#ringStore = ringStore;
    this.#changes = changes;
    this.#stored = stored;
    this.#compiled = compiled;
  }

  async start(): Promise<void> {
    const { every } = this.#options;
    // Before the first token is signed: its key must be published until that token expires.
    await this.#change(this.#changes.cover);
    await this.maintain();
    const followed = this.#ringStore.follow({
      signal: this.#stop.signal,
      use: (stored) => this.#adopt(stored),
      reached: (revision) => this.position.moveTo(revision),
      report: (error) => this.#report(error),
    });
    this.#closers = [every(MAINTAIN_MS, () => void this.maintain()), () => followed];
  }

  signing(algorithm?: Algorithm): SigningKey {
    const { signing, byDefault } = this.#compiled;
    const key = (algorithm && signing.get(algorithm)) ?? byDefault;
    if (key === undefined) throw new Error('the ring has no current key');
    return key;
  }

  find(kid: string): VerificationKey | undefined {
    return this.#compiled.keys.get(kid);
  }

  all(): readonly VerificationKey[] {
    return [...this.#compiled.keys.values()];
  }

  entries(): readonly KeyEntry[] {
    return this.#compiled.entries;
  }

  async rotate({ algorithm: given, force, dryRun }: RotationOptions): Promise<KeyEntry> {
    const { now, removalTime, rules } = this.#options;
    const algorithm = given === undefined ? rules.algorithms[0] : rules.algorithms.find((one) => one === given);
    if (algorithm === undefined) {
      throw new AlgorithmNotInUse(`must be an algorithm that signs here: ${rules.algorithms.join(', ')}`);
    }
    const rotated = (state: RingState): Promise<RingState> =>
      this.#changes.rotate(state, now(), { algorithm, force }, removalTime());
    await this.#refresh();
    const state = dryRun ? await rotated(this.#stored.state) : await this.#change(rotated);
    const { entries } = await compile(state, rules, this.#compiled);
    const own = entries.filter((key) => key.algorithm === algorithm);
    // After a rotation that was immediate, the next key is new and has no planned date.
    const chosen =
      own.find((key) => key.state === 'next' && key.signsFrom !== undefined) ??
      own.find((key) => key.state === 'current');
    if (chosen === undefined) throw new Error('the ring has no key after a rotation');
    return chosen;
  }

  async revoke(kid: string): Promise<boolean> {
    const { now, removalTime } = this.#options;
    let found = false;
    await this.#refresh();
    await this.#change((state) => {
      found ||= state.keys.some((key) => key.kid === kid);
      return this.#changes.revoke(state, now(), kid, removalTime());
    });
    return found;
  }

  revocations(): readonly number[] {
    const now = this.#options.now();
    return (this.#stored.state.revocations ?? []).filter(({ until }) => until > now).map(({ at }) => at);
  }

  async maintain(): Promise<void> {
    const { leadership, now, removalTime } = this.#options;
    if (this.#maintaining || !leadership.leads()) return;
    this.#maintaining = true;
    try {
      // Fenced: a replica that was suspended after it read the clock must not rotate keys by a stale time.
      await this.#change(
        (state) => this.#changes.advance(state, now(), removalTime()),
        () => leaderGuards(leadership),
      );
      this.#reported = '';
    } catch (error) {
      this.#report(error);
    } finally {
      this.#maintaining = false;
    }
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.position.end();
    for (const close of this.#closers) await close();
    closeUnused(this.#compiled);
  }

  /** Retries on the newest state when another replica wrote first. */
  async #change(
    change: (state: RingState) => RingState | Promise<RingState>,
    guards: () => readonly Guard[] = () => [],
  ): Promise<RingState> {
    for (let attempt = 1; ; attempt++) {
      const from = this.#stored;
      // Taken before the change is computed, so that the write fails unless this replica led all the while.
      const taken = guards();
      const changed = await change(from.state);
      if (isDeepStrictEqual(changed, from.state)) return changed;
      const written = await this.#ringStore.write(changed, from, taken);
      if (written !== undefined) {
        await this.#adopt(written);
        return changed;
      }
      if (attempt >= ATTEMPTS)
        throw new StorageError(
          'unavailable',
          `the signing keys were changed by other replicas in each of ${ATTEMPTS} attempts`,
        );
      await this.#refresh();
    }
  }

  /** Reads the changes of other replicas that the watch has not delivered yet. */
  async #refresh(): Promise<void> {
    const newest = await this.#ringStore.read();
    if (newest === undefined) throw new StorageError('unreadable', 'the signing keys are no longer in the store');
    await this.#adopt(newest);
  }

  /** Swapped as a whole, and never for an older state. */
  async #adopt(stored: StoredRing): Promise<void> {
    if (stored.revision <= this.#stored.revision) return;
    const compiled = await compile(stored.state, this.#options.rules, this.#compiled);
    if (stored.revision <= this.#stored.revision) return;
    const before = this.#compiled;
    this.#stored = stored;
    this.#compiled = compiled;
    closeUnused(before, compiled);
    for (const listener of this.#listeners) listener();
    this.#change(this.#changes.cover).catch((error: unknown) => this.#report(error));
  }

  /** Once for each problem: `maintain` runs every second. */
  #report(error: unknown): void {
    const text = String(error);
    if (this.#reported === text) return;
    this.#reported = text;
    this.#options.logger.error({ err: error }, 'the signing keys could not be updated');
  }
}
