/** A text as a part of the name of an object: lower case letters, digits and single hyphens, of bounded length. */
export const namePart = (text: string, maxLength = 40): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, maxLength)
    .replaceAll(/^-+|-+$/g, '');
