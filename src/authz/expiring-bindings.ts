import { justAfter } from '../api/authorization.ts';
import type { ApiObject } from '../api/kind.ts';
import { Cache } from '../lib/cache.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import { type BindingFacts, bindingId, readExpiry } from './rbac-objects.ts';

/** Far more than end within the history that watches can resume from. */
const MAX_ENDS = 10_000;

type Ending = Pick<BindingFacts, 'namespace' | 'name' | 'expiresAt'>;

/** The bindings that end by themselves. The check whether one has ended costs one comparison. */
export class ExpiringBindings {
  readonly #bindings = new Set<CompiledBinding>();
  #next = Number.POSITIVE_INFINITY;
  /** Bindings that have ended and are still stored. */
  readonly #ended = new Map<string, BindingFacts>();
  /** Those that have ended since `settle` was last called. */
  #unsettled: BindingFacts[] = [];
  /**
   * The last revision at which a binding held, by its id and its end. Owned by this table. A binding whose entry was
   * evicted counts as one that held for as long as it was stored.
   */
  readonly #heldUntil = new Cache<string, number>({ maxEntries: MAX_ENDS });

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
    for (const binding of expired) {
      this.#bindings.delete(binding);
      this.#ended.set(binding.id, binding.facts);
      this.#unsettled.push(binding.facts);
    }
    this.#findNext();
    return expired;
  }

  /** The stored binding was replaced or deleted. */
  forget(id: string): void {
    this.#ended.delete(id);
  }

  ended(): Iterable<BindingFacts> {
    return this.#ended.values();
  }

  get hasUnsettled(): boolean {
    return this.#unsettled.length > 0;
  }

  /** Those that have ended since the last call. They held up to and including this revision. */
  settle(revision: number): readonly BindingFacts[] {
    const ended = this.#unsettled;
    this.#unsettled = [];
    for (const facts of ended) this.#heldUntil.set(endKey(facts), revision);
    return ended;
  }

  /** Whether a binding that was stored at this revision had not ended then. */
  heldAt(
    { namespace, name, object }: { namespace: string; name: string; object: ApiObject },
    revision: number,
  ): boolean {
    const expiresAt = readExpiry(object);
    if (!Number.isFinite(expiresAt)) return expiresAt > 0;
    const until = this.#heldUntil.get(endKey({ namespace, name, expiresAt }));
    return until === undefined || revision < justAfter(until);
  }

  #findNext(): void {
    this.#next = Number.POSITIVE_INFINITY;
    for (const { facts } of this.#bindings) this.#next = Math.min(this.#next, facts.expiresAt);
  }
}

const NONE: readonly CompiledBinding[] = [];

const endKey = ({ namespace, name, expiresAt }: Ending): string => `${bindingId(namespace, name)} ${expiresAt}`;
