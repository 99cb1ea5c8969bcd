/** Longer texts, and more of them, are read anew each time: what is kept must not grow with what is asked. */
export interface RememberLimits<T> {
  readonly texts?: number;
  readonly length?: number;
  /** Whether what was made of a text is worth remembering, or may be. Default: all of it. */
  readonly keep?: (made: T) => boolean;
}

/**
 * Reads texts that come again and again, as those of controllers do, and remembers what it made of the last ones. What it
 * gives is shared, so nobody may change it.
 */
export function remembering<T extends object>(
  read: (text: string) => T,
  { texts = 64, length = 256, keep = () => true }: RememberLimits<T> = {},
): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    // What can not be read throws, and is not remembered.
    const made = read(text);
    if (text.length > length || !keep(made)) return made;
    if (known.size >= texts) known.clear();
    known.set(text, made);
    return made;
  };
}
