/** `299 - "text"`, comma-joined when the header occurs more than once; `"` and `\` are escaped in the text. */
const WARNING = /(?:^|,)\s*299 \S+ "((?:[^"\\]|\\.)*)"/g;

/** The texts of an answer's Warning headers. */
export const warningsIn = (headers: Headers): string[] =>
  [...(headers.get('warning') ?? '').matchAll(WARNING)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
