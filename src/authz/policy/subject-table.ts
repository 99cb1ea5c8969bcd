import type { Caller, User } from '../../api/caller.ts';
import type { TimeSpan } from '../../api/visibility.ts';
import { reasonText } from './binding-facts.ts';
import { ScopeBindings } from './binding-index.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import type { Subject } from './rbac-objects.ts';

/** A version of the policy. `generation` counts changes; revisions may arrive out of order while loading. */
interface PolicyVersion {
  readonly generation: number;
  readonly revision: number;
}

/** One user name or group that bindings name, or did until recently. */
export class SubjectEntry {
  /** Never reused. */
  readonly id: number;
  /** By namespace; `""` holds the bindings that hold in all of them. */
  readonly scopes = new Map<string, ScopeBindings>();
  /** Those of its bindings that end by themselves. */
  readonly ending = new Set<CompiledBinding>();
  changed: PolicyVersion = INITIAL;

  constructor(id: number) {
    this.id = id;
  }
}

const INITIAL: PolicyVersion = { generation: 0, revision: 0 };

const later = (a: PolicyVersion, b: PolicyVersion): PolicyVersion => ({
  generation: Math.max(a.generation, b.generation),
  revision: Math.max(a.revision, b.revision),
});

/** Finds the bindings of a caller without a scan of those of others. */
export class SubjectTable {
  readonly #users = new Map<string, SubjectEntry>();
  readonly #groups = new Map<string, SubjectEntry>();
  /** Subjects that no binding names any more, oldest first. They are kept for the version of their last change. */
  readonly #idle = new Map<SubjectEntry, Subject>();
  readonly #maxIdle: number;
  #lastId = 0;
  /** The latest change of the idle subjects that were dropped: any subject may be one of them. */
  #dropped = INITIAL;

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  #mapOf({ kind }: Subject): Map<string, SubjectEntry> {
    return kind === 'user' ? this.#users : this.#groups;
  }

  /** The entries of the user's name and groups, as far as bindings name them. */
  entriesOf(user: User): SubjectEntry[] {
    const entries: SubjectEntry[] = [];
    const own = this.#users.get(user.name);
    if (own !== undefined) entries.push(own);
    for (const group of user.groups) {
      const entry = this.#groups.get(group);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  changedFor(entries: readonly SubjectEntry[]): PolicyVersion {
    let version = this.#dropped;
    for (const { changed } of entries) version = later(version, changed);
    return version;
  }

  scopesOf(binding: CompiledBinding): ScopeBindings[] {
    const { subjects, scopes } = binding.facts;
    return subjects.flatMap((subject) => {
      const entry = this.#mapOf(subject).get(subject.name);
      return scopes.flatMap((scope) => entry?.scopes.get(scope) ?? []);
    });
  }

  add(binding: CompiledBinding): void {
    const { scopes, subjects } = binding.facts;
    for (const subject of subjects) {
      const map = this.#mapOf(subject);
      let entry = map.get(subject.name);
      if (entry === undefined) {
        entry = new SubjectEntry(++this.#lastId);
        map.set(subject.name, entry);
      }
      this.#idle.delete(entry);
      if (binding.ends) entry.ending.add(binding);
      for (const name of scopes) {
        const scope = entry.scopes.get(name) ?? new ScopeBindings();
        entry.scopes.set(name, scope);
        scope.add(binding);
      }
    }
  }

  remove(binding: CompiledBinding): void {
    const { scopes, subjects } = binding.facts;
    for (const subject of subjects) {
      const entry = this.#mapOf(subject).get(subject.name);
      if (entry === undefined) continue;
      entry.ending.delete(binding);
      for (const name of scopes) {
        const scope = entry.scopes.get(name);
        scope?.remove(binding);
        if (scope?.all.size === 0) entry.scopes.delete(name);
      }
      if (entry.scopes.size === 0) this.#idle.set(entry, subject);
    }
  }

  markChanged(subjects: Iterable<Subject>, version: PolicyVersion): void {
    for (const subject of subjects) {
      const entry = this.#mapOf(subject).get(subject.name);
      if (entry !== undefined) entry.changed = later(entry.changed, version);
    }
  }

  /**
   * Bounds the memory of a fleet whose accounts come and go. Half of the idle subjects are dropped at a time, because
   * after each drop the rules of every caller count as changed.
   */
  dropIdle(): void {
    if (this.#idle.size <= this.#maxIdle) return;
    for (const [entry, subject] of this.#idle) {
      if (this.#idle.size <= this.#maxIdle / 2) return;
      this.#idle.delete(entry);
      this.#mapOf(subject).delete(subject.name);
      this.#dropped = later(this.#dropped, entry.changed);
    }
  }
}

/** Whom bindings can name for a caller: also its account, in its own cluster. */
export const identities = (caller: Caller): User[] =>
  caller.home === undefined ? [caller.as(undefined)] : [caller.as(undefined), caller.as(caller.home)];

/** P-10: the scopes whose bindings count in a namespace, in order. */
export const scopesFor = (namespace: string): string[] => (namespace === '' ? [''] : ['', namespace]);

/**
 * P-35. Includes the errors of bindings that do not reach the cluster of the question: if they were left out for some
 * clusters, the text of a refusal would tell which clusters exist.
 */
export function reasonFor(entries: readonly SubjectEntry[], namespace: string): string {
  const errors: string[] = [];
  for (const scope of scopesFor(namespace)) {
    const unresolved = new Set(entries.flatMap(({ scopes }) => [...(scopes.get(scope)?.unresolved ?? [])]));
    const sorted = [...unresolved].sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const { resolutionError } of sorted) if (resolutionError !== undefined) errors.push(resolutionError);
  }
  return reasonText(errors);
}

const ALWAYS: TimeSpan = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };

/** The span of time around `now` in which the same bindings of these subjects hold. */
export function spanAround(entries: readonly SubjectEntry[], now: () => number): TimeSpan {
  if (entries.every(({ ending }) => ending.size === 0)) return ALWAYS;
  let { from, until } = ALWAYS;
  const time = now();
  for (const { ending } of entries) {
    for (const { facts } of ending) {
      if (facts.expiresAt <= time) from = Math.max(from, facts.expiresAt);
      else until = Math.min(until, facts.expiresAt);
    }
  }
  return { from, until };
}
