/** L-40: `\`, `,` and `=` have a meaning in field selectors. */
export const escapeFieldValue = (value: string): string => value.replaceAll(/[\\,=]/g, '\\$&');

/** A field selector for one value. */
export const fieldSelectorFor = (field: string, value: string): string => `${field}=${escapeFieldValue(value)}`;
