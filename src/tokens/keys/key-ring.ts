import { readSecretFile } from '../../lib/secret-file.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Guard, Store } from '../../storage/contract.ts';
import { type Leadership, leaderGuards } from '../../storage/leadership.ts';
import type { SignJws } from './algorithms.ts';
import type { EncryptionKey } from './encryption-key.ts';
import { followRing } from './follow-ring.ts';
import type { SigningKey, VerificationKey } from './key-material.ts';
import { makeKey as makeRealKey, readSigningKey, readVerificationKey } from './key-material.ts';
import { legacyFiles, readLegacyKeys } from './legacy-keys.ts';
import {
  createRingChanges,
  currentOf,
  type KeyRecord,
  type MakeKey,
  type RingChanges,
  type RingRules,
  type RingState,
} from './ring-state.ts';
import { createSealedRing, type SealedRing, type StoredRing } from './sealed-ring.ts';

export interface KeyRing {
  /** The key that signs; it is also among those for verifying. */
  signing(): SigningKey;
  find(kid: string): VerificationKey | undefined;
  /** For verifying and for the published key set: the signing key first. */
  all(): readonly VerificationKey[];
}

/** A key as it is shown: without what signs. */
export interface KeyEntry extends Pick<KeyRecord, 'kid' | 'algorithm' | 'created' | 'signsFrom' | 'expires'> {
  readonly state: KeyRecord['state'] | 'external';
  readonly verification: VerificationKey;
}

/** The keys are not ours to change. */
export class KeysElsewhere extends Error {
  override readonly name = 'KeysElsewhere';
}

/** The ring of the whole fleet, which every replica has and any may change. */
export interface StoredKeyRing extends KeyRing {
  entries(): readonly KeyEntry[];
  /** Gives the key that signs now or will. A rehearsal changes nothing. */
  rotate(options: { readonly force: boolean; readonly rehearse: boolean }): Promise<KeyEntry>;
  /** False when there is no such key. */
  revoke(kid: string): Promise<boolean>;
  /** Does what is due, if this replica is the one that does it. */
  maintain(): Promise<void>;
  /** Called after every change of the keys, whoever made it. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

export interface KeyRingOptions {
  readonly store: Store;
  readonly encryptionKey: EncryptionKey;
  readonly rules: RingRules;
  /** Where an older release kept its keys. */
  readonly legacyDir: string;
  /** Whether this replica does what is due. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly now: () => number;
  /** Starts a task that is repeated; gives what ends it. */
  readonly every: (ms: number, task: () => void) => () => void;
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly makeKey?: MakeKey;
  /** By default on Node's thread pool. */
  readonly sign?: SignJws;
}

const MAINTAIN_MS = 1_000;
const ATTEMPTS = 8;

/** Opens the ring in the store, or makes it. Of several that do so at once, all end up with the ring of one. */
export async function openKeyRing(options: KeyRingOptions): Promise<StoredKeyRing> {
  const { store, encryptionKey, rules, makeKey = makeRealKey } = options;
  const sealed = createSealedRing(store, encryptionKey);
  const changes = createRingChanges(rules, makeKey);
  const found = (await sealed.read()) ?? (await makeRing(options, sealed, changes));
  await refuseOpenLeftovers(options);
  const ring = new Ring(options, sealed, changes, found, await compile(found.state, undefined, options.sign));
  await ring.start();
  return ring;
}

async function makeRing(
  { legacyDir, rules, now, logger }: KeyRingOptions,
  sealed: SealedRing,
  changes: RingChanges,
): Promise<StoredRing> {
  const { algorithm, lifetimeSeconds } = rules;
  const legacy = await readLegacyKeys({ dir: legacyDir, algorithm, lifetimeSeconds, now: now() });
  const state = await changes.advance({ keys: legacy.keys }, now());
  const written = await sealed.write(state, undefined);
  if (written !== undefined && legacy.files.length > 0) {
    logger.info({ files: legacy.files }, 'signing keys were taken over from files into the store');
  }
  const ring = written ?? (await sealed.read());
  if (ring === undefined) throw new Error('the signing keys disappeared right after they were made');
  return ring;
}

/** They are not read any more, and may still hold the key that signs. */
async function refuseOpenLeftovers({ legacyDir, logger }: KeyRingOptions): Promise<void> {
  const files = await legacyFiles(legacyDir);
  if (files.length === 0) return;
  for (const file of files) await readSecretFile(file);
  logger.warn({ files }, 'signing keys are in the store now, and these files are no longer read: remove them');
}

/** What is used of a state: read once, when it changes. */
interface Compiled {
  readonly signing: SigningKey | undefined;
  readonly keys: ReadonlyMap<string, VerificationKey>;
  readonly entries: readonly KeyEntry[];
}

const ORDER: Readonly<Record<KeyRecord['state'], number>> = { current: 0, next: 1, retired: 2 };

