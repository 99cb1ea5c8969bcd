/** In characters. Any client can send rejected requests, so they must not push security events out. */
const ROOM = { security: 4 * 1024 * 1024, requests: 1024 * 1024 } as const;

interface RecentEvent {
  /** Counts all events of this process. A later event has a greater number. */
  readonly sequence: number;
  /** The line of the audit log. */
  readonly line: string;
}

/**
 * The last lines of both audit logs, several thousand events. For people who look at what happens; the files are the
 * record.
 */
export class RecentEvents {
  /** Sequence numbers of another process mean nothing here. */
  readonly instance: string;
  readonly #logs: Readonly<Record<keyof typeof ROOM, RecentLines>>;
  #sequence = 0;

  constructor({ instance, now }: { readonly instance: string; readonly now: () => number }) {
    this.instance = instance;
    this.#logs = { security: new RecentLines(ROOM.security, now), requests: new RecentLines(ROOM.requests, now) };
  }

  /** Epoch milliseconds. Every line that was added since then is kept. */
  get since(): number {
    return Math.max(this.#logs.security.since, this.#logs.requests.since);
  }

  get sequence(): number {
    return this.#sequence;
  }

  add(line: string, log: keyof typeof ROOM): void {
    this.#logs[log].add(line, ++this.#sequence);
  }

  /** The newest first. Lines that are added meanwhile are left out. */
  find(after: number): readonly RecentEvent[] {
    const lines = [...this.#logs.security.kept, ...this.#logs.requests.kept].filter(({ sequence }) => sequence > after);
    return lines.sort((a, b) => b.sequence - a.sequence);
  }
}

interface KeptLine extends RecentEvent {
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The last lines of one log. */
class RecentLines {
  readonly #room: number;
  readonly #now: () => number;
  #since: number;
  #kept: KeptLine[] = [];
  #length = 0;

  constructor(room: number, now: () => number) {
    this.#room = room;
    this.#now = now;
    this.#since = now();
  }

  get since(): number {
    return this.#since;
  }

  /** The newest last. */
  get kept(): readonly KeptLine[] {
    return this.#kept;
  }

  /** A line that is longer than an eighth of the room is left out. */
  add(line: string, sequence: number): void {
    if (line.length > this.#room / 8) return;
    this.#kept.push({ sequence, line, at: this.#now() });
    this.#length += line.length;
    if (this.#length > this.#room) this.#forgetOldest();
  }

  /** An eighth: to move all others costs more than a line. */
  #forgetOldest(): void {
    let count = 0;
    while (this.#length > (this.#room * 7) / 8) this.#length -= this.#kept[count++]?.line.length ?? 0;
    this.#kept = this.#kept.slice(count);
    this.#since = this.#kept[0]?.at ?? this.#now();
  }
}
