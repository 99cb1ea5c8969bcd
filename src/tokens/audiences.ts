import { TokenRejected } from './token-rejected.ts';

/** K-14: what of the token's audiences was asked for, in the token's order; nothing in common is a refusal. */
export function commonAudiences(token: readonly string[], wanted: readonly string[]): readonly string[] {
  const asked = new Set(wanted);
  const common = token.filter((audience) => asked.has(audience));
  if (common.length === 0) {
    throw new TokenRejected(
      `token audiences ${quotedList(token)} is invalid for the target audiences ${quotedList(wanted)}`,
    );
  }
  return common;
}

/** Go's `%q` of a slice of strings: `["a" "b"]`. */
const quotedList = (texts: readonly string[]): string => `[${texts.map(quoted).join(' ')}]`;

const NAMED: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** What Go calls not printable: every kind of control, format and white-space character but the plain space. */
const SPECIAL = /["\\]|[[\p{C}\p{Z}]--[ ]]/gv;

function quoted(text: string): string {
  const escaped = text.replace(SPECIAL, (character) => {
    const named = NAMED[character];
    if (named !== undefined) return named;
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
    return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}
