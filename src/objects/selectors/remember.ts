/** Longer texts, and more of them, are read anew each time: what is kept must not grow with what is asked. */
const MAX_TEXTS = 64;
const MAX_LENGTH = 256;

/** Reads texts that come again and again, as those of controllers do, and remembers what it made of the last ones. */
export function remembering<T extends object>(read: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    // What can not be read throws, and is not remembered.
    const made = read(text);
    if (text.length > MAX_LENGTH) return made;
    if (known.size === MAX_TEXTS) known.clear();
    known.set(text, made);
    return made;
  };
}
