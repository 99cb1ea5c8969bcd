/** A slab that is full is followed by the oldest one, whose lines are forgotten. */
const SLABS = 8;
/** Security events have separate slabs: any client can send rejected requests, which must not push them out. */
const SECURITY_SLAB_BYTES = 512 * 1024;
const REQUEST_SLAB_BYTES = 128 * 1024;

interface RecentEvent {
  /** Counts all events of this process. A later event has a greater number. */
  readonly sequence: number;
  /** The line of the audit log. */
  readonly line: string;
}

/**
 * The last lines of both audit logs, in memory that is allocated once: 5 MiB, several thousand events. For people who
 * look at what happens; the files are the record. Lines are copied as bytes, so that the garbage collector has no work
 * with them.
 */
export class RecentEvents {
  /** Sequence numbers of another process mean nothing here. */
  readonly instance: string;
  readonly #security: LineBuffer;
  readonly #requests: LineBuffer;
  #sequence = 0;

  constructor({ instance, now }: { readonly instance: string; readonly now: () => number }) {
    this.instance = instance;
    this.#security = new LineBuffer(SECURITY_SLAB_BYTES, now);
    this.#requests = new LineBuffer(REQUEST_SLAB_BYTES, now);
  }

  /** Epoch milliseconds. Every line that was added since then is kept. */
  get since(): number {
    return Math.max(this.#security.since, this.#requests.since);
  }

  get sequence(): number {
    return this.#sequence;
  }

  add(line: string, log: 'security' | 'requests'): void {
    (log === 'security' ? this.#security : this.#requests).add(line, ++this.#sequence);
  }

  /**
   * The newest first, of those that contain one text of each list. Undefined for another one: the reader may pause
   * there.
   */
  *find(texts: readonly (readonly string[])[], after: number): Generator<RecentEvent | undefined> {
    const needles = texts.map((any) => any.map((text) => Buffer.from(text)));
    const sources = [this.#security, this.#requests].map((buffer) => buffer.newestFirst(needles, after));
    const heads = sources.map((source) => source.next());
    for (;;) {
      let newest = -1;
      for (const [index, head] of heads.entries()) {
        if (head.done === true) continue;
        if (newest < 0 || sequenceOf(head.value) > sequenceOf(heads[newest]?.value)) newest = index;
      }
      const found = heads[newest]?.value;
      const source = sources[newest];
      if (found === undefined || source === undefined) return;
      yield found.line === undefined ? undefined : { sequence: found.sequence, line: found.line };
      heads[newest] = source.next();
    }
  }
}

interface FoundLine {
  readonly sequence: number;
  /** Undefined if it does not contain the texts. */
  readonly line: string | undefined;
}

const sequenceOf = (found: FoundLine | undefined): number => found?.sequence ?? 0;

interface Slab {
  readonly bytes: Buffer;
  /** Epoch milliseconds: when it began to take lines. */
  since: number;
  used: number;
  readonly ends: number[];
  readonly sequences: number[];
}

/** Lines in a ring of slabs. */
class LineBuffer {
  readonly #slabs: Slab[];
  readonly #now: () => number;
  #current = 0;

  constructor(slabBytes: number, now: () => number) {
    this.#now = now;
    const since = now();
    this.#slabs = Array.from({ length: SLABS }, () => ({
      bytes: Buffer.allocUnsafe(slabBytes),
      since,
      used: 0,
      ends: [],
      sequences: [],
    }));
  }

  /** When the oldest slab began to take lines. An unused slab has the time of the start. */
  get since(): number {
    return this.#slabs[(this.#current + 1) % SLABS]?.since ?? 0;
  }

  add(line: string, sequence: number): void {
    const slab = this.#slabWithRoom(Buffer.byteLength(line));
    if (slab === undefined) return;
    slab.used += slab.bytes.write(line, slab.used);
    slab.ends.push(slab.used);
    slab.sequences.push(sequence);
  }

  /** Undefined for a line that is longer than a slab. */
  #slabWithRoom(length: number): Slab | undefined {
    const slab = this.#slabs[this.#current];
    if (slab === undefined || length > slab.bytes.length) return undefined;
    if (slab.used + length <= slab.bytes.length) return slab;
    this.#current = (this.#current + 1) % SLABS;
    const oldest = this.#slabs[this.#current];
    if (oldest === undefined) return undefined;
    oldest.since = this.#now();
    oldest.used = 0;
    oldest.ends.length = 0;
    oldest.sequences.length = 0;
    return oldest;
  }

  /** Lines that are added meanwhile are left out. A slab that is reused meanwhile ends there. */
  *newestFirst(needles: readonly (readonly Buffer[])[], after: number): Generator<FoundLine> {
    const newest = this.#current;
    let last = Number.POSITIVE_INFINITY;
    for (let step = 0; step < SLABS; step++) {
      const slab = this.#slabs[(newest - step + SLABS) % SLABS];
      for (let index = (slab?.ends.length ?? 0) - 1; index >= 0; index--) {
        const sequence = slab?.sequences[index] ?? Number.POSITIVE_INFINITY;
        if (slab === undefined || sequence >= last) break;
        if (sequence <= after) return;
        last = sequence;
        const bytes = slab.bytes.subarray(slab.ends[index - 1] ?? 0, slab.ends[index]);
        const isFound = needles.every((any) => any.some((needle) => bytes.includes(needle)));
        yield { sequence, line: isFound ? bytes.toString() : undefined };
      }
    }
  }
}
