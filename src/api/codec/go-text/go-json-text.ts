/** JSON as Go's encoding/json writes it (F-12): characters that are special in HTML or JavaScript are escaped. */

const SPECIAL = /[<>&\u2028\u2029]/;
const EACH_SPECIAL = /[<>&\u2028\u2029]/g;
/** JSON.stringify writes `\ud` only for lone surrogates. The first alternative skips escaped backslashes. */
const LONE_SURROGATE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g;

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Takes serialized JSON: these characters occur only inside of strings. */
export function goEscape(json: string): string {
  const escaped = SPECIAL.test(json) ? json.replace(EACH_SPECIAL, escapeCharacter) : json;
  if (!escaped.includes('\\ud')) return escaped;
  return escaped.replace(LONE_SURROGATE, (match) => (match === '\\\\' ? match : '\\ufffd'));
}

/** A string as a JSON literal. */
export function goString(text: string): string {
  return goEscape(JSON.stringify(text));
}

const BELOW_SURROGATES = /^[\0-\ud7ff]*$/;

/** Up to this many, insertion sort: Array.sort would allocate more than the strings take. */
const FEW = 24;

/**
 * Sorts in place, in the order of Go's sorted maps: by UTF-8 bytes, which is by code point. The native order, by UTF-16
 * code units, differs for astral characters only.
 */
export function sortByBytes(texts: string[]): string[] {
  if (texts.length > FEW) {
    return texts.every((text) => BELOW_SURROGATES.test(text)) ? texts.sort() : texts.sort(compareBytes);
  }
  for (let from = 1; from < texts.length; from++) {
    const text = texts[from] as string;
    let to = from;
    for (; to > 0 && compareBytes(texts[to - 1] as string, text) > 0; to--) texts[to] = texts[to - 1] as string;
    texts[to] = text;
  }
  return texts;
}

export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) {
      const leftAstral = left >= 0xd800 && left <= 0xdfff;
      const rightAstral = right >= 0xd800 && right <= 0xdfff;
      return leftAstral === rightAstral ? left - right : leftAstral ? 1 : -1;
    }
  }
  return a.length - b.length;
}
