/**
 * The name of a user, with characters that cannot be seen by their code. Identity providers choose the names, and
 * Kubernetes accepts these characters: two users may look the same, or a name be read backwards.
 */
export const visibleName = (name: string): string =>
  name.replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `[${codeOf(character)}]`);

const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
