import type { ApiObject } from '../api/kind.ts';
import { justAfter, type PolicyMoment } from '../api/visibility.ts';
import { Cache } from '../lib/cache.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import { type BindingFacts, bindingId, readExpiry } from './rbac-objects.ts';

/** Far more than expire within the history that watches can resume from. */
const MAX_EXPIRED = 10_000;

type Expiry = Pick<BindingFacts, 'namespace' | 'name' | 'expiresAt'>;

/** Bindings with an expiry. Checking whether any has expired is one comparison. */
export class ExpiringBindings {
  readonly #bindings = new Set<CompiledBinding>();
  /** None expires before this time. It may be too early: a removal does not search for the next one. */
  #next = Number.POSITIVE_INFINITY;
  /** Bindings that have expired and are still stored. */
  readonly #expired = new Map<string, BindingFacts>();
  /** Those that have expired since `takeNewlyExpired` was last called. */
  #newlyExpired: BindingFacts[] = [];
  /**
   * The last revision at which a binding held, by its id and expiry. Owned by this table. A binding whose entry was
   * evicted counts as one that held for as long as it was stored.
   */
  readonly #heldUntil = new Cache<string, number>({ maxEntries: MAX_EXPIRED });

  add(binding: CompiledBinding): void {
    const { expiresAt } = binding.facts;
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    this.#bindings.add(binding);
    this.#next = Math.min(this.#next, expiresAt);
  }

  remove(binding: CompiledBinding): void {
    this.#bindings.delete(binding);
    if (this.#bindings.size === 0) this.#next = Number.POSITIVE_INFINITY;
  }

  /** Takes out those that have expired. */
  takeExpired(now: () => number): readonly CompiledBinding[] {
    if (this.#next === Number.POSITIVE_INFINITY) return NONE;
    const time = now();
    if (time < this.#next) return NONE;
    const expired = [...this.#bindings].filter(({ facts }) => facts.expiresAt <= time);
    for (const binding of expired) {
      this.#bindings.delete(binding);
      this.#expired.set(binding.id, binding.facts);
      this.#newlyExpired.push(binding.facts);
    }
    this.#findNext();
    return expired;
  }

  /** The stored binding was replaced or deleted. */
  forget(id: string): void {
    this.#expired.delete(id);
  }

  expired(): Iterable<BindingFacts> {
    return this.#expired.values();
  }

  get hasNewlyExpired(): boolean {
    return this.#newlyExpired.length > 0;
  }

  /** Those that have expired since the last call. They held up to and including this revision. */
  takeNewlyExpired(revision: number): readonly BindingFacts[] {
    const expired = this.#newlyExpired;
    this.#newlyExpired = [];
    for (const facts of expired) this.#heldUntil.set(expiryKey(facts), revision);
    return expired;
  }

  /** Whether a binding that was stored at this moment had not expired then. */
  heldAt(
    { namespace, name, object }: { namespace: string; name: string; object: ApiObject },
    moment: PolicyMoment,
  ): boolean {
    const expiresAt = readExpiry(object);
    if (!Number.isFinite(expiresAt)) return expiresAt > 0;
    const until = this.#heldUntil.get(expiryKey({ namespace, name, expiresAt }));
    return until === undefined || moment < justAfter(until);
  }

  #findNext(): void {
    this.#next = Number.POSITIVE_INFINITY;
    for (const { facts } of this.#bindings) this.#next = Math.min(this.#next, facts.expiresAt);
  }
}

const NONE: readonly CompiledBinding[] = [];

const expiryKey = ({ namespace, name, expiresAt }: Expiry): string => `${bindingId(namespace, name)} ${expiresAt}`;
