import type { User } from '../api/caller.ts';
import { SubjectScope } from './binding-pool.ts';
import type { CompiledBinding } from './compiled-binding.ts';
import type { Subject } from './subjects.ts';

/** A point in the life of the policy. `step` counts changes; revisions may arrive out of order while loading. */
export interface Moment {
  readonly step: number;
  readonly revision: number;
}

/** One user name or group that bindings name, or did until lately. */
export class SubjectEntry {
  /** Never given twice. */
  readonly id: number;
  /** By namespace; `""` holds the ClusterRoleBindings. */
  readonly scopes = new Map<string, SubjectScope>();
  changed: Moment = BEGINNING;

  constructor(id: number) {
    this.id = id;
  }
}

const BEGINNING: Moment = { step: 0, revision: 0 };

export const later = (a: Moment, b: Moment): Moment => ({
  step: Math.max(a.step, b.step),
  revision: Math.max(a.revision, b.revision),
});

/** Finds the bindings of a caller without walking those of others. */
export class SubjectTable {
  readonly #users = new Map<string, SubjectEntry>();
  readonly #groups = new Map<string, SubjectEntry>();
  /** Subjects that no binding names any more, oldest first. They are kept for when they last changed. */
  readonly #idle = new Map<SubjectEntry, Subject>();
  readonly #maxIdle: number;
  #lastId = 0;
  /** Stands in for the subjects forgotten: anybody may be one of them. */
  #forgotten = BEGINNING;

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  #mapOf({ kind }: Subject): Map<string, SubjectEntry> {
    return kind === 'user' ? this.#users : this.#groups;
  }

  /** The subjects of the user that are named in any binding. */
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

  changedFor(users: readonly User[]): Moment {
    let moment = this.#forgotten;
    for (const user of users) {
      for (const { changed } of this.entriesOf(user)) moment = later(moment, changed);
    }
    return moment;
  }

  scopesOf(binding: CompiledBinding): SubjectScope[] {
    return binding.facts.subjects.flatMap((subject) => {
      const scope = this.#mapOf(subject).get(subject.name)?.scopes.get(binding.facts.namespace);
      return scope === undefined ? [] : [scope];
    });
  }

  add(binding: CompiledBinding): void {
    const { namespace, subjects } = binding.facts;
    for (const subject of subjects) {
      const map = this.#mapOf(subject);
      let entry = map.get(subject.name);
      if (entry === undefined) {
        entry = new SubjectEntry(++this.#lastId);
        map.set(subject.name, entry);
      }
      this.#idle.delete(entry);
      let scope = entry.scopes.get(namespace);
      if (scope === undefined) {
        scope = new SubjectScope();
        entry.scopes.set(namespace, scope);
      }
      scope.add(binding);
    }
  }

  remove(binding: CompiledBinding): void {
    const { namespace, subjects } = binding.facts;
    for (const subject of subjects) {
      const entry = this.#mapOf(subject).get(subject.name);
      const scope = entry?.scopes.get(namespace);
      if (entry === undefined || scope === undefined) continue;
      scope.remove(binding);
      if (scope.bindings.size === 0) entry.scopes.delete(namespace);
      if (entry.scopes.size === 0) this.#idle.set(entry, subject);
    }
  }

  touch(subjects: Iterable<Subject>, moment: Moment): void {
    for (const subject of subjects) {
      const entry = this.#mapOf(subject).get(subject.name);
      if (entry !== undefined) entry.changed = later(entry.changed, moment);
    }
  }

  /**
   * Without this a fleet whose accounts come and go would be remembered for ever. Half are forgotten at
   * a time, because each time everybody's rules have to be looked at again.
   */
  forgetIdle(): void {
    if (this.#idle.size <= this.#maxIdle) return;
    for (const [entry, subject] of this.#idle) {
      if (this.#idle.size <= this.#maxIdle / 2) return;
      this.#idle.delete(entry);
      this.#mapOf(subject).delete(subject.name);
      this.#forgotten = later(this.#forgotten, entry.changed);
    }
  }
}