async function compile(
  { keys }: RingState,
  before: Compiled | undefined,
  sign: SignJws | undefined,
): Promise<Compiled> {
  const entries = keys
    .toSorted((a, b) => ORDER[a.state] - ORDER[b.state] || b.created - a.created)
    .map((record): KeyEntry => {
      const { privateKey: _, publicKey: _public, lifetimeSeconds: _lifetime, ...shown } = record;
      return { ...shown, verification: before?.keys.get(record.kid) ?? readVerificationKey(record) };
    });
  const verifying = new Map(entries.map(({ kid, verification }) => [kid, verification]));
  const current = currentOf({ keys });
  const verification = current && verifying.get(current.kid);
  const signing =
    current === undefined || verification === undefined
      ? undefined
      : before?.signing?.kid === current.kid
        ? before.signing
        : await readSigningKey(current, verification, sign);
  return { signing, keys: verifying, entries };
}

class Ring implements StoredKeyRing {
  readonly #options: KeyRingOptions;
  readonly #sealed: SealedRing;
  readonly #changes: RingChanges;
  readonly #listeners: (() => void)[] = [];
  readonly #stop = new AbortController();
  #stored: StoredRing;
  #compiled: Compiled;
  #maintaining = false;
  #reported = '';
  #ends: (() => Promise<void> | void)[] = [];

  constructor(
    options: KeyRingOptions,
    sealed: SealedRing,
    changes: RingChanges,
    stored: StoredRing,
    compiled: Compiled,
  ) {
    this.#options = options;
    this.#sealed = sealed;
    this.#changes = changes;
    this.#stored = stored;
    this.#compiled = compiled;
  }

  async start(): Promise<void> {
    const { store, every } = this.#options;
    // Before the first token is signed: its key must be kept for as long as that token lives.
    await this.#change(this.#changes.cover);
    await this.maintain();
    const followed = followRing({
      store,
      sealed: this.#sealed,
      from: this.#stored.revision,
      signal: this.#stop.signal,
      use: (stored) => this.#adopt(stored),
      report: (error) => this.#report(error),
    });
    this.#ends = [every(MAINTAIN_MS, () => void this.maintain()), () => followed];
  }

  signing(): SigningKey {
    const { signing } = this.#compiled;
    if (signing === undefined) throw new Error('no key of this ring signs');
    return signing;
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

  async rotate({ force, rehearse }: { force: boolean; rehearse: boolean }): Promise<KeyEntry> {
    const turned = (state: RingState): Promise<RingState> => this.#changes.rotate(state, this.#options.now(), force);
    await this.#refresh();
    const state = rehearse ? await turned(this.#stored.state) : await this.#change(turned);
    // A change that happened at once has made a new next key, without a plan.
    const { entries } = await compile(state, this.#compiled, this.#options.sign);
    const chosen =
      entries.find((key) => key.state === 'next' && key.signsFrom !== undefined) ??
      entries.find((key) => key.state === 'current');
    if (chosen === undefined) throw new Error('a ring that rotates has a key');
    return chosen;
  }

  async revoke(kid: string): Promise<boolean> {
    let found = false;
    await this.#refresh();
    await this.#change((state) => {
      found ||= state.keys.some((key) => key.kid === kid);
      return this.#changes.revoke(state, this.#options.now(), kid);
    });
    return found;
  }

  async maintain(): Promise<void> {
    const { leadership, now } = this.#options;
    if (this.#maintaining || !leadership.leads()) return;
    this.#maintaining = true;
    try {
      // Fenced: one that was asleep since it looked must not turn keys by a time that has passed.
      await this.#change(
        (state) => this.#changes.advance(state, now()),
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
    for (const end of this.#ends) await end();
  }

  /** Tries again on top of what others wrote meanwhile. */
  async #change(
    change: (state: RingState) => RingState | Promise<RingState>,
    guards: () => readonly Guard[] = () => [],
  ): Promise<RingState> {
    for (let attempt = 1; ; attempt++) {
      const from = this.#stored;
      // Taken before the change is made up: whoever leads by then must have led all the while.
      const demands = guards();
      const to = await change(from.state);
      if (to === from.state) return to;
      const written = await this.#sealed.write(to, from, demands);
      if (written !== undefined) {
        await this.#adopt(written);
        return to;
      }
      if (attempt >= ATTEMPTS) throw new Error('the signing keys are being changed by others all the time');
      await this.#refresh();
    }
  }

  /** What others did counts, also when the watch has not brought it yet. */
  async #refresh(): Promise<void> {
    const theirs = await this.#sealed.read();
    if (theirs === undefined) throw new Error('the signing keys are no longer in the store');
    await this.#adopt(theirs);
  }

  /** Swapped whole, and never for something older. */
  async #adopt(stored: StoredRing): Promise<void> {
    if (stored.revision <= this.#stored.revision) return;
    const compiled = await compile(stored.state, this.#compiled, this.#options.sign);
    if (stored.revision <= this.#stored.revision) return;
    this.#stored = stored;
    this.#compiled = compiled;
    for (const listener of this.#listeners) listener();
    if (this.#changes.cover(stored.state) !== stored.state) {
      this.#change(this.#changes.cover).catch((error: unknown) => this.#report(error));
    }
  }

  /** Once for each problem: this is tried again every second. */
  #report(error: unknown): void {
    const text = String(error);
    if (this.#reported === text) return;
    this.#reported = text;
    this.#options.logger.error({ err: error }, 'the signing keys could not be brought up to date');
  }
}
