/** A field selector for one value. L-40: `\`, `,` and `=` have a meaning in field selectors. */
export const fieldSelectorFor = (field: string, value: string): string =>
  `${field}=${value.replaceAll(/[\\,=]/g, '\\$&')}`;
