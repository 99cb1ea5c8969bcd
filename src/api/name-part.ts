import { sha256 } from '../lib/sha256.ts';

/** A text as a part of the name of an object: lower case letters, digits and single hyphens, of bounded length. */
export const namePart = (text: string, maxLength = 40): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, maxLength)
    .replaceAll(/^-+|-+$/g, '');

const MAX_WORDS_LENGTH = 119;

/**
 * The name of an object that a program writes for people to apply. The words are for readers. The hash keeps an object
 * from replacing another one whose words are the same.
 */
export function hashedName(words: readonly (string | undefined)[], identity: unknown): string {
  const hash = sha256(JSON.stringify(identity)).slice(0, 8);
  return `${namePart(words.join(' '), MAX_WORDS_LENGTH) || 'any'}-${hash}`;
}
