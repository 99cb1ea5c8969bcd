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

/** Of how many callers the rules are kept, for each verb. */
const MAX_RECENT = 1_000;

/** Rules of the present moment, which a change of any kind ends for all. */
export class RecentRules {
  readonly #byVerb = new Map<string, Map<string, ClusterRule>>();
  #step = 0;

  get(verb: string, caller: string, step: number, find: () => ClusterRule): ClusterRule {
    if (step !== this.#step) {
      this.#byVerb.clear();
      this.#step = step;
    }
    let rules = this.#byVerb.get(verb);
    if (rules === undefined) {
      rules = new Map();
      this.#byVerb.set(verb, rules);
    }
    const known = rules.get(caller);
    if (known !== undefined) return known;
    const rule = find();
    if (rules.size === MAX_RECENT) rules.clear();
    rules.set(caller, rule);
    return rule;
  }
}
