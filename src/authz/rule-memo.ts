import type { ClusterRule } from '../api/authorization.ts';

/** Rules computed lately; the one not asked for longest is forgotten first. */
export class RuleMemo {
  readonly #entries = new Map<string, { readonly step: number; readonly rule: ClusterRule }>();
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** `step` is that of the last change that concerns the key: what was computed before it does not count. */
  get(key: string, step: number, compute: () => ClusterRule): ClusterRule {
    const known = this.#entries.get(key);
    // Taken out and put back: a Map remembers the order in which keys came.
    this.#entries.delete(key);
    const entry = known?.step === step ? known : { step, rule: compute() };
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break;
      this.#entries.delete(oldest);
    }
    return entry.rule;
  }
}
