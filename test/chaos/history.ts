/** What clients did and saw while things broke, and whether that can have been one store. */

/** A write that was acknowledged: the n-th of its writer, at a version. */
export interface Acknowledged {
  readonly writer: string;
  readonly n: number;
  readonly version: number;
}

/** A read that began after a write of the same writer had been acknowledged. */
export interface FreshRead {
  readonly writer: string;
  /** The newest that was acknowledged before the read began, and the newest that was tried before it ended. */
  readonly acknowledged: number;
  readonly tried: number;
  readonly seen: number;
  readonly replica: number;
}

/** One stretch of a watch: all events after one version, up to another. A list anew begins the next stretch. */
export interface Stretch {
  readonly after: number;
  /** Everything up to here was shown. */
  upTo: number;
  readonly events: { readonly name: string; readonly n: number; readonly version: number }[];
}

export interface History {
  readonly writes: readonly Acknowledged[];
  readonly reads: readonly FreshRead[];
  readonly watchers: readonly (readonly Stretch[])[];
}

export interface Verdict {
  readonly problems: string[];
  /** How much was looked at: a check of nothing finds nothing. */
  readonly checked: Readonly<Record<string, number>>;
}

export function judge({ writes, reads, watchers }: History): Verdict {
  const problems: string[] = [];
  const checked = { writes: writes.length, reads: reads.length, watchers: watchers.length, events: 0, expectations: 0 };

  const versions = new Map<number, Acknowledged>();
  for (const write of writes) {
    const other = versions.get(write.version);
    if (other !== undefined) problems.push(`version ${write.version} was given to ${name(other)} and ${name(write)}`);
    versions.set(write.version, write);
  }
  for (const ofWriter of Map.groupBy(writes, ({ writer }) => writer).values()) {
    for (const [i, write] of ofWriter.entries()) {
      const before = ofWriter[i - 1];
      if (before !== undefined && before.version >= write.version)
        problems.push(`${name(write)} is older than ${name(before)}`);
    }
  }
  for (const { writer, acknowledged, tried, seen, replica } of reads) {
    if (seen < acknowledged)
      problems.push(`replica ${replica} showed ${writer} ${seen} after ${acknowledged} was acknowledged`);
    if (seen > tried) problems.push(`replica ${replica} showed ${writer} ${seen}, which nobody wrote`);
  }
  /** All watchers together know every event: what one saw at a version, every other must have seen there. */
  const events = new Map<number, string>();
  for (const stretch of watchers.flat()) {
    let last = stretch.after;
    for (const event of stretch.events) {
      checked.events += 1;
      if (event.version <= last) problems.push(`a watch showed ${event.version} after ${last}`);
      last = event.version;
      const text = `${event.name} ${event.n}`;
      const known = events.get(event.version) ?? text;
      if (known !== text)
        problems.push(`version ${event.version} is "${known}" for one watch and "${text}" for another`);
      events.set(event.version, known);
    }
  }
  for (const write of writes) {
    const seen = events.get(write.version);
    if (seen !== undefined && seen !== `${write.writer} ${write.n}`)
      problems.push(`${name(write)} was shown as "${seen}"`);
    events.set(write.version, `${write.writer} ${write.n}`);
  }
  const all = [...events.keys()].toSorted((a, b) => a - b);
  for (const [i, stretches] of watchers.entries()) {
    for (const { after, upTo, events: shown } of stretches) {
      const had = new Set(shown.map(({ version }) => version));
      for (const version of all) {
        if (version <= after || version > upTo) continue;
        checked.expectations += 1;
        if (!had.has(version)) problems.push(`watch ${i} missed ${version} between ${after} and ${upTo}`);
      }
    }
  }
  return { problems, checked };
}

const name = ({ writer, n, version }: Acknowledged): string => `${writer} ${n} (version ${version})`;
