import type { CompiledBinding } from './compiled-rbac.ts';

/** The bindings that end by themselves. The check whether one has ended costs one comparison. */
export class ExpiringBindings {
  readonly #bindings = new Set<CompiledBinding>();
  #next = Number.POSITIVE_INFINITY;

  add(binding: CompiledBinding): void {
    const { expiresAt } = binding.facts;
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    this.#bindings.add(binding);
    this.#next = Math.min(this.#next, expiresAt);
  }

  remove(binding: CompiledBinding): void {
    if (this.#bindings.delete(binding)) this.#findNext();
  }

  /** Takes out those that have ended. */
  takeExpired(now: () => number): readonly CompiledBinding[] {
    if (this.#next === Number.POSITIVE_INFINITY) return NONE;
    const time = now();
    if (time < this.#next) return NONE;
    const expired = [...this.#bindings].filter(({ facts }) => facts.expiresAt <= time);
    for (const binding of expired) this.#bindings.delete(binding);
    this.#findNext();
    return expired;
  }

  #findNext(): void {
    this.#next = Number.POSITIVE_INFINITY;
    for (const { facts } of this.#bindings) this.#next = Math.min(this.#next, facts.expiresAt);
  }
}

const NONE: readonly CompiledBinding[] = [];
