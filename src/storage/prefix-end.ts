/** The first key after all keys with this prefix: prefixes end in `/`, and `0` is the next byte. */
export const prefixEnd = (prefix: string): string => `${prefix.slice(0, -1)}0`;
