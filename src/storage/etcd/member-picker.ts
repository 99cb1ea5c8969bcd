import { StorageError } from '../contract.ts';
import type { Member } from './member.ts';

/** A member that failed is used for this long only when no other is left. */
const AVOID_MS = 5_000;

/** Picks members round-robin. A member that does not answer is avoided for a while. */
export class MemberPicker {
  readonly #members: readonly Member[];
  readonly #avoidUntil = new Map<Member, number>();
  /** Index of the member that was used last. */
  #last: number;

  constructor(members: readonly Member[], random: () => number) {
    this.#members = members;
    // Replicas with the same list of endpoints must not all start with the first.
    this.#last = Math.floor(random() * members.length);
  }

  /** `busy`: members with an attempt in progress; at least one member has none. */
  pick(prefer?: Member, busy?: { has(member: Member): boolean }): Member {
    const now = performance.now();
    const usable = (member: Member): boolean => (this.#avoidUntil.get(member) ?? 0) <= now;
    if (prefer !== undefined && usable(prefer)) return prefer;
    const count = this.#members.length;
    /** Of the avoided ones, the one that failed first. */
    let earliest: Member | undefined;
    for (let i = 1; i <= count; i++) {
      const index = (this.#last + i) % count;
      const member = this.#members[index];
      if (member === undefined) break;
      if (busy?.has(member) === true) continue;
      if (usable(member)) {
        this.#last = index;
        return member;
      }
      const until = this.#avoidUntil.get(member) ?? 0;
      if (earliest === undefined || until < (this.#avoidUntil.get(earliest) ?? 0)) earliest = member;
    }
    if (earliest === undefined) throw new StorageError('unavailable', 'no member of etcd is configured');
    return earliest;
  }

  avoid(member: Member, forMs = AVOID_MS): void {
    this.#avoidUntil.set(member, Math.max(this.#avoidUntil.get(member) ?? 0, performance.now() + forMs));
  }

  /** The member works: it is no longer avoided. */
  answered(member: Member): void {
    this.#avoidUntil.delete(member);
  }
}
