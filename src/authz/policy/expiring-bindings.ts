import type { ApiObject } from '../../api/kind.ts';
import { compareMoments, type PolicyMoment } from '../../api/visibility.ts';
import { Cache } from '../../lib/cache.ts';
import { type BindingFacts, bindingId } from './binding-facts.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import { readExpiry } from './rbac-objects.ts';

/** Far more than expire within the history that watches can resume from. */
const MAX_EXPIRED = 10_000;

type Expiry = Pick<BindingFacts, 'kind' | 'namespace' | 'name' | 'expiresAt'>;

/** Bindings with an expiry. Checking whether any has expired is one comparison. */
export class ExpiringBindings {
  readonly #bindings = new Set<CompiledBinding>();
  /** None expires before this time. It may be too early: a removal does not search for the next one. */
  #next = Number.POSITIVE_INFINITY;
  /** Bindings that have expired and are still stored. */
  readonly #expired = new Map<string, BindingFacts>();
  /** The clock is ahead of the expiry of all of them, unless it goes back. It may be too late, as `#next`. */
  #lastExpiry = Number.NEGATIVE_INFINITY;
  /** Those that have expired, and those that hold again, since they were last recorded. */
  #newlyExpired: BindingFacts[] = [];
  #heldAgain: BindingFacts[] = [];
  /**
   * When a binding expired, and when it held again, by its id and expiry. Owned by this table. A binding whose entry
   * was evicted counts as one that held for as long as it was stored.
   */
  readonly #gaps = new Cache<string, { readonly from: PolicyMoment; readonly to?: PolicyMoment }>({
    maxEntries: MAX_EXPIRED,
  });

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
      this.#lastExpiry = Math.max(this.#lastExpiry, binding.facts.expiresAt);
    }
    this.#findNext();
    return expired;
  }

  /** B13: those whose time is not over, because the clock was ahead. The caller adds them again. */
  takeHeldAgain(now: () => number): readonly BindingFacts[] {
    if (this.#lastExpiry === Number.NEGATIVE_INFINITY || now() >= this.#lastExpiry) return NONE;
    const time = now();
    const again: BindingFacts[] = [];
    this.#lastExpiry = Number.NEGATIVE_INFINITY;
    for (const [id, facts] of this.#expired) {
      if (facts.expiresAt > time) {
        this.#expired.delete(id);
        again.push(facts);
      } else this.#lastExpiry = Math.max(this.#lastExpiry, facts.expiresAt);
    }
    this.#heldAgain.push(...again);
    return again;
  }

  /** The stored binding was replaced or deleted. */
  forget(id: string): void {
    this.#expired.delete(id);
    if (this.#expired.size === 0) this.#lastExpiry = Number.NEGATIVE_INFINITY;
  }

  expired(): Iterable<BindingFacts> {
    return this.#expired.values();
  }

  get hasUnrecorded(): boolean {
    return this.#newlyExpired.length > 0 || this.#heldAgain.length > 0;
  }

  /** Those that have expired since the last call, and count as expired from this moment on. */
  takeNewlyExpired(moment: () => PolicyMoment): readonly BindingFacts[] {
    const expired = this.#newlyExpired;
    this.#newlyExpired = [];
    if (expired.length === 0) return NONE;
    const from = moment();
    for (const facts of expired) this.#gaps.set(expiryKey(facts), { from });
    return expired;
  }

  /** Those that hold again since the last call, and do so from this moment on. */
  takeNewlyHeld(moment: () => PolicyMoment): readonly BindingFacts[] {
    const held = this.#heldAgain;
    this.#heldAgain = [];
    if (held.length === 0) return NONE;
    const to = moment();
    for (const facts of held) {
      const gap = this.#gaps.get(expiryKey(facts));
      const hasExpiredAgain = this.#expired.has(bindingId(facts));
      if (gap !== undefined && !hasExpiredAgain) this.#gaps.set(expiryKey(facts), { ...gap, to });
    }
    return held;
  }

  /** Whether a binding that was stored at this moment had not expired then. */
  heldAt(
    { namespace, name, object }: { namespace: string; name: string; object: ApiObject },
    moment: PolicyMoment,
  ): boolean {
    const expiresAt = readExpiry(object);
    if (!Number.isFinite(expiresAt)) return expiresAt > 0;
    const gap = this.#gaps.get(
      expiryKey({ kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding', namespace, name, expiresAt }),
    );
    if (gap === undefined || compareMoments(moment, gap.from) < 0) return true;
    return gap.to !== undefined && compareMoments(moment, gap.to) >= 0;
  }

  #findNext(): void {
    this.#next = Number.POSITIVE_INFINITY;
    for (const { facts } of this.#bindings) this.#next = Math.min(this.#next, facts.expiresAt);
  }
}

const NONE: readonly never[] = [];

const expiryKey = (expiry: Expiry): string => `${bindingId(expiry)} ${expiry.expiresAt}`;
