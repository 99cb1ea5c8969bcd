/**
 * The words of one list of a rule, for asking whether one is among them. Nearly every list is so short that looking
 * at each word is faster than making a set, and somebody may hold a hundred thousand lists.
 */
export type Words = ReadonlySet<string> | readonly string[];

const MAX_WALKED = 8;

export const wordsOf = (list: readonly string[]): Words => (list.length > MAX_WALKED ? new Set(list) : list);

export const hasWord = (words: Words, word: string): boolean =>
  words instanceof Set ? words.has(word) : (words as readonly string[]).includes(word);
