/** The values of a field that takes several, separated by commas. */
export const commaList = (text: string): string[] =>
  text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
