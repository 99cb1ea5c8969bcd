import type { ResourceQuestion } from '../../api/authorization.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import type { BindingFacts } from './binding-facts.ts';
import { ANY, contains, pathMatches, type Rule, type StringSet, stringSet } from './rules.ts';

/** Which bindings count for a question, besides their roles and clusters. */
export type Through = (binding: Pick<BindingFacts, 'agents' | 'approval'>) => boolean;

/**
 * A caller with one of these has tokens without an approval: through a binding that it makes, or as another user. So a
 * wildcard in a role whose tokens need a review does not include them.
 */
export const GRANTING_VERBS: ReadonlySet<string> = new Set(['bind', 'escalate', 'impersonate']);

const NEVER = Number.POSITIVE_INFINITY;

const hasEnded = ({ expiresAt }: BindingFacts, now: () => number): boolean => expiresAt !== NEVER && expiresAt <= now();

/** A question about a resource, prepared once for many roles. */
export class ResourceMatch {
  readonly verb: string;
  readonly group: string;
  readonly name: string;
  /** The elements of `resources` that match (P-12): itself, any, or any resource's subresource of that name. */
  readonly elements: readonly string[];
  /** Epoch milliseconds: what has ended counts no more. Read only if a binding ends. */
  readonly #now: () => number;
  readonly #through: Through | undefined;
  #longest: BindingFacts | undefined;

  constructor(question: Omit<ResourceQuestion, 'namespace' | 'cluster'>, now: () => number, through?: Through) {
    const { resource, subresource } = question;
    this.#now = now;
    this.verb = question.verb;
    this.group = question.group;
    this.name = question.name;
    this.#through = through;
    this.elements = subresource === '' ? [resource, ANY] : [`${resource}/${subresource}`, ANY, `*/${subresource}`];
  }

  admits(role: RuleIndex): boolean {
    return role.allows(this);
  }

  /** For a question without a name: the names for which the role allows it. Undefined if it allows nothing. */
  namesIn(role: RuleIndex): 'all' | readonly string[] | undefined {
    if (role.allows(this)) return 'all';
    const names = this.name === '' ? role.namesFor(this) : [];
    return names.length === 0 ? undefined : [...new Set(names.flatMap((some) => [...(some ?? [])]))].sort();
  }

  /** Whether the question is about tokens: a binding may allow them only with an approval. */
  get isAboutTokens(): boolean {
    const [element] = this.elements;
    return this.group === ''
      ? element === 'serviceaccounts/token'
      : element === 'clusters/userpass' && this.group === CLUSTER_GROUP;
  }

  counts(binding: BindingFacts): boolean {
    if (hasEnded(binding, this.#now)) return false;
    if (this.#through !== undefined) return this.#through(binding);
    return binding.approval !== 'review-always' || !(this.isAboutTokens || GRANTING_VERBS.has(this.verb));
  }

  /**
   * Whether a binding that counts ends the search. Rights add up: of the bindings that allow tokens, the one that
   * allows the longest pass decides. The match remembers it, until one allows passes of any length.
   */
  settles(binding: BindingFacts): boolean {
    if (binding.expiresAt === NEVER && binding.maxPassSeconds === NEVER) return true;
    if (!this.isAboutTokens) return true;
    if (this.#longest === undefined || this.#passEnd(binding) > this.#passEnd(this.#longest)) this.#longest = binding;
    return false;
  }

  /** The binding that allows the longest pass, of those that did not settle. */
  get longest(): BindingFacts | undefined {
    return this.#longest;
  }

  #passEnd({ expiresAt, maxPassSeconds }: BindingFacts): number {
    return Math.min(expiresAt, this.#now() + maxPassSeconds * 1000);
  }
}

/** A question about a non-resource path. */
export class PathMatch {
  readonly verb: string;
  readonly path: string;
  readonly longest = undefined;
  readonly #now: () => number;

  constructor(question: { readonly verb: string; readonly path: string }, now: () => number) {
    this.#now = now;
    this.verb = question.verb;
    this.path = question.path;
  }

  admits(role: RuleIndex): boolean {
    return role.allowsPath(this.verb, this.path);
  }

  namesIn(role: RuleIndex): 'all' | undefined {
    return this.admits(role) ? 'all' : undefined;
  }

  counts(binding: BindingFacts): boolean {
    return !hasEnded(binding, this.#now);
  }

  settles(): boolean {
    return true;
  }
}

export type Match = ResourceMatch | PathMatch;

interface PreparedRule {
  /** Undefined: any. */
  readonly verbs: StringSet | undefined;
  readonly groups: StringSet | undefined;
  /** Undefined: the rule is not restricted to names (P-13). */
  readonly names: ReadonlySet<string> | undefined;
}

const unlessAny = (list: readonly string[]): StringSet | undefined =>
  list.includes(ANY) ? undefined : stringSet(list);
const has = (set: StringSet | undefined, text: string): boolean => set === undefined || contains(set, text);

/** The rules of one role, indexed by resource. */
export class RuleIndex {
  readonly rules: readonly Rule[];
  readonly #byElement = new Map<string, PreparedRule[]>();
  readonly #paths: { readonly verbs: StringSet | undefined; readonly patterns: readonly string[] }[] = [];

  constructor(rules: readonly Rule[]) {
    this.rules = rules;
    for (const rule of rules) {
      const verbs = unlessAny(rule.verbs);
      if (rule.nonResourceURLs.length > 0) this.#paths.push({ verbs, patterns: rule.nonResourceURLs });
      const names = rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames);
      const prepared: PreparedRule = { verbs, groups: unlessAny(rule.apiGroups), names };
      for (const element of new Set(rule.resources)) {
        const list = this.#byElement.get(element);
        if (list === undefined) this.#byElement.set(element, [prepared]);
        else list.push(prepared);
      }
    }
  }

  /** P-12, P-13. */
  allows(match: ResourceMatch): boolean {
    for (const element of match.elements) {
      const rules = this.#byElement.get(element);
      if (rules === undefined) continue;
      for (const { verbs, groups, names } of rules) {
        if (has(verbs, match.verb) && has(groups, match.group) && has(names, match.name)) return true;
      }
    }
    return false;
  }

  /** P-15. */
  allowsPath(verb: string, path: string): boolean {
    return this.#paths.some(
      ({ verbs, patterns }) => has(verbs, verb) && patterns.some((pattern) => pathMatches(pattern, path)),
    );
  }

  /** For each rule that allows the verb on the resource: the names it is restricted to, undefined for all. */
  namesFor(match: ResourceMatch): (ReadonlySet<string> | undefined)[] {
    return match.elements.flatMap((element) =>
      (this.#byElement.get(element) ?? [])
        .filter(({ verbs, groups }) => has(verbs, match.verb) && has(groups, match.group))
        .map(({ names }) => names),
    );
  }
}
